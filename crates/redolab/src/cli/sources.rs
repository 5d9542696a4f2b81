//! Sources that are named on the command line: runs of the store, exported runs, and files of
//! evidence, which are imported in memory and not stored.

use super::{CommandError, values};
use crate::command_line::command_line;
use crate::experiment::judge::judge;
use crate::input;
use crate::intake::feed::{self, Failed, Feeding};
use crate::intake::find;
use crate::intake::run;
use crate::signals::{self, Interrupt};
use crate::store::{Store, read_export};
use analysis::thresholds::Thresholds;
use clap::Args;
use evidence::{Import, Kind, Options};
use measure::imported::Severity;
use measure::run::Run;
use measure::units::parse_bytes;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How files of evidence are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Evidence")]
pub(crate) struct ReadingArgs {
    /// Kind of the files [default: each file is recognised from its content]
    #[arg(long, value_name = "KIND", hide_possible_values = true, value_parser = values::kind())]
    pub(super) kind: Option<Kind>,
    /// Unit of ela in traces: us (9i and later) or cs (8i) [default: as the header of the trace
    /// implies]
    #[arg(long, value_name = "UNIT", value_parser = values::ela_unit())]
    pub(super) ela_unit: Option<u64>,
    /// Largest size of a compressed file after decompression, such as 64G
    #[arg(long, value_name = "SIZE", default_value = "64G", value_parser = parse_bytes)]
    pub(super) max_unpacked: u64,
}

/// Largest size of a compressed file after decompression.
const UNPACKED_MAX: u64 = 64 << 30;
/// Bytes in which an exported run has its schema.
const HEAD: u64 = 4096;

/// A run of the store, an exported run, or what files of evidence give.
pub(super) fn source(
    name: &str,
    store: &Store,
    interrupt: &Interrupt,
) -> Result<Run, CommandError> {
    let path = Path::new(name);
    let is_pattern = name.contains(['*', '?', '[']);
    if !is_pattern && path.metadata().is_err() {
        let looks = name.contains('/') || name.contains('.');
        return match store.resolve(name) {
            Ok(id) => Ok(store.load_any(&id)?.0),
            Err(_) if looks => Err(CommandError::usage(format!(
                "{name}: there is no such file"
            ))),
            Err(other) => Err(other.into()),
        };
    }
    if is_export(path) {
        let failed = |e: String| CommandError::failed(format!("{name}: {e}"));
        let mut file = input::open(path).map_err(|e| failed(e.to_string()))?;
        return read_export(&mut file, &mut |_, _| {}).map_err(|e| failed(e.to_string()));
    }
    evidence(name, interrupt)
}

/// Whether a file is an exported run.
pub(super) fn is_export(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut head = Vec::new();
    let read = input::open(path).and_then(|f| f.take(HEAD).read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    // Keys may be in any order: the intervals may come before the schema.
    let marks = ["\"redolab.export/", "#redolab.hlog/"];
    let has_mark = marks.iter().any(|mark| head.contains(mark));
    read.is_ok() && head.trim_start().starts_with('{') && has_mark
}

/// The run that a file, directory or pattern gives.
fn evidence(name: &str, interrupt: &Interrupt) -> Result<Run, CommandError> {
    let inputs = find::inputs(&[PathBuf::from(name)]);
    let inputs = inputs.map_err(|e| CommandError::usage(e.to_string()))?;
    let mut import = Import::new(Options {
        redact_sql: true,
        keeps_distributions: true,
        ..Options::default()
    });
    let mut feeding = Feeding {
        max_unpacked: UNPACKED_MAX,
        interrupt,
        redactor: None,
    };
    let mut cut = false;
    for input in &inputs {
        let file = input.path.display().to_string();
        let fed = feed::file(input, &mut import, &mut feeding, &mut std::io::sink());
        match fed {
            Ok(()) => {}
            Err(Failed::Interrupted) => {
                return Err(CommandError {
                    code: signals::INTERRUPTED as u8,
                    message: "interrupted".to_owned(),
                });
            }
            Err(Failed::Cut(_)) => cut = true,
            Err(Failed::Refused(refusal)) if !input.named => {
                let severity = Severity::Warning;
                import.note(severity, "import.passed_over", &file, refusal.to_string());
            }
            Err(Failed::Refused(refusal)) => return Err(CommandError::failed(refusal.to_string())),
            Err(Failed::Open(why)) => return Err(CommandError::failed(why)),
            Err(Failed::Samples(e)) => return Err(CommandError::failed(format!("{file}: {e}"))),
        }
    }
    if import.sources() == 0 {
        let message = format!("{name}: no file is evidence that redolab can read");
        return Err(CommandError::failed(message));
    }
    let files: Vec<String> = inputs.iter().map(|input| feeding.shown(input)).collect();
    let mut run = run::imported(&files, import, None, &command_line());
    if cut {
        let detail = "a file could be read only in part; see the diagnostics of `redolab import`";
        run.validity.add("evidence_cut", false, detail);
    }
    judge(&mut run, &Thresholds::default(), Vec::new());
    Ok(run)
}
