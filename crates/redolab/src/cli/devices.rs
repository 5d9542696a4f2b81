//! `redolab devices`: the storage layers below each file system, as a log sees them.

use super::CommandError;
use super::common::ViewArgs;
use crate::output::devices::{self, Devices};
use crate::store::now_rfc3339;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `devices`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Prints facts only. A fact that could not be read is reported as not readable and never guessed. \
`redolab check PATH` judges them.")]
pub(crate) struct DevicesArgs {
    /// Files, directories or block devices [default: every file system and unused disk]
    path: Vec<PathBuf>,
    #[command(flatten)]
    view: ViewArgs,
}

pub(crate) fn main(args: &DevicesArgs) -> Result<ExitCode, CommandError> {
    let stacks = if args.path.is_empty() {
        let all = device::identify::all().into_iter();
        all.map(|stack| (devices::top(&stack), stack)).collect()
    } else {
        let of = |path: &PathBuf| match device::identify::stack_of(path) {
            Ok(stack) => Ok((path.display().to_string(), stack)),
            Err(error) => Err(CommandError::usage(error.to_string())),
        };
        args.path.iter().map(of).collect::<Result<Vec<_>, _>>()?
    };
    let devices = Devices::new(now_rfc3339(), stacks);
    args.view.emit(&devices, |_| devices::text(&devices))?;
    Ok(ExitCode::SUCCESS)
}
