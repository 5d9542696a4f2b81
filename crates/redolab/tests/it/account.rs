//! One account, three renderings: every line of the tables of runs and comparisons is in the
//! terminal's text, in Markdown and in the report, in the same words.
//!
//! Runs are six that were stored, in `runs`, and drawn ones; the message of a failure has the seed.

use crate::decisions::{draw, read};
use analysis::account::columns::Columns;
use analysis::account::{
    self, AccountTable, Body, Section, Shown, comparison as compared, markdown,
};
use analysis::report::{self, ReportData};
use measure::comparison::Comparison;
use measure::run::Run;
use proptest::prelude::*;
use redolab::output::comparison;
use redolab::output::overview::{self, View};
use redolab::output::table::Style;

fn wide() -> Style {
    Style::detect(false, None)
}

/// The words of a rendering, in their order, without markup.
fn words(name: &str, rendered: &str) -> String {
    let is_page = name == "report";
    let parts = rendered.split('<').map(|part| match part.split_once('>') {
        Some((_, text)) if is_page => text,
        _ => part,
    });
    let text: Vec<&str> = parts.collect();
    plain(&text.join(" ").replace('|', " "))
}

fn plain(text: &str) -> String {
    let text = read::plain_and_joined(text).replace('<', " ");
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The lines of the tables of these sections, as words.
fn lines(sections: &[Section]) -> Vec<String> {
    let of_table = |table: &AccountTable| {
        let cells = |line: &Vec<Shown>| -> Vec<String> {
            let cells = line.iter().zip(&table.columns);
            cells.map(|(cell, of)| cell.words(of.unit)).collect()
        };
        let lines = table.lines.iter().map(cells);
        lines
            .map(|cells| plain(&cells.join(" ")))
            .collect::<Vec<String>>()
    };
    let tables = sections
        .iter()
        .flat_map(|of| &of.body)
        .filter_map(|part| match part {
            Body::Table(table) => Some(table),
            _ => None,
        });
    tables.flat_map(of_table).collect()
}

/// Every line is in every rendering; how many lines there were.
fn holds(what: &str, sections: &[Section], renderings: &[(&str, String)]) -> usize {
    let all = lines(sections);
    for (name, rendered) in renderings {
        let rendered = words(name, rendered);
        for line in &all {
            assert!(
                rendered.contains(line),
                "{what}: `{line}` is not in the {name}"
            );
        }
    }
    all.len()
}

fn of_comparison(what: &str, c: &Comparison) -> usize {
    let short = compared::account(c, false).sections;
    let page = ("report", report::compare::html(c, &[]));
    let text = ("text", comparison::text(c, wide(), true));
    let ticket = ("Markdown", markdown::comparison(c, false));
    let is_decided = |of: &&Section| ["ranking", "answers", "matrix"].contains(&&*of.id);
    let decided: Vec<Section> = short.iter().filter(is_decided).cloned().collect();
    holds(what, &short, &[page, text]) + holds(what, &decided, &[ticket])
}

fn of_run(what: &str, run: &Run) -> usize {
    let all = account::run(run, &Columns::Study, true);
    let view = View {
        columns: &Columns::Study,
        verbose: true,
    };
    let page = ("report", report::html(run, &ReportData::default()));
    let text = ("text", overview::text(run, view, wide()));
    let ticket = ("Markdown", markdown::run(run, &Columns::Study, true));
    // The terminal has sums of processes in words of its own; a page draws what is over time.
    let is_everywhere = |of: &&Section| of.id != "rows" && of.id != "over-time";
    let everywhere: Vec<Section> = all.sections.iter().filter(is_everywhere).cloned().collect();
    let lines = holds(what, &everywhere, &[page, text, ticket]);
    for (name, words) in &all.answer.axes {
        let words = plain(words);
        for (output, rendered) in answers(run) {
            assert!(
                rendered.contains(&words),
                "{what}: {name} is not in the {output}"
            );
        }
    }
    lines
}

/// The renderings that have an answer, in words.
fn answers(run: &Run) -> [(&'static str, String); 2] {
    let page = words("report", &report::html(run, &ReportData::default()));
    let ticket = words("Markdown", &markdown::run(run, &Columns::Usual, false));
    [("report", page), ("Markdown", ticket)]
}

#[test]
fn six_stored_runs_and_comparisons_read_alike_everywhere() {
    let runs = [
        ("nodes", include_str!("runs/nodes.json")),
        ("members", include_str!("runs/members.json")),
        ("ring", include_str!("runs/ring.json")),
        ("sweep", include_str!("runs/sweep.json")),
        ("evidence", include_str!("runs/evidence.json")),
    ];
    for (name, json) in runs {
        let run: Run = serde_json::from_str(json).expect("a stored run");
        assert!(of_run(name, &run) > 1, "{name} has lines");
    }
    let stored = include_str!("runs/comparison.json");
    let stored: Comparison = serde_json::from_str(stored).expect("a stored comparison");
    assert!(of_comparison("comparison", &stored) > 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_number_of_an_account_is_in_all_its_renderings(seed in 0_u64..10_000) {
        let (drawn, _) = draw::comparison(seed);
        of_comparison(&format!("comparison {seed}"), &drawn);
        of_run(&format!("run {seed}"), &draw::run(seed));
    }
}
