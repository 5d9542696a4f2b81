//! `redolab redact`, and the option `--redact` of commands that store or write evidence.

use super::CommandError;
use crate::collect::place;
use crate::intake::feed::{self, Failed, Feeding};
use crate::intake::find::{self, Input};
use crate::intake::redacted::RedactedReader;
use crate::output::file::{Audience, OutputFile, remedy};
use crate::output::lines::tell;
use crate::signals;
use clap::{Args, ValueEnum};
use evidence::redact::{Redaction, Redactor};
use measure::units::parse_bytes;
use measure::words::sanitize;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Redacted {
    /// Names of hosts, instances, databases, services, modules, users; paths; IP addresses
    Names,
    /// SQL statements, bind values, objects of execution plans
    Sql,
}

/// The option `--redact`.
#[derive(Debug, Args)]
pub(crate) struct RedactionArgs {
    /// What is replaced: names (by pseudonyms such as host-1), sql or both (names,sql) [default:
    /// nothing]
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    redact: Vec<Redacted>,
}

impl RedactionArgs {
    /// What is replaced.
    pub(crate) fn redaction(&self) -> Redaction {
        of(&self.redact)
    }

    /// What replaces it, where something is to be replaced.
    pub(crate) fn redactor(&self) -> Option<Redactor> {
        (!self.redact.is_empty()).then(|| Redactor::new(self.redaction()))
    }
}

fn of(wanted: &[Redacted]) -> Redaction {
    Redaction {
        names: wanted.contains(&Redacted::Names),
        sql: wanted.contains(&Redacted::Sql),
    }
}

/// Options of `redact`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
A name is recognised where the evidence labels it: a line `Node name:`, a column `Host Name`, a \
key `hostname`, user@host, paths, IP addresses. It is then replaced in all files, and the same \
name has the same pseudonym in all files of one command. A name that nothing labels, such as a \
customer in a comment, cannot be recognised: read the files before they leave the site. Names of \
devices, events, statistics and accounts that every server has (SYS, root, postgres) stay. \
Passwords are always replaced, whatever --redact lists. Figures stay, so that the files import \
with the same figures. Compressed files are written uncompressed; binary files are refused. Counts \
are printed on standard error: of names how many were replaced, of passwords and statements at how \
many places.")]
pub(crate) struct RedactArgs {
    /// Files, directories, or patterns (in quotes)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Directory of the redacted files, which is created if it does not exist; files are not
    /// replaced
    #[arg(short, long, value_name = "DIR", required = true)]
    output: PathBuf,
    /// What is replaced: names, sql or both
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "names,sql"
    )]
    redact: Vec<Redacted>,
    /// Largest size of a compressed file after decompression, such as 64G
    #[arg(long, value_name = "SIZE", default_value = "64G", value_parser = parse_bytes)]
    max_unpacked: u64,
}

/// What a person has to do with what was redacted.
const LOOK_AT_IT: &str = "Read the result before you give it away: redolab replaces names that the \
     evidence labels. It does not recognise others, such as a customer in a comment, MAC addresses, \
     encoded text, and names that a line break cuts.";

pub(crate) fn main(args: &RedactArgs) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let inputs = find::inputs(&args.files).map_err(|e| CommandError::usage(e.to_string()))?;
    let mut feeding = Feeding {
        max_unpacked: args.max_unpacked,
        interrupt: &interrupt,
        redactor: Some(Redactor::new(of(&args.redact))),
    };
    feed::learn(&inputs, &mut feeding).map_err(|failed| refused(&failed))?;
    let names = names(&inputs, &mut feeding);
    let shown: Vec<&str> = names.iter().map(String::as_str).collect();
    place::check(&args.output, &shown)?;
    for (input, name) in inputs.iter().zip(&names) {
        rewrite(input, &args.output, name, &mut feeding)?;
        let (from, to) = (input.path.display().to_string(), args.output.join(name));
        let to = to.display().to_string();
        tell(&format!(
            "{} -> {}",
            sanitize::line(&from),
            sanitize::line(&to)
        ));
    }
    if let Some(redactor) = &feeding.redactor {
        note(redactor);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what was replaced, also where it is nothing.
pub(crate) fn note(redactor: &Redactor) {
    tell(&format!("Replaced: {}", redactor.summary()));
    tell(LOOK_AT_IT);
}

/// What each file is called, none as another one.
fn names(inputs: &[Input], feeding: &mut Feeding<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for input in inputs {
        let shown = feeding.shown(input);
        let shown = Path::new(&shown).file_name().unwrap_or_default();
        let first = shown.to_string_lossy().into_owned();
        let mut name = first.clone();
        let mut number = 1;
        while names.contains(&name) {
            number += 1;
            name = format!("{number}-{first}");
        }
        names.push(name);
    }
    names
}

/// Writes a file without names and statements; after a failure nothing of it is left.
fn rewrite(
    input: &Input,
    folder: &Path,
    name: &str,
    feeding: &mut Feeding<'_>,
) -> Result<(), CommandError> {
    let mut unpacked = feeding.open(input).map_err(|failed| refused(&failed))?;
    let Some(redactor) = &mut feeding.redactor else {
        return Ok(());
    };
    let path = folder.join(name);
    let folder = crate::output::file::make_folders(folder, Path::new(""))?;
    let output = OutputFile::begin_in(&folder, name, Audience::Owner)?;
    let mut output = BufWriter::new(output);
    let mut reader = RedactedReader::new(&mut unpacked, redactor);
    // Of input and output together: the system does not say which of them failed.
    let failed = |source: io::Error| {
        let action = format!("redacting {}", input.path.display());
        CommandError::failed(format!(
            "{}: {action}: {source}{}",
            path.display(),
            remedy(&source)
        ))
    };
    io::copy(&mut reader, &mut output).map_err(failed)?;
    output.flush().map_err(failed)?;
    let output = output.into_inner().map_err(|e| failed(e.into_error()))?;
    if feeding.interrupt.requested() {
        return Err(refused(&Failed::Interrupted));
    }
    Ok(output.finish()?)
}

/// A reading that failed, as the end of a command.
pub(crate) fn refused(failed: &Failed) -> CommandError {
    match failed {
        Failed::Interrupted => CommandError {
            code: signals::INTERRUPTED as u8,
            message: "interrupted".to_owned(),
        },
        Failed::Open(why) | Failed::Cut(why) => CommandError::usage(why.clone()),
        Failed::Refused(refusal) => CommandError::failed(refusal.to_string()),
        Failed::Samples(error) => CommandError::failed(error.to_string()),
    }
}

/// Texts without names and statements, which are learnt from all of them first.
pub(crate) fn texts(files: &mut [(String, String)], redactor: &mut Redactor) {
    for (_, text) in files.iter() {
        redactor.begin();
        text.lines()
            .for_each(|line| redactor.learn(line.as_bytes()));
    }
    for (_, text) in files.iter_mut() {
        redactor.begin();
        let mut out = Vec::new();
        for line in text.lines() {
            out.extend(redactor.line(line.as_bytes()));
            out.push(b'\n');
        }
        *text = String::from_utf8_lossy(&out).into_owned();
    }
    note(redactor);
}
