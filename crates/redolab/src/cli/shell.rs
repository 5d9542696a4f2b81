//! `redolab completions` and `redolab man`: for packagers and shells, made from the command line's
//! own definition.

use super::common::print;
use super::{Cli, CommandError};
use crate::output::file::{self, Audience, Inputs};
use clap::{Args, CommandFactory};
use std::path::{Path, PathBuf};
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
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode, CommandError> {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "redolab", &mut bytes);
    print(&bytes)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(args: &ManArgs) -> Result<ExitCode, CommandError> {
    match &args.output {
        Some(dir) => {
            let mut command = Cli::command().disable_help_subcommand(true);
            command.build();
            pages(&command, dir)?;
        }
        None => {
            let mut bytes = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut bytes)
                .map_err(|e| CommandError::failed(format!("the manual page: {e}")))?;
            print(&bytes)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of `command`, and those of its subcommands.
fn pages(command: &clap::Command, dir: &Path) -> Result<(), CommandError> {
    for inner in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        pages(inner, dir)?;
    }
    let page = clap_mangen::Man::new(command.clone());
    let path = dir.join(page.get_filename());
    let mut bytes = Vec::new();
    page.render(&mut bytes)
        .map_err(|e| CommandError::failed(format!("the manual page: {e}")))?;
    Ok(file::write(
        &path,
        &bytes,
        Audience::Everyone,
        &Inputs::default(),
    )?)
}
