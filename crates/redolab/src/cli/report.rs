//! `redolab report`: a stored run as a page, as Markdown, or for other programs.

mod export;

pub(super) use export::trace_file;

use super::CommandError;
use super::common::{audience, print};
use super::ended;
use super::stored::StoreArgs;
use crate::output::file::{self, Inputs};
use crate::output::lines::tell;
use crate::output::report;
use analysis::account::columns::Columns;
use analysis::account::markdown;
use clap::{Args, ValueEnum};
use measure::words::sanitize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run: its id, the first characters of its id if no other run has them, its label, or
    /// `last`
    run: String,
    /// File or folder to write [default: redolab-RUN.html in the current directory; other formats
    /// than html: standard output]
    ///
    /// A name that ends with `.md` gets the answer, figures and findings as Markdown for a ticket.
    /// Formats of several files need a folder, which is created if it does not exist.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Format [default: as the name of the file says, else html]
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with = "figure")]
    format: Option<ReportFormat>,
    /// The row of the run, from 1, for --format trace; without it a run with several rows needs a
    /// folder, for a file of each row
    #[arg(long, value_name = "N")]
    row: Option<u32>,
    /// Write one figure of the report as SVG, such as `answer` (the figure at the top); an
    /// unknown id lists all [default file: redolab-RUN-ID.svg]
    #[arg(long, value_name = "ID")]
    figure: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// What a run is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// One HTML file that needs no network
    Html,
    /// The answer, figures and findings, to be pasted into a ticket
    Markdown,
    /// One JSON file for another store, which `redolab import` reads (without events)
    Redolab,
    /// fio's JSON, one document
    FioJson,
    /// The files that fio-plot reads, one folder per workload (folder)
    FioPlot,
    /// HdrHistogram logs (V2), one file per series (folder)
    Hlog,
    /// Parquet datasets hist, interval, device, events and series (of a folder of reports), by
    /// run_id and node (folder)
    Parquet,
    /// OpenMetrics text
    Openmetrics,
    /// Waits one by one in the form of Oracle's trace (event 10046), one file per row, which import
    /// reads; only of runs with --events
    Trace,
}

pub(crate) fn main(args: &ReportArgs) -> Result<ExitCode, CommandError> {
    let store = args.store.open()?;
    let id = store.resolve(&args.run)?;
    let kind = match args.format {
        None | Some(ReportFormat::Html | ReportFormat::Markdown) => ReportKind::of(args)?,
        Some(format) => return export::main(&store, &id, args, format),
    };
    let (mut run, complete) = store.load_any(&id)?;
    if matches!(kind, ReportKind::Markdown) && args.output.is_none() {
        print(markdown::run(&run, &Columns::Usual, false).as_bytes())?;
        return Ok(ended(&run, complete));
    }
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| kind.default_path(&id));
    let mut inputs = Inputs::default();
    inputs.add_folder(store.path());
    file::check(&path, &inputs)?;
    let text = match &kind {
        ReportKind::Page => report::html(&store, &mut run),
        ReportKind::Markdown => markdown::run(&run, &Columns::Usual, false),
        ReportKind::Figure(figure) => {
            report::figure(&store, &mut run, figure).map_err(|known| no_figure(figure, &known))?
        }
    };
    file::write(&path, text.as_bytes(), audience(&run), &inputs)?;
    say_where(&path);
    Ok(ended(&run, complete))
}

/// What is written of a run.
enum ReportKind {
    Page,
    Markdown,
    Figure(String),
}

impl ReportKind {
    fn of(args: &ReportArgs) -> Result<ReportKind, CommandError> {
        let extension = args.output.as_ref().and_then(|path| path.extension());
        let extension = extension.map(|e| e.to_string_lossy().to_ascii_lowercase());
        match args.format {
            Some(ReportFormat::Html) => return Ok(ReportKind::Page),
            Some(ReportFormat::Markdown) => return Ok(ReportKind::Markdown),
            _ => {}
        }
        match (&args.figure, extension.as_deref()) {
            (Some(_), Some("png")) => Err(CommandError::usage(
                "a figure is written as SVG, not as PNG: name a file that ends with .svg, which browsers, \
                 office programs and wikis show. To make a PNG of it: rsvg-convert -z 2 -o x.png x.svg, \
                 or open it in a browser"
                    .to_owned(),
            )),
            (Some(figure), None | Some("svg")) => Ok(ReportKind::Figure(figure.clone())),
            (Some(_), Some(other)) => Err(CommandError::usage(format!(
                "a figure is written as SVG: name a file that ends with .svg, not with .{other}"
            ))),
            (None, Some("svg" | "png")) => Err(CommandError::usage(
                "--figure ID is missing: which figure? --figure answer is the one at the top of the report"
                    .to_owned(),
            )),
            (None, Some("md")) => Ok(ReportKind::Markdown),
            (None, _) => Ok(ReportKind::Page),
        }
    }

    fn default_path(&self, id: &str) -> PathBuf {
        PathBuf::from(match self {
            ReportKind::Page => format!("redolab-{id}.html"),
            ReportKind::Markdown => format!("redolab-{id}.md"),
            ReportKind::Figure(figure) => {
                let plain = figure.chars().filter(char::is_ascii_alphanumeric);
                format!("redolab-{id}-{}.svg", plain.collect::<String>())
            }
        })
    }
}

/// The figures that there are, where an unknown one is asked for.
fn no_figure(figure: &str, known: &[(String, String)]) -> CommandError {
    let list: Vec<String> = known
        .iter()
        .map(|(id, caption)| format!("  {id:<8} {caption}"))
        .collect();
    CommandError::usage(match list.is_empty() {
        true => "the report of this run has no figure: nothing was measured".to_owned(),
        false => format!(
            "the report of this run has no figure `{figure}`. It has:\n{}",
            list.join("\n")
        ),
    })
}

/// Says where a report is.
pub(super) fn say_where(path: &Path) {
    tell(&format!(
        "Report: {}",
        sanitize::line(&path.display().to_string())
    ));
}
