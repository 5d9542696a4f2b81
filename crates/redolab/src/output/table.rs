//! How wide a table may be, and its caption. `drawing` draws any table. The rows of a run have a
//! table of their own ([`super::rows`]).
//!
//! Invariants: a table that would be wider than the terminal drops its least telling columns. No
//! colour anywhere, so that there is nothing to strip for `NO_COLOR`; frames only on a terminal.

use super::lines;
use measure::run::{Run, problems};
use measure::words::sanitize;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::path::Path;

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of characters that fit.
    pub width: usize,
    /// A terminal reads it: headings are underlined with a rule. Elsewhere plain columns.
    pub frame: bool,
}

/// Tables are not wider where nothing limits them: longer lines are hard to follow. Plain columns
/// of this width are those that nothing limits.
const WIDEST: usize = 200;
/// Tables are not narrower: every terminal is as wide.
const NARROWEST: usize = 80;

impl Style {
    /// As wide as `columns`, at least 80; where they are not known, 80 on a terminal, and 200 plain
    /// columns elsewhere.
    #[must_use]
    pub fn detect(is_terminal: bool, columns: Option<u16>) -> Style {
        let width = match columns.map(usize::from) {
            // Plain columns of this width have no limit.
            Some(WIDEST) if !is_terminal => WIDEST - 1,
            Some(columns) => columns.max(NARROWEST),
            None if is_terminal => NARROWEST,
            None => WIDEST,
        };
        Style {
            width,
            frame: is_terminal,
        }
    }

    /// For this process's standard output.
    #[must_use]
    pub fn of_stdout() -> Style {
        Style::of(std::io::stdout())
    }

    /// For what is printed to standard output, or written to a file instead: a file has the same
    /// bytes whatever the terminal is.
    #[must_use]
    pub fn of_output(file: Option<&Path>) -> Style {
        match file {
            Some(_) => Style::detect(false, None),
            None => Style::of_stdout(),
        }
    }

    /// For what is printed to `stream`.
    #[must_use]
    pub fn of(stream: impl AsFd + IsTerminal) -> Style {
        let terminal = stream.is_terminal();
        Style::detect(terminal, lines::columns(stream))
    }

    /// Most columns of a line, where the reader's terminal limits them.
    #[must_use]
    pub fn limit(self) -> Option<usize> {
        (self.frame || self.width != WIDEST).then_some(self.width)
    }

    /// The text with no line longer than [`Style::limit`], as far as its words allow.
    #[must_use]
    pub fn fitted(self, text: String) -> String {
        match self.limit() {
            Some(width) => lines::fold(&text, width),
            None => text,
        }
    }
}

/// Which run it is, and where its figures come from.
pub(super) fn which(run: &Run) -> String {
    let label = run.notes.label.as_deref();
    let label = label.map_or_else(String::new, |label| format!(" {}", sanitize::line(label)));
    format!(
        "Run {}{label}  origin: {}  target: {} {}",
        sanitize::line(&run.run_id),
        run.origin.word(),
        sanitize::line(&run.target.kind),
        sanitize::line(&run.target.path),
    )
}

/// The caption: which run, where its figures come from, whether to believe them.
#[must_use]
pub fn caption(run: &Run) -> String {
    let mut text = which(run);
    if !run.validity.valid {
        text.push_str("\nINVALID: the figures below are wrong:");
    }
    for problem in problems::each_once(&run.validity.problems) {
        let weight = if problem.invalidates {
            "invalid"
        } else {
            "doubtful"
        };
        let (id, detail) = (sanitize::line(&problem.id), sanitize::line(&problem.detail));
        text.push_str(&format!("\n  {weight}: {id}: {detail}"));
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::output::section;
    use analysis::account;
    use measure::run::{
        Environment, Origin, ProcessorFigures, RedoFigures, Row, Target, Validity, WaitStats,
        WorkloadInfo,
    };

    /// A run of a few rows for the tests of all formats.
    pub(crate) fn run() -> Run {
        let row = |workload: &str, jobs: u32| Row {
            workload: workload.to_owned(),
            nodes: 1,
            jobs,
            commit_throughput_tps: Some(9_341.2 * f64::from(jobs)),
            commit_latency_ms: Some(0.107),
            log_file_sync_ms: Some(0.104),
            commits: Some(2_802_360),
            waits: [(
                "log_file_sync".to_owned(),
                WaitStats {
                    count: 12,
                    mean_ns: 104_000.0,
                    max_ns: 9_000_000,
                    p50_ns: Some(101_000),
                    ..WaitStats::default()
                },
            )]
            .into(),
            redo: Some(RedoFigures {
                redo_data_mbps: Some(18.2),
                redo_size_bytes: Some(5_596_312_920),
                ..RedoFigures::default()
            }),
            processors: Some(ProcessorFigures {
                cpu_busy_pct: Some(12.5),
                ..ProcessorFigures::default()
            }),
            ..Row::default()
        };
        Run {
            schema: measure::run::SCHEMA.to_owned(),
            run_id: "20261120-101500-4f2a11".to_owned(),
            created: "2026-11-20T10:15:00.000Z".to_owned(),
            origin: Origin::Measured,
            redolab_version: "0.1.0".to_owned(),
            notes: measure::run::RunNotes::default(),
            command: vec!["redolab".to_owned(), "check".to_owned()],
            target: Target {
                kind: "file".to_owned(),
                path: "/redo\u{1b}]0;x\u{7}".to_owned(),
                ..Target::default()
            },
            workload: WorkloadInfo::default(),
            environment: Environment::default(),
            rows: vec![row("LGWR-LAT1", 1), row("LGWR-THR", 64)],
            floor: Vec::new(),
            placement: None,
            power_tests: None,
            lab_overhead_ns: None,
            findings: Vec::new(),
            validity: Validity::sound(),
            need: measure::judgement::Need::default(),
            verdict: None,
            report: None,
            diagnostics: Vec::new(),
            imported: None,
        }
    }

    #[test]
    fn waits_and_the_floor_fit_a_narrow_terminal() {
        let mut run = run();
        let stats = WaitStats {
            count: 1_234_567,
            mean_ns: 12_345_678.0,
            max_ns: 912_345_678,
            ..WaitStats::default()
        };
        let key = measure::WaitEvent::LogFileSwitchCheckpointIncomplete.key();
        run.rows[0].waits.insert(key.to_owned(), stats.clone());
        run.floor.push(measure::run::FloorRow {
            sync_method: "buffered".to_owned(),
            pre_written: true,
            write_bytes: 67_108_864,
            writes_per_s: 25.3,
            latency: stats,
            write_mean_ns: 8_272_000.0,
            flush_mean_ns: 31_190_000.0,
        });
        let style = |width| Style { width, frame: true };
        let waits = || account::waits(&run).expect("two waits");
        for section in [waits(), account::floor(&run).expect("a method")] {
            let text = section::text(&section, style(80), false);
            for line in text.lines().skip(1) {
                assert!(lines::width(line) <= 80, "{line}\n{text}");
            }
            assert!(text.contains("912") && text.contains("p99"), "{text}");
        }
        assert!(section::text(&waits(), style(200), false).contains("p90"));
    }

    #[test]
    fn an_invalid_run_says_so_above_its_figures() {
        let mut bad = run();
        bad.validity.add("io_error", true, "EIO on a write");
        let text = caption(&bad);
        assert!(
            text.contains("INVALID") && text.contains("EIO on a write"),
            "{text}"
        );
    }

    #[test]
    fn the_width_is_the_terminals_within_bounds() {
        for (terminal, columns, want) in [
            (true, Some(120), 120),
            (true, Some(20), 80),
            (true, Some(500), 500),
            (true, None, 80),
            (false, Some(90), 90),
            (false, Some(200), 199),
            (false, Some(250), 250),
            (false, None, 200),
        ] {
            let style = Style::detect(terminal, columns);
            assert_eq!(style.width, want);
            let limits = terminal || columns.is_some();
            assert_eq!(style.limit(), limits.then_some(want));
        }
    }
}
