//! `redolab completions` and `redolab man`: for packagers and shells, made from the command line's
//! own definition.

use super::common::emit;
use super::{Cli, CommandError};
use clap::{Args, CommandFactory};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this directory, instead of the main page to standard
    /// output
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode, CommandError> {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "redolab", &mut bytes);
    emit(None, &bytes)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(args: &ManArgs) -> Result<ExitCode, CommandError> {
    match &args.dir {
        Some(dir) => clap_mangen::generate_to(Cli::command(), dir)
            .map_err(|e| CommandError::failed(format!("{}: {e}", dir.display())))?,
        None => {
            let mut bytes = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut bytes)
                .map_err(|e| CommandError::failed(format!("the manual page: {e}")))?;
            emit(None, &bytes)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
