//! What each figure shows and how it is reached: captions, tables, links, sizes.

use super::fixture::{data_of, evidence_of, judged, page, row, run_of};
use analysis::report;
use analysis::report::data::ReportData;
use measure::Histogram;
use measure::judgement::{Confidence, Finding, Weight};
use measure::run::{Interval, Run};
use std::collections::BTreeSet;

fn parts<'a>(html: &'a str, open: &'a str, close: &'a str) -> Vec<&'a str> {
    html.split(open)
        .skip(1)
        .filter_map(|rest| rest.split(close).next())
        .collect()
}

fn figures(html: &str) -> Vec<&str> {
    parts(html, "<figure ", "</figure>")
}

/// Every kind of figure.
#[test]
fn all_figures_of_a_run_are_there() {
    let html = page(&judged(run_of("LGWR-LAT1")));
    for id in [
        "tp0", "sy0", "pc0", "ds0", "dw0", "hs0", "hw0", "ts0", "tm0", "cp0", "bs0", "bw0", "sc0",
        "sz0", "sw0",
    ] {
        assert!(html.contains(&format!("<figure id=\"{id}\"")), "{id}");
    }
}

#[test]
fn each_figure_says_how_to_read_it_and_has_its_numbers_as_a_table() {
    for run in [judged(run_of("LGWR-LAT1")), evidence_of("LG00")] {
        let html = page(&run);
        let all = figures(&html);
        assert!(!all.is_empty());
        for figure in all.iter().filter(|f| f.contains("<svg")) {
            let caption = parts(figure, "<figcaption>", "</figcaption>");
            let how = parts(figure, "<p class=\"how\">", "</p>");
            assert!(how.first().is_some_and(|h| h.len() > 40), "{caption:?}");
            assert!(figure.contains("<title id=") && figure.contains("<desc id="));
            // What a cloud of dots shows is in the table beside it.
            let is_cloud = figure.contains("against b");
            assert!(is_cloud || figure.contains("<details>"), "{caption:?}");
        }
    }
}

/// Ids are unique, and each link leads to one of them.
#[test]
fn links_lead_somewhere_and_back() {
    for run in [judged(run_of("LGWR-LAT1")), evidence_of("LG00")] {
        let html = page(&run);
        let ids = parts(&html, " id=\"", "\"");
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len(), "ids are unique");
        for target in parts(&html, "href=\"#", "\"") {
            assert!(unique.contains(target), "#{target} is not in the page");
        }
        for name in parts(&html, "aria-labelledby=\"", "\"") {
            assert!(name.split(' ').all(|n| unique.contains(n)), "{name}");
        }
    }
    let html = page(&judged(run_of("LGWR-LAT1")));
    let linked = figures(&html)
        .iter()
        .filter(|f| f.contains("class=\"back\""))
        .count();
    assert!(
        linked >= 3,
        "{linked} figures say which findings rest on them"
    );
    assert!(html.contains("Shown by: <a href=\"#"));
}

/// Every element that is opened is closed in its turn.
#[test]
fn the_page_is_well_formed() {
    const VOID: [&str; 3] = ["meta", "line", "!DOCTYPE"];
    for html in [
        page(&judged(run_of("LGWR-LAT1"))),
        page(&evidence_of("LG00")),
    ] {
        let mut open: Vec<&str> = Vec::new();
        let body = html.split("<style>").next().map(str::len).unwrap_or(0);
        let rest = html[body..].split("</style>").nth(1).expect("a style");
        let markup = format!(
            "{}{}",
            &html[..body],
            rest.split("<script>").next().unwrap_or(rest)
        );
        for tag in parts(&markup, "<", ">") {
            let name = tag
                .split([' ', '/'])
                .find(|w| !w.is_empty())
                .unwrap_or_default();
            match tag.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name)),
                None if tag.ends_with('/') || VOID.contains(&name) => {}
                None => open.push(name),
            }
        }
        let left: Vec<&str> = open
            .into_iter()
            .filter(|n| !["html", "body"].contains(n))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Three hours, second by second, of one workload with one number of jobs.
fn three_hours() -> (Run, ReportData) {
    const SECONDS: u64 = 3 * 3600;
    let mut run = run_of("LGWR-LAT1");
    let mut long = row("LGWR-LAT1", 8, 1, "x");
    let mut data = ReportData::default();
    let mut state = 7_u64;
    let mut draw = |n: u64| measure::workload::split_mix(&mut state) % n;
    long.intervals.clear();
    for second in 0..SECONDS {
        let mut histograms = [Histogram::new(), Histogram::new()];
        for (h, base) in histograms.iter_mut().zip([180_000, 90_000]) {
            for _ in 0..100 {
                let tail = if draw(50) == 0 { draw(20_000_000) } else { 0 };
                h.record(base + draw(60_000) + draw(60_000) + tail);
            }
        }
        long.intervals.push(Interval {
            t_s: second as f64 + 1.0,
            seconds: 0.999 + draw(3) as f64 / 1000.0,
            commits: 40_000 + draw(9_000),
            log_file_sync_max_ns: Some(histograms[0].max()),
            log_file_parallel_write_max_ns: Some(histograms[1].max()),
            log_switches: Some(u64::from(second % 90 == 0)),
            ..Interval::default()
        });
        for (event, h) in ["log_file_sync", "log_file_parallel_write"]
            .iter()
            .zip(&histograms)
        {
            let start = second * 1_000_000_000;
            data.interval(
                &format!("01-LGWR-LAT1-8/{event}"),
                start,
                start + 1_000_000_000,
                h,
            );
        }
    }
    run.rows = vec![long];
    (judged(run), data)
}

#[test]
fn three_hours_stay_under_a_megabyte_and_keep_their_peak() {
    let (run, data) = three_hours();
    let html = report::html(&run, &data);
    if let Some(path) = std::env::var_os("LONG_OUT") {
        std::fs::write(path, &html).expect("writes");
    }
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    let longest = run
        .rows
        .iter()
        .flat_map(|r| &r.intervals)
        .filter_map(|i| i.log_file_sync_max_ns)
        .max();
    let longest = measure::words::latency(longest.expect("intervals") as f64);
    let heat = figures(&html)
        .into_iter()
        .find(|f| f.starts_with("id=\"hs0\""));
    assert!(heat.is_some_and(|f| f.contains(&longest)), "{longest}");
    // Every second is in the page for whoever zooms.
    let data = parts(&html, "data-for=\"tm0\">", "</script>");
    let values = data.first().and_then(|d| d.split("\"v\":[[").nth(1));
    let values = values.and_then(|v| v.split(']').next()).expect("values");
    assert_eq!(values.split(',').count(), 3 * 3600 + 1);
}

/// The widest run that `--jobs` and the standard workloads make.
#[test]
fn many_long_rows_stay_bounded() {
    let mut run = run_of("LGWR-LAT1");
    run.rows = ["LGWR-LAT1", "LGWR-LAT25", "LGWR-LAT125", "LGWR-THR"]
        .iter()
        .flat_map(|w| (1..=36).map(move |j| row(w, j, 600, "x")))
        .collect();
    let html = report::html(&judged(run.clone()), &data_of(&run));
    if let Some(path) = std::env::var_os("REPORT_OUT") {
        std::fs::write(path, &html).expect("writes");
    }
    assert!(html.len() < 1 << 20, "{} bytes", html.len());
}

#[test]
fn a_run_without_what_the_store_holds_is_shown() {
    let html = report::html(&judged(run_of("LGWR-LAT1")), &ReportData::default());
    assert!(!html.contains("id=\"hs0\"") && html.contains("id=\"tp0\""));
}

/// The figure of a soak marks when its burst credits were spent, and both levels with their units.
#[test]
fn a_drained_burst_is_marked_with_both_levels() {
    let mut run = run_of("LGWR-LAT1");
    let mut soak = row("soak", 8, 180, "x");
    soak.soak = true;
    run.rows.push(soak);
    let mut run = judged(run);
    let words = [
        "empty at 60.0 s: 6,000 to 1,200 commits/s",
        "burst 6,000 commits/s, 1,500 log writes/s, 11.7 MB/s written; sustained 1,200 commits/s, 300 log writes/s, 2.34 MB/s written",
    ];
    let html = page(&run);
    assert!(words.iter().all(|part| !html.contains(part)));
    let numbers = [
        ("emptied_at_s", 60.0),
        ("burst_tps", 6_000.0),
        ("sustained_tps", 1_200.0),
        ("burst_log_writes_per_s", 1_500.0),
        ("sustained_log_writes_per_s", 300.0),
        ("burst_written_mbps", 11.7),
        ("sustained_written_mbps", 2.34),
    ];
    run.findings.push(Finding {
        id: "steady.bucket".to_owned(),
        weight: Weight::Caution,
        claim: "The burst of soak with 8 jobs ended.".to_owned(),
        numbers: numbers.map(|(name, value)| (name.to_owned(), value)).into(),
        threshold: String::new(),
        source: String::new(),
        confidence: Confidence::Medium,
        advice: String::new(),
    });
    let html = page(&run);
    for part in words {
        assert!(html.contains(part), "{part}");
    }
    let all = figures(&html);
    let of_soak = |f: &&&str| f.contains("soak: commits by second") && f.contains("<svg");
    let drawn = all.iter().find(of_soak).expect("a figure of the soak");
    assert_eq!(drawn.matches("class=\"ln").count(), 2, "rate and levels");
}
