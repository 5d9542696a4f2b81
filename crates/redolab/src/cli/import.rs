//! `redolab import`: evidence that people already hold, into a run with the studies' tables; and
//! runs that `redolab report --format redolab` wrote.

use super::common::{Format, OutputArgs, command_line};
use super::notes::NotesArgs;
use super::results;
use super::sources::{self, ReadingArgs};
use super::stored::StoreArgs;
use super::{CommandError, FAILED, ended};
use crate::experiment::judge::judge;
use crate::intake::ahead::{self, ReadAhead};
use crate::intake::feed::{self, Failed, Feeding};
use crate::intake::find::{self, Input};
use crate::intake::run;
use crate::output::file::{Audience, Existing, OutputError, OutputFile};
use crate::output::imported;
use crate::output::lines::tell;
use crate::output::overview;
use crate::output::table::Style;
use crate::store::Store;
use crate::{input, signals, standard_error};
use analysis::findings::diagnosis::{self, kept};
use analysis::thresholds::Thresholds;
use clap::Args;
use evidence::{Import, ImportRefusal, Options, SourceOffset};
use measure::imported::{Diagnostic, Severity};
use measure::run::Run;
use measure::words::sanitize;
use std::ffi::OsStr;
use std::io::{BufWriter, StdoutLock, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `import`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Files may be compressed with gzip, bzip2, xz or zstd. In a directory or pattern, files that are \
not evidence are skipped and listed. A file that you name itself must be evidence.")]
pub(crate) struct ImportArgs {
    /// Files, directories, patterns (in quotes), or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print count,elapsed (in µs) of each log file parallel write, as in study 000; with -o, write
    /// it to a file
    #[arg(long)]
    csv: bool,
    /// Wait event that --csv prints
    #[arg(long, value_name = "NAME", default_value = "log file parallel write")]
    event: String,
    /// Device of the redo log, as iostat names it, such as sdb or nvme0n1 [default: the one
    /// that the files' own words name, else the only one that iostat shows]
    #[arg(long, value_name = "NAME")]
    log_device: Option<String>,
    /// Offset from UTC of a file whose times have none, such as lg00.trc=+02:00; kept with the
    /// source, times are printed as the file has them; can be repeated
    #[arg(long, value_name = "SOURCE=OFFSET")]
    utc_offset: Vec<SourceOffset>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    notes: NotesArgs,
}

/// What became of the files.
#[derive(Default)]
struct ReadFiles {
    /// Named files that gave nothing: each with why.
    bad: Vec<String>,
    cut: bool,
    /// A file was of no kind: the list of kinds is printed once.
    has_unknown: bool,
}

impl ReadFiles {
    /// Whether everything was read.
    fn are_whole(&self) -> bool {
        self.bad.is_empty() && !self.cut
    }

    /// Takes what became of a file.
    fn of_file(
        &mut self,
        args: &ImportArgs,
        (input, name): (&Input, &str),
        import: &mut Import,
        fed: Result<(), Failed>,
        is_empty: bool,
    ) -> Result<(), CommandError> {
        if args.csv && is_empty && matches!(fed, Ok(())) {
            let why = format!(
                "{name}: contains no single waits for '{}'; name another event with --event",
                args.event
            );
            if input.named {
                self.bad.push(why);
            } else {
                args.output.say(&sanitize::line(&why));
            }
        }
        match fed {
            Ok(()) => {}
            Err(Failed::Interrupted) => {
                return Err(CommandError {
                    code: signals::INTERRUPTED as u8,
                    message: "interrupted; nothing was stored".to_owned(),
                });
            }
            // The reader of the pipe has seen enough.
            Err(Failed::Samples(e)) if e.kind() == std::io::ErrorKind::BrokenPipe => {}
            Err(Failed::Samples(e)) => {
                return Err(samples_failed(args, e));
            }
            Err(Failed::Cut(why)) => {
                args.output.say(&sanitize::line(&why));
                self.cut = true;
            }
            Err(Failed::Refused(refusal)) if !input.named => {
                let why = refusal.to_string();
                if args.output.verbose {
                    args.output
                        .say(&format!("Skipped: {}", sanitize::line(&why)));
                }
                // The diagnostic names the file itself.
                let why = bare(&why, name);
                import.note(Severity::Warning, "import.passed_over", name, why);
            }
            Err(Failed::Refused(refusal)) => {
                let why = refusal.to_string();
                self.has_unknown |= matches!(refusal, ImportRefusal::Unknown { .. });
                import.note(Severity::Error, "import.refused", name, bare(&why, name));
                self.bad.push(why);
            }
            Err(Failed::Open(why)) => {
                import.note(Severity::Error, "import.unreadable", name, why.clone());
                self.bad.push(why);
            }
        }
        Ok(())
    }
}

pub(crate) fn main(args: &ImportArgs) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let options = Options {
        kind: args.reading.kind,
        ela_unit_ns: args.reading.ela_unit,
        utc_offsets: args.utc_offset.clone(),
        redact_sql: false,
        keeps_distributions: false,
        samples_of: args.csv.then(|| args.event.clone()),
    };
    let notes = args.notes.notes()?;
    let of_runs = |path: &&PathBuf| sources::is_export(path);
    let (exports, files): (Vec<&PathBuf>, Vec<&PathBuf>) = args.files.iter().partition(of_runs);
    if !exports.is_empty() {
        if !files.is_empty() {
            return Err(CommandError::usage(
                "import: exported runs and evidence are imported separately; name one kind",
            ));
        }
        return load(&args.store.open()?, &exports);
    }
    let inputs = find::inputs(&args.files).map_err(|e| CommandError::usage(e.to_string()))?;
    // A store that cannot be used is reported before hours of reading.
    let store = args.store.open_to_store()?;
    args.output.spares(&store);
    inputs
        .iter()
        .for_each(|input| args.output.reads(&input.path));
    if !args.csv {
        args.output.check_beside(&store)?;
    }
    let mut import = Import::new(options);
    let mut feeding = Feeding {
        max_unpacked: args.reading.max_unpacked,
        interrupt: &interrupt,
        redactor: None,
    };
    if args.csv && inputs.len() > 1 && !args.output.output.as_ref().is_some_and(|o| o.is_dir()) {
        let message = "--csv with several files: -o must name a directory, for one file per input";
        return Err(CommandError::usage(message));
    }
    let read_files = read(args, &inputs, &mut import, &mut feeding)?;
    if import.sources() == 0 {
        let mut message = read_files.bad.join("\nredolab: ");
        if message.is_empty() {
            message = "no file is evidence that redolab can read; -v prints why".to_owned();
        }
        if read_files.has_unknown {
            message = format!("{message}\n{}", evidence::kind::looked_for());
        }
        return Err(CommandError::failed(message));
    }
    let files: Vec<String> = inputs.iter().map(|input| feeding.shown(input)).collect();
    let mut run = run::imported(&files, import, args.log_device.as_deref(), &command_line());
    run.notes = notes;
    known_device(args, &run)?;
    if read_files.cut {
        let detail = "a file could be read only in part; see the diagnostics";
        run.validity.add("evidence_cut", false, detail);
    }
    judge(&mut run, &Thresholds::default(), Vec::new());
    thin(args, &mut run);
    store.begin(&run.run_id)?.finish(&run)?;
    print(args, &run)?;
    for line in &read_files.bad {
        tell(&format!("redolab: {}", sanitize::line(line)));
    }
    if read_files.has_unknown {
        tell(&evidence::kind::looked_for());
    }
    Ok(ended(&run, read_files.are_whole()))
}

/// Leaves out what a long series has no room for, and says so.
fn thin(args: &ImportArgs, run: &mut Run) {
    let Some(words) = run.imported.as_mut().and_then(kept::thin) else {
        return;
    };
    args.output.say(&sanitize::line(&words));
    run.diagnostics.push(Diagnostic {
        severity: Severity::Warning,
        id: "import.tables_of_series".to_owned(),
        file: String::new(),
        line: None,
        column: None,
        detail: words,
        count: 1,
    });
}

/// Stores exported runs, and prints their ids.
fn load(store: &Store, files: &[&PathBuf]) -> Result<ExitCode, CommandError> {
    let mut code = ExitCode::SUCCESS;
    for path in files {
        let loaded = input::open(path)
            .map_err(|e| e.to_string())
            .and_then(|mut file| store.import(&mut file).map_err(|e| e.to_string()));
        match loaded {
            Ok(id) => results::print(format!("{id}\n").as_bytes())?,
            Err(why) => {
                let line = format!("{}: {why}", path.display());
                tell(&format!("redolab: {}", sanitize::line(&line)));
                code = ExitCode::from(FAILED);
            }
        }
    }
    Ok(code)
}

fn read(
    args: &ImportArgs,
    inputs: &[Input],
    import: &mut Import,
    feeding: &mut Feeding<'_>,
) -> Result<ReadFiles, CommandError> {
    let phase = args.output.progress().phase("reading", inputs.len() as u64);
    let mut read_files = ReadFiles::default();
    let options = import.options().clone();
    let (max_unpacked, interrupt) = (feeding.max_unpacked, feeding.interrupt);
    let take = |done: usize, input: &Input, ahead: Option<ReadAhead>| {
        phase.at(done as u64);
        let name = feeding.shown(input);
        let mut samples = samples_to(args, input)?;
        let mut counted = Counted::new(samples.writer());
        let begun = match ahead {
            Some(read) => read,
            None => feed::begin(input, &options, feeding, &mut counted),
        };
        let fed = begun.and_then(|fed| feed::finish(fed, input, import, &mut counted));
        let fed = fed.and_then(|()| counted.flush().map_err(Failed::Samples));
        let is_empty = counted.bytes == 0;
        // What was read before a cut is kept; a file that gave nothing makes no file.
        if !is_empty && matches!(fed, Ok(()) | Err(Failed::Cut(_))) {
            samples.finish(args)?;
        }
        read_files.of_file(args, (input, &name), import, fed, is_empty)
    };
    ahead::each(inputs, &options, max_unpacked, interrupt, take)?;
    phase.done("read");
    Ok(read_files)
}

/// Whether the device that the user named is in the evidence.
fn known_device(args: &ImportArgs, run: &Run) -> Result<(), CommandError> {
    let Some(name) = &args.log_device else {
        return Ok(());
    };
    let shown = run.imported.as_ref();
    let devices = shown.map(diagnosis::devices).unwrap_or_default();
    if devices.contains(name.as_str()) {
        return Ok(());
    }
    let known: Vec<&str> = devices.into_iter().take(20).collect();
    let known = match known.as_slice() {
        [] => "there is no iostat or /proc/diskstats among the files".to_owned(),
        known => format!("the evidence shows {}", known.join(", ")),
    };
    Err(CommandError::usage(format!("--log-device {name}: {known}")))
}

/// A refusal without the name of the file before it.
fn bare(why: &str, name: &str) -> String {
    let rest = why.strip_prefix(name).and_then(|r| r.strip_prefix(": "));
    rest.unwrap_or(why).to_owned()
}

/// Where a file's `count,elapsed` goes.
enum Samples {
    Nowhere(std::io::Sink),
    Stdout(StdoutLock<'static>),
    File(BufWriter<OutputFile>),
}

impl Samples {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Samples::Nowhere(sink) => sink,
            Samples::Stdout(out) => out,
            Samples::File(file) => file,
        }
    }

    /// Puts a file in place.
    fn finish(self, args: &ImportArgs) -> Result<(), CommandError> {
        let Samples::File(file) = self else {
            return Ok(());
        };
        let output = file
            .into_inner()
            .map_err(|e| samples_failed(args, e.into_error()))?;
        Ok(output.finish()?)
    }
}

/// `count,elapsed` could not be written where `-o` names.
fn samples_failed(args: &ImportArgs, source: std::io::Error) -> CommandError {
    let path = args.output.output.clone();
    OutputError::System {
        path: path.unwrap_or_else(|| "standard output".into()),
        action: "writing count,elapsed",
        source,
    }
    .into()
}

/// Counts what is written.
struct Counted<'a> {
    to: &'a mut dyn Write,
    bytes: u64,
}

impl<'a> Counted<'a> {
    fn new(to: &'a mut dyn Write) -> Counted<'a> {
        Counted { to, bytes: 0 }
    }
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

/// Where a file's `count,elapsed` goes: nowhere without `--csv`.
fn samples_to(args: &ImportArgs, input: &Input) -> Result<Samples, CommandError> {
    if !args.csv {
        return Ok(Samples::Nowhere(std::io::sink()));
    }
    let Some(output) = &args.output.output else {
        return Ok(Samples::Stdout(std::io::stdout().lock()));
    };
    let path = if output.is_dir() {
        let name = input.path.file_name().unwrap_or(OsStr::new("stdin"));
        let mut name = name.to_owned();
        name.push(".csv");
        output.join(name)
    } else {
        output.clone()
    };
    // Never over what is there: the name may be a trace by mistake.
    let inputs = args.output.inputs();
    let begun = OutputFile::begin(&path, Audience::Owner, Existing::Keep, &inputs);
    let file = begun.map_err(|e| match e {
        OutputError::Exists { .. } => CommandError::failed(format!(
            "{}: this file already exists and is not overwritten",
            path.display()
        )),
        e => e.into(),
    })?;
    Ok(Samples::File(BufWriter::new(file)))
}

fn print(args: &ImportArgs, run: &Run) -> Result<(), CommandError> {
    if args.csv {
        if !args.output.quiet {
            let style = Style::of(std::io::stderr());
            let text = overview::text(run, args.output.view(), style);
            standard_error::write(&style.fitted(text));
        }
        return Ok(());
    }
    match args.output.format {
        Format::Csv => {
            let mut bytes = Vec::new();
            imported::tables_csv(run, &mut bytes)
                .map_err(|e| CommandError::failed(format!("formatting the result: {e}")))?;
            args.output.emit(&bytes, Audience::Owner)
        }
        _ => args
            .output
            .emit_run(run, |style| overview::text(run, args.output.view(), style)),
    }
}
