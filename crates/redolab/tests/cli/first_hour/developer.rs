//! The engine developer: embeds the log, looks into it, and compares the ways in which it writes.

use super::{Terminal, csv_lines};
use crate::harness::Running;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// The program of the README and of the guide.
#[path = "../../../../redo/examples/embed.rs"]
mod embed;

/// Asks the child for the program.
const EMBED: &str = "REDOLAB_TEST_EMBED";

/// Not a test: the program in a process of its own, which it ends as a crash would.
#[test]
fn child() {
    if std::env::var_os(EMBED).is_some() {
        embed::main().expect("it commits");
    }
}

/// Runs the program on a directory of the terminal's. What it printed.
fn embed(developer: &Terminal, directory: &str) -> String {
    let own = std::env::current_exe().expect("this program");
    let mut command = Command::new(own);
    // Its first argument is the directory; the harness takes it for one more name of a test.
    command
        .args([directory, "first_hour::developer::child"])
        .args(["--exact", "--nocapture", "--quiet"])
        .current_dir(developer.place.path())
        .env(EMBED, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("starts");
    let done = Running::of(child, format!("embed {directory}")).wait();
    done.expect(0, &[]);
    let said = done.out.lines();
    let said = said.filter(|line| line.contains("order "));
    said.map(|line| format!("{line}\n")).collect()
}

#[test]
fn embeds_the_log_and_compares_its_options() {
    let developer = Terminal::new();
    std::fs::create_dir(developer.place.path().join("log")).expect("a fresh directory");
    assert_eq!(embed(&developer, "log"), "committed order 0\n");
    assert!(embed(&developer, "log").ends_with("committed order 1\n"));
    let third = embed(&developer, "log");
    let found: Vec<&str> = third.lines().map(|l| &l[l.len() - 7..]).collect();
    assert_eq!(found, ["order 0", "order 1", "order 2"], "{third}");
    assert_eq!(third.matches("recovered 0x").count(), 2, "{third}");

    developer.types("redolab inspect log --dump").expect(
        0,
        &["records       3 with 21 bytes", "not closed", "|order 2|"],
    );
    let compare = "redolab compare --on d=target --log-writer inline,lgwr --io threads,io_uring \
                   --rounds 2 --jobs 1,8 --commits 200";
    let done = developer.types(&format!("{compare} {}", super::SMALL));
    done.expect(
        0,
        &[
            "Rounds: 2 on each of inline+threads, inline+io_uring,",
            "Round 1 of 2: inline+threads",
            "Round 2 of 2: lgwr+io_uring",
            "lgwr+io_uring against inline+threads: Too few rounds to decide.",
            "How this was compared",
        ],
    );
    // What is the same of all is said once.
    assert_eq!(done.err.matches("Will make log files").count(), 1);
    for jobs in ["1", "8"] {
        expect_matrix(&developer, &done.out, jobs);
    }
    developer.place.expect_clean(&developer.place.target);

    // Each round is a run with a name.
    developer
        .types("redolab runs")
        .expect(0, &["inline-threads-1", "lgwr-io_uring-2"]);
    let shown = developer.types("redolab runs show lgwr-io_uring-2");
    shown.expect(
        shown.code.expect("it ended"),
        &["LGWR-LAT1", "log file sync"],
    );
}

/// Figures by name and option, each with its change, of the lines of a number of jobs.
type Matrix = BTreeMap<String, BTreeMap<String, (String, Option<String>)>>;

/// The matrix, whose lines are printed one below the other on a narrow terminal.
fn matrix(text: &str, jobs: &str) -> Matrix {
    let joined: Vec<&str> = text.split_whitespace().collect();
    let joined = joined.join(" ");
    let below = joined.split_once("All runs, with the change");
    let mut found = Matrix::new();
    for line in below.expect("the matrix").1.split("LGWR-LAT1 Jobs: ") {
        let Some((_, line)) = line.split_once("; ").filter(|(of, _)| *of == jobs) else {
            continue;
        };
        let mut cells = line.split("; ").filter_map(|cell| cell.split_once(": "));
        let (_, name) = cells.next().expect("its name");
        let figures = found.entry(name.to_owned()).or_default();
        for (option, cell) in cells.take(4) {
            let change = cell
                .split_once(" (")
                .and_then(|(_, rest)| rest.split_once(')'));
            let change = change.map(|(change, _)| change.to_owned());
            figures.insert(option.to_owned(), (cell.to_owned(), change));
        }
    }
    found
}

/// Each option has each figure, that of its own rounds, and each change is that of the figures
/// beside it.
fn expect_matrix(developer: &Terminal, text: &str, jobs: &str) {
    let found = matrix(text, jobs);
    let throughput = found.get("commits per second");
    let throughput = throughput.unwrap_or_else(|| panic!("{jobs}: {found:?}\n{text}"));
    assert!(found.contains_key("log file sync, mean"), "{found:?}");
    for figures in found.values() {
        let names: Vec<&str> = figures.keys().map(String::as_str).collect();
        let all = [
            "inline+io_uring",
            "inline+threads",
            "lgwr+io_uring",
            "lgwr+threads",
        ];
        assert_eq!(names, all, "{found:?}");
    }
    let number = |figure: &str| -> f64 {
        let digits = figure.split_whitespace().next().expect("a number");
        digits.replace(',', "").parse().expect("a number")
    };
    for (name, (figure, _)) in throughput {
        let rounds = [1, 2].map(|round| rate(developer, &format!("{name}-{round}"), jobs));
        let mean = (rounds[0] * rounds[1]).sqrt();
        let near = (number(figure) / mean - 1.0).abs() < 0.01;
        assert!(near, "{jobs}, {name}: {figure} of the rounds {rounds:?}");
    }
    let base = number(&throughput["inline+threads"].0);
    for (name, (figure, change)) in throughput.iter().filter(|(n, _)| *n != "inline+threads") {
        let change = change.as_deref().expect("a change");
        let percent = change.trim_matches(['~', ' ']).replace('−', "-");
        let Some(percent) = percent.strip_suffix(" %") else {
            // A multiple, where it is a large one.
            assert!(percent.starts_with(['×', '÷']), "{change}");
            continue;
        };
        let percent: f64 = percent.replace(',', "").parse().expect("percent");
        let own = 100.0 * (number(figure) / base - 1.0);
        // Three digits are printed of each.
        let near = (percent - own).abs() <= 0.02 * (100.0 + own.abs());
        assert!(near, "{name}: {figure} against {base} is not {change}");
    }
}

/// Commits per second of a round, as a spreadsheet would read them.
fn rate(developer: &Terminal, round: &str, jobs: &str) -> f64 {
    // A label has no sign that options have between them.
    let label = round.replace('+', "-");
    let shown = developer.types(&format!("redolab runs show {label} --format csv"));
    let lines = csv_lines(&shown.out);
    let line = lines.iter().find(|line| line["jobs"] == jobs);
    let cell = &line.unwrap_or_else(|| panic!("{label}: {}", shown.out))["commit_throughput_tps"];
    cell.parse().expect("a number")
}
