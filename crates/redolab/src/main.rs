//! The command `redolab`. Everything but the start of the process lives in the library.

fn main() -> std::process::ExitCode {
    redolab::cleanup::guarded(|| {
        eprintln!("redolab {}: no command given", env!("CARGO_PKG_VERSION"));
        std::process::ExitCode::from(2)
    })
}
