//! The command `redolab`. Everything but the start of the process lives in the library.

use drivers::managed::guard;
use std::process::ExitCode;

/// The allocator of the static binary: that of musl has one lock and took twice as long in `report`
/// (docs/decisions/2026-11-24-static-binary.md).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == guard::COMMAND)
    {
        let order: Vec<_> = arguments.collect();
        return ExitCode::from(guard::main(&order));
    }
    redolab::cleanup::guarded(|| redolab::cli::main(drivers::KINDS))
}
