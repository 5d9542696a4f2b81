//! Durable commits through redolab's log and through other logs: one command, one table.
//!
//! What lives here: the command line. `run` plays the cells (`runner`), each in a child process of
//! its own (`child`, which is this program again, or the Go program for Pebble); `table` makes the
//! table from the data (`table`); `list` says which peers there are (`peer`).
//!
//! What it must not know: how any log is used; that is in `peer`, one file each.

mod child;
mod device;
mod outcome;
mod peer;
mod plan;
mod runner;
mod table;
mod tape;

use plan::{Cell, Plan};
use std::path::Path;
use std::process::ExitCode;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "\
usage: peers run --on DIRECTORY [option…]   measure; the table goes to standard output
       peers table FILE.csv                 the table of data that was kept
       peers list                           the peers and their settings

options of run:
  --peers A,B,…      which (default: all that are built; NAME or NAME:VARIANT)
  --threads N,…      closed-loop committers (default 1,8,64,256)
  --seconds S        measured in each cell (default 5)
  --warm-up S        before it, with the same load (default 1)
  --rounds R         interleaved repetitions, the order rotated (default 5)
  --max-gib G        room that one cell may take in DIRECTORY (default 6)
  --csv FILE         keep every round there as well
  --pebble PROGRAM   the Go program (default: built from peers/pebble when go is there)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["run", options @ ..] => Plan::parse(options).and_then(|plan| runner::run(&plan)),
        ["table", file] => table_of(Path::new(file)).map(|()| ExitCode::SUCCESS),
        ["list"] => {
            print!("{}", table::settings(&peer::all()));
            Ok(ExitCode::SUCCESS)
        }
        ["child", options @ ..] => Cell::parse(options)
            .and_then(|cell| child::run(&cell))
            .map(|()| ExitCode::SUCCESS),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    done.unwrap_or_else(|problem| {
        eprintln!("peers: {problem}");
        ExitCode::FAILURE
    })
}

fn table_of(file: &Path) -> Result<(), AnyError> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let rows = outcome::parse(&text).map_err(|e| format!("{}: {e}", file.display()))?;
    print!("{}", table::markdown(&rows));
    Ok(())
}
