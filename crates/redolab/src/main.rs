//! The command `redolab`. Everything but the start of the process lives in the library.

fn main() -> std::process::ExitCode {
    redolab::cleanup::guarded(|| redolab::cli::main(drivers::KINDS))
}
