//! The first screen and what leaves the page: what it has to contain, Markdown, figures as files.

use super::fixture::{data_of, evidence_of, judged, page, payloads, row, run_of};
use analysis::account::columns::Columns;
use analysis::account::markdown;
use analysis::report;
use measure::run::Run;

/// What stands above the findings.
fn first_screen(html: &str) -> &str {
    html.split("<main id=\"content\">").next().expect("a body")
}

fn standard() -> Run {
    let mut run = run_of("db1");
    run.rows = vec![
        row("LGWR-LAT1", 1, 5, "x"),
        row("LGWR-LAT1", 8, 5, "x"),
        row("LGWR-LAT125", 1, 5, "x"),
    ];
    run.need.commit_rate = Some(5_000.0);
    run.need.p99_ns = Some(2_000_000);
    judged(run)
}

#[test]
fn the_first_screen_answers_by_itself() {
    let html = page(&standard());
    let first = first_screen(&html);
    for part in [
        "Should a redo log live on db1?",
        "<dt>Host</dt>",
        "<dt>Device</dt>",
        "<dt>Volume</dt>",
        "<dt>Log</dt>",
        "<dt>Durability</dt>",
        "5,000 commits/s, 2.00 ms of log file sync (p99)",
        "Log file sync, p99",
        "Log file parallel write, mean",
        "MB/s",
        "<figure id=\"answer\"",
        "needed p99: 2.00 ms",
        "needed: 5,000 commits/s",
        "href=\"#appendix\"",
        "Invalid: do not use these figures",
    ] {
        assert!(first.contains(part), "`{part}` is not on the first screen");
    }
    assert_eq!(first.matches("class=\"v\"").count(), 4, "four figures");
    assert_eq!(
        first.matches("<svg").count(),
        2,
        "one figure of two drawings"
    );
}

#[test]
fn a_need_is_drawn_only_where_one_was_stated() {
    let mut run = standard();
    run.need = measure::judgement::Need::default();
    let html = page(&judged(run));
    assert!(first_screen(&html).contains("none stated"));
    assert!(!html.contains("class=\"need\""));
}

#[test]
fn one_number_of_jobs_has_a_percentile_curve_and_its_seconds() {
    let mut run = run_of("db1");
    run.rows = vec![row("LGWR-LAT1", 8, 5, "x")];
    let html = page(&judged(run));
    let first = first_screen(&html);
    assert!(first.contains("99.9 %") && first.contains("measured seconds"));
}

/// Groups in their order, every finding once, and each drawing once.
#[test]
fn findings_are_in_groups_beside_their_figures() {
    let run = standard();
    let html = page(&run);
    let places = [
        "id=\"decide\"",
        "id=\"watch\"",
        "id=\"fine\"",
        "id=\"appendix\"",
        "id=\"record\"",
    ];
    let places: Vec<usize> = places.iter().filter_map(|part| html.find(part)).collect();
    assert!(places.len() >= 4 && places.is_sorted(), "{places:?}");
    let reasons = run.verdict.as_ref().expect("judged").reasons.len();
    assert_eq!(html.matches("<li id=\"finding-").count(), reasons);
    assert!(html.contains("class=\"beside\"><figure"));
    assert!(html.contains("class=\"beside\"><ol class=\"stack\""));
    for figure in ["tp0", "pc0", "tm0", "dw0"] {
        assert_eq!(html.matches(&format!("<figure id=\"{figure}\"")).count(), 1);
    }
}

#[test]
fn a_row_of_one_second_has_no_heat_map_and_is_in_the_series() {
    let mut run = run_of("db1");
    run.rows = (0..12)
        .map(|jobs| row("LGWR-LAT1", jobs + 1, 1, "x"))
        .collect();
    let html = page(&judged(run));
    assert!(!html.contains("id=\"hs0\""));
    // A row of one interval is a dot: a line to where it began.
    assert!(html.contains("id=\"ts0\"") && html.contains("h0"));
}

#[test]
fn evidence_begins_with_its_diagnosis() {
    let mut run = evidence_of("trace");
    let mut finding = judged(run_of("x")).findings.remove(0);
    finding.id = "diagnosis.commit_wait".to_owned();
    finding.claim = "Commits wait 6.82 ms, and a log write takes 1.21 ms.".to_owned();
    run.findings = vec![finding];
    let html = page(&run);
    let first = first_screen(&html);
    assert!(first.contains("Commits wait 6.82 ms"), "{first}");
    assert!(first.contains("<figure id=") && first.contains("<dt>Evidence</dt>"));
    run.findings.clear();
    assert!(first_screen(&page(&run)).contains("No cause found"));
}

#[test]
fn markdown_has_the_answer_and_no_text_becomes_markup() {
    let text = markdown::run(&standard(), &Columns::Usual, false);
    for part in [
        "live on db1? NO",
        "| LGWR-LAT1 | 8 |",
        "- Host: db1",
        "**Findings**",
        "**INVALID: do not use these figures.**",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    let lines = markdown::run(&judged(run_of("plain")), &Columns::Usual, false)
        .lines()
        .count();
    for payload in payloads() {
        let text = markdown::run(&judged(run_of(&payload)), &Columns::Usual, false);
        assert_eq!(text.lines().count(), lines, "{payload:?}");
        let bytes = text.as_bytes();
        let is_bare = |c: u8| {
            let mut at = bytes.iter().enumerate().filter(|(_, b)| **b == c);
            at.any(|(i, _)| i == 0 || bytes[i - 1] != b'\\')
        };
        for mark in [b'<', b'`', b'[', b'~'] {
            assert!(!is_bare(mark), "{payload:?}: {}", char::from(mark));
        }
    }
}

#[test]
fn a_figure_is_a_file_of_its_own() {
    let run = standard();
    let data = data_of(&run);
    for id in ["answer", "tp0", "hs0", "pc0", "cp0"] {
        let svg = report::figure(&run, &data, id).unwrap_or_else(|all| panic!("{id}: {all:?}"));
        assert!(
            svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""),
            "{id}"
        );
        assert_eq!(svg.matches("<svg").count(), 1, "{id}");
        for part in ["measured", "INVALID", "db1", "<rect class=\"ground\""] {
            assert!(svg.contains(part), "{id}: {part}");
        }
        assert!(!svg.contains("var(") && !svg.contains("NaN"), "{id}");
        assert_eq!(
            svg.matches("<g").count(),
            svg.matches("</g>").count(),
            "{id}"
        );
    }
    let all = report::figure(&run, &data, "none").expect_err("no such figure");
    assert!(all.iter().any(|(id, _)| id == "answer") && all.len() > 5);
}

#[test]
fn no_text_becomes_structure_of_a_figure_file() {
    let file = |text: &str| {
        let run = judged(run_of(text));
        report::figure(&run, &data_of(&run), "answer").expect("the figure at the top")
    };
    let plain = file("plain").matches('<').count();
    for payload in payloads() {
        assert_eq!(file(&payload).matches('<').count(), plain, "{payload:?}");
    }
}
