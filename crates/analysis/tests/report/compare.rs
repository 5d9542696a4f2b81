//! The report of a comparison: everything that is in the data is shown, on one scale, and nothing
//! of its text becomes markup.

use super::fixture::{data_of, payloads, row, run_of, structure};
use analysis::compare::decision::decide;
use analysis::report::compare;
use measure::Histogram;
use measure::comparison::{
    Basis, Better, ComparedRun, Comparison, Condition, ConditionState, Difference, Distribution,
    Method, NotCompared, SCHEMA, Size,
};
use measure::imported::{Cell, Column, Table};
use measure::run::{Origin, Problem, Run};

fn difference(metric: &str, workload: &str, ratio: Option<f64>, better: Better) -> Difference {
    Difference {
        metric: metric.to_owned(),
        workload: workload.to_owned(),
        jobs: 8,
        run_a: 0,
        run_b: 1,
        unit: "ns".to_owned(),
        better,
        a: Some(5e5),
        b: ratio.map(|r| 5e5 * r),
        ratio,
        ci_low: ratio.map(|r| r * 0.9),
        ci_high: ratio.map(|r| r * 1.1),
        effect: Some(0.19),
        effect_kind: "cohens_d".to_owned(),
        p_value: Some(0.0),
        p_text: "< 2.2e-16".to_owned(),
        basis: Basis::Intervals,
        units_a: 60,
        units_b: 60,
        significant: ratio.map(|r| !(0.91..=1.11).contains(&r)),
        size: ratio.map(|_| Size::Medium),
        detectable_pct: Some(2.0),
        sentence: format!("{metric} of {workload} differs."),
    }
}

fn distribution(run: usize, workload: &str, base: u64) -> Distribution {
    let mut h = Histogram::new();
    (0..2_000_u64).for_each(|i| h.record(base + i * i % (base / 2)));
    let edges: Vec<u64> = (0..200)
        .map(|i| (1000.0 * 1.09_f64.powi(i)) as u64)
        .collect();
    let share = |low: u64, high: u64| {
        let inside = h.buckets().count_between(low, high - 1);
        inside as f64 / h.count() as f64
    };
    Distribution {
        run,
        workload: workload.to_owned(),
        jobs: 8,
        event: "log_file_sync".to_owned(),
        count: h.count(),
        density: edges
            .windows(2)
            .map(|w| (w[0], w[1], share(w[0], w[1])))
            .filter(|d| d.2 > 0.0)
            .collect(),
        curve: h.curve(),
    }
}

/// A run of a comparison in which every text is `text`.
fn compared_run(text: &str, name: &str, valid: bool) -> ComparedRun {
    let s = || text.to_owned();
    ComparedRun {
        name: format!("{text} {name}"),
        run_id: s(),
        round_ids: Vec::new(),
        origin: Origin::Measured,
        created: s(),
        complete: true,
        valid,
        problems: vec![Problem {
            id: s(),
            invalidates: !valid,
            detail: s(),
        }],
        target_kind: s(),
        target_path: s(),
        target_detail: s(),
        tags: [(s(), s())].into(),
        has_events: false,
        verdict: None,
        durability: None,
        durability_basis: Some(s()),
        performance: None,
    }
}

/// A comparison of two runs in which every text is `text`.
pub fn comparison_of(text: &str) -> (Comparison, [Run; 2]) {
    let s = || text.to_owned();
    let c = Comparison {
        schema: SCHEMA.to_owned(),
        created: s(),
        redolab_version: s(),
        command: vec![s(), s()],
        method: Method {
            level: 0.95,
            resamples: 2000,
            seed: 1,
            rounds: Some(6),
            figures: s(),
            notes: vec![s()],
        },
        runs: vec![
            compared_run(text, "flash", true),
            compared_run(text, "disk", false),
        ],
        notices: vec![s()],
        decisions: Vec::new(),
        answers: Vec::new(),
        differences: vec![
            difference("log_file_sync.mean", text, Some(1.6), Better::Lower),
            difference("log_file_sync.p99", text, Some(1.02), Better::Lower),
            difference("commit_throughput_tps", text, Some(1.28), Better::Higher),
            difference("flushes", text, Some(6.4), Better::Neither),
            difference("cpu_us_per_commit", text, None, Better::Lower),
        ],
        not_compared: vec![NotCompared {
            run_b: 1,
            what: s(),
            why: s(),
        }],
        tables: vec![Table {
            id: s(),
            title: s(),
            file: s(),
            columns: vec![Column {
                key: s(),
                heading: s(),
            }],
            rows: vec![vec![Cell::Text(s())]],
            ..Table::default()
        }],
        distributions: vec![
            distribution(0, text, 400_000),
            distribution(1, text, 700_000),
        ],
        conditions: Vec::new(),
        exit_code: 0,
    };
    let c = decided(&c);
    let mut runs = [run_of(text), run_of(text)];
    for (run, seconds) in runs.iter_mut().zip([20, 12]) {
        run.rows = vec![row(text, 8, seconds, text)];
    }
    (c, runs)
}

/// The comparison with what follows from its differences, and with a condition that is breached.
fn decided(c: &Comparison) -> Comparison {
    let mut c = c.clone();
    decide(&mut c, &[]);
    let text = c.created.clone();
    let breached = Condition::new(&text, ConditionState::Breached, text.clone());
    c.conditions = vec![breached];
    c
}

fn page(text: &str) -> String {
    let (c, runs) = comparison_of(text);
    let data = [data_of(&runs[0]), data_of(&runs[1])];
    compare::html(
        &c,
        &[vec![(&runs[0], &data[0])], vec![(&runs[1], &data[1])]],
    )
}

#[test]
fn everything_of_a_comparison_is_shown() {
    let html = page("LGWR-LAT1");
    if let Some(path) = std::env::var_os("COMPARISON_OUT") {
        std::fs::write(path, &html).expect("writes");
    }
    for part in [
        "id=\"runs\"",
        "id=\"conditions\"",
        "BREACHED",
        "id=\"fo1\"",
        "id=\"cd0\"",
        "id=\"cp0\"",
        "id=\"ms0-0\"",
        "id=\"ms0-1\"",
        "id=\"mw0-1\"",
        "id=\"not-compared\"",
        "id=\"repeat\"",
        "a run is invalid",
        "× 6.40",
        "+60.0 % worse",
        "+28.0 % better",
        "+2.0 % cannot tell",
        "No winner: a run is invalid",
        "500 µs",
        "id=\"top1\"",
        "id=\"top1-narrow-t\"",
        "All 5 differences",
        "&lt; 2.2e-16",
    ] {
        assert!(html.contains(part), "`{part}` is not in the report");
    }
    assert!(!html.contains("NaN") && html.len() < 400_000);
}

/// A comparison without an invalid run, of `rounds` rounds.
fn sound(rounds: Option<u32>) -> Comparison {
    let (mut c, _) = comparison_of("LGWR-LAT1");
    c.runs.iter_mut().for_each(|run| run.valid = true);
    c.method.rounds = rounds;
    c
}

/// The first screen, with the answers that follow from the differences.
fn first_screen(c: &Comparison) -> String {
    let html = compare::html(&decided(c), &[]);
    html.split("<main").next().unwrap_or_default().to_owned()
}

#[test]
fn the_winner_is_named_with_absolute_values_and_the_interval() {
    let mut c = sound(Some(6));
    c.differences.retain(|d| d.metric != "log_file_sync.p99");
    let first = first_screen(&c);
    assert!(first.contains("LGWR-LAT1 disk wins"), "{first}");
    for part in [">1.28<", "1.15 to 1.41", "commits per second"] {
        assert!(first.contains(part), "`{part}` is not on the first screen");
    }
    let tail = &mut c.differences[0];
    tail.metric = "log_file_sync.p99".to_owned();
    assert!(first_screen(&c).contains("Neither wins"));
    c.differences[1].ratio = Some(0.5);
    c.differences[1].b = Some(2.5e5);
    assert!(first_screen(&c).contains("LGWR-LAT1 flash wins"));
    c.differences
        .iter_mut()
        .for_each(|d| d.significant = Some(false));
    assert!(first_screen(&c).contains("No difference found"));
}

#[test]
fn few_rounds_decide_nothing() {
    let first = first_screen(&sound(Some(2)));
    assert!(first.contains("Too few rounds to decide") && first.contains("2 rounds of each"));
    assert!(!first.contains(" wins") && !first.contains(" better<"));
    assert!(!first_screen(&sound(None)).contains("Too few rounds"));
}

#[test]
fn eight_differences_come_first_and_clipped_intervals_are_arrows() {
    let mut c = sound(Some(6));
    let one = c.differences[2].clone();
    c.differences = (1..=25)
        .flat_map(|jobs| {
            let mut rate = one.clone();
            rate.jobs = jobs;
            let mut tail = rate.clone();
            tail.metric = "log_file_sync.p99".to_owned();
            [rate, tail]
        })
        .collect();
    let html = compare::html(&c, &[]);
    let drawing = |id: &str| {
        let all = html.split(&format!("aria-labelledby=\"{id}-t")).nth(1);
        let all = all.and_then(|rest| rest.split("</svg>").next());
        all.expect("a drawing").to_owned()
    };
    let top = drawing("top1");
    assert_eq!(top.matches("class=\"mk\"").count(), 8);
    assert!(html.contains("All 50 differences"));
    // Bars end in caps as long as they are within the scale, then in an arrow.
    let level = |drawing: &str| drawing.matches("class=\"ln\"").count();
    let before = level(&top);
    c.differences.iter_mut().for_each(|d| d.ci_high = Some(1e9));
    let html = compare::html(&c, &[]);
    let clipped = html
        .split("aria-labelledby=\"top1-t")
        .nth(1)
        .expect("a drawing");
    let clipped = clipped.split("</svg>").next().expect("its end");
    assert_eq!(level(clipped), before);
    assert_ne!(clipped, top);
    let scale_at_top = clipped.find("class=\"tk\"").expect("ticks");
    assert!(scale_at_top < clipped.find("class=\"mk\"").expect("lines"));
}

#[test]
fn many_doubts_leave_the_first_screen_to_the_drawing_and_no_notice_is_left_out() {
    let mut c = sound(Some(6));
    let doubts = |html: &str| {
        let above = html
            .split("aria-labelledby=\"top1-t")
            .next()
            .expect("a page");
        let (shown, folded) = above
            .split_once("<details class=\"doubts\">")
            .unwrap_or((above, ""));
        [shown, folded].map(|part| part.matches("<p class=\"warn\">").count())
    };
    c.not_compared.clear();
    c.runs.iter_mut().for_each(|run| run.problems.clear());
    for all in 0..8_usize {
        c.notices = (0..all).map(|n| format!("Doubt number {n}.")).collect();
        let html = compare::html(&c, &[]);
        let expected = if all > 2 { [2, all - 2] } else { [all, 0] };
        assert_eq!(doubts(&html), expected, "{all} doubts");
        let summary = format!("<summary>{} more of these</summary>", all.saturating_sub(2));
        assert_eq!(html.contains(&summary), all > 2);
    }
}

/// The axes of both maps begin and end at the same values.
#[test]
fn maps_that_are_compared_have_one_scale() {
    let html = page("LGWR-LAT1");
    let ticks = |id: &str| -> Vec<String> {
        let figure = html
            .split(&format!("<figure id=\"{id}\""))
            .nth(1)
            .expect("a map");
        let figure = figure.split("</svg>").next().unwrap_or_default();
        let texts = figure.split("class=\"tk").skip(1);
        texts
            .filter_map(|t| Some(t.split('>').nth(1)?.split('<').next()?.to_owned()))
            .collect()
    };
    assert!(ticks("ms0-0").len() > 4);
    assert_eq!(ticks("ms0-0"), ticks("ms0-1"));
}

#[test]
fn maps_of_a_live_comparison_show_all_rounds() {
    let (mut c, runs) = comparison_of("LGWR-LAT1");
    let data = [data_of(&runs[0]), data_of(&runs[1])];
    let round = |k: usize| (&runs[k], &data[k]);
    let held = [vec![round(0), round(1), round(0)], vec![round(1)]];
    c.runs[0].round_ids = ["a", "b", "c"].map(str::to_owned).to_vec();
    c.runs[1].round_ids = ["d", "e"].map(str::to_owned).to_vec();
    let html = compare::html(&c, &held);
    let map = |id: &str| {
        let figure = html.split(&format!("<figure id=\"{id}\"")).nth(1);
        let figure = figure.and_then(|rest| rest.split("</figure>").next());
        figure.expect("a map").to_owned()
    };
    let (all, some) = (map("ms0-0"), map("ms0-1"));
    assert!(all.contains("3 rounds one after the other"), "{all}");
    assert!(all.contains("round 2") && all.contains("round 3"), "{all}");
    assert!(some.contains("1 of 2 rounds"), "{some}");
    // 20 s of each round that has a row of 20 s, 12 s of the other; 40 waits per second.
    assert!(all.contains("2,080 waits in 52.0 seconds"), "{all}");
}

#[test]
fn no_text_of_a_comparison_becomes_structure() {
    let plain = structure(&page("plain"));
    for payload in payloads() {
        let html = page(&payload);
        let shown: String = payload.chars().take(40).collect();
        assert_eq!(structure(&html), plain, "{shown:?} changed the structure");
        assert!(
            !html.chars().any(|c| c.is_control() && c != '\n'),
            "{shown:?}"
        );
    }
}

#[test]
fn what_cannot_be_read_any_more_leaves_only_the_maps_out() {
    let (mut c, _) = comparison_of("x");
    let html = compare::html(&c, &[vec![], vec![]]);
    assert!(!html.contains("id=\"heat\"") && html.contains("id=\"fo1\""));
    c.differences.clear();
    c.distributions.clear();
    let html = compare::html(&c, &[]);
    assert!(html.ends_with("</html>\n") && !html.contains("id=\"fo1\""));
}
