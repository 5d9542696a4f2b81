//! The report as a file: nothing of a run's text becomes markup, nothing is fetched, the size is
//! bounded, and runs without figures are shown too.

mod compare;
mod figures;
mod first;
mod fixture;
mod texts;

use fixture::{evidence_of, judged, page, payloads, row, run_of, structure};
use measure::run::{Origin, TargetFacts};

#[test]
fn no_text_becomes_structure() {
    let plain = structure(&page(&judged(run_of("plain"))));
    for payload in payloads() {
        let html = page(&judged(run_of(&payload)));
        let shown: String = payload.chars().take(40).collect();
        assert_eq!(structure(&html), plain, "{shown:?} changed the structure");
        assert!(
            !html.chars().any(|c| c.is_control() && c != '\n'),
            "{shown:?}: control character"
        );
        assert!(!html.contains('\u{202e}'), "{shown:?}: direction override");
    }
}

#[test]
fn nothing_is_fetched_and_only_our_script_runs() {
    let html = page(&long(run_of("http://example.org/x")));
    for part in [
        " src=",
        "@import",
        "url(",
        " style=",
        "javascript:",
        "<link",
        "<base",
        " on",
    ] {
        let hits = html.match_indices(part).filter(|(i, _)| {
            // ` on` counts only as an attribute: followed by letters and `=`.
            part != " on"
                || html[i + 1..]
                    .split(|c: char| !c.is_ascii_alphabetic())
                    .next()
                    .is_some_and(|w| w.len() > 2 && html[i + 1 + w.len()..].starts_with('='))
        });
        assert_eq!(hits.count(), 0, "`{part}` is in the report");
    }
    let links = html.matches(" href=").count();
    assert!(links > 10 && links == html.matches(" href=\"#").count());
    assert!(html.contains("default-src 'none'; style-src 'sha256-"));
    let data = html
        .matches("<script type=\"application/json\" class=\"zd\"")
        .count();
    assert!(data > 0, "a long series can be zoomed");
    assert_eq!(html.matches("<script").count(), data + 1);
}

/// Rows long enough for series that can be zoomed.
fn long(mut run: measure::run::Run) -> measure::run::Run {
    let text = run.run_id.clone();
    run.rows = vec![row(&text, 1, 300, &text), row("LGWR-LAT1", 8, 300, &text)];
    judged(run)
}

/// What the script is given holds numbers and our own names alone.
#[test]
fn no_text_of_a_run_reaches_the_script() {
    for payload in payloads().iter().take(20) {
        let html = page(&long(run_of(payload)));
        for block in html.split("class=\"zd\"").skip(1) {
            let json = block.split('>').nth(1).and_then(|j| j.split('<').next());
            let json = json.expect("a block of data");
            let plain = |c: char| c.is_ascii_digit() || "{}[]\":,.-xytvme".contains(c);
            assert!(json.chars().all(plain), "{payload:?}");
        }
    }
}

#[test]
fn the_policy_names_the_style_and_the_script_that_are_there() {
    use sha2::Digest;
    let html = page(&long(run_of("x")));
    let between = |open: &str, close: &str| {
        let inner = html.split(open).nth(1).and_then(|s| s.split(close).next());
        inner.expect("the report has it").to_owned()
    };
    for (text, directive) in [
        (between("<style>", "</style>"), "style-src 'sha256-"),
        (between("<script>", "</script>"), "script-src 'sha256-"),
    ] {
        let coded: String = sha2::Sha256::digest(text.as_bytes())
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(decode(&between(directive, "'")), coded, "{directive}");
    }
}

/// Base64 to hexadecimal.
fn decode(text: &str) -> String {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: String = text
        .chars()
        .filter_map(|c| ALPHABET.find(c))
        .map(|v| format!("{v:06b}"))
        .collect();
    bits.as_bytes()
        .chunks_exact(8)
        .map(|b| {
            let byte = std::str::from_utf8(b).expect("ASCII digits");
            format!(
                "{:02x}",
                u8::from_str_radix(byte, 2).expect("eight binary digits")
            )
        })
        .collect()
}

#[test]
fn the_size_is_bounded() {
    let mut run = run_of("LGWR-LAT1");
    run.rows = ["LGWR-LAT1", "LGWR-LAT25", "LGWR-LAT125", "LGWR-THR"]
        .iter()
        .flat_map(|w| (1..=36).map(move |j| row(w, j, 600, "x")))
        .collect();
    for i in 0..5_000 {
        run.validity
            .add("lost_event", false, format!("event {i} was lost"));
    }
    let html = page(&judged(run));
    if let Some(path) = std::env::var_os("BOUNDED_OUT") {
        std::fs::write(path, &html).expect("writes");
    }
    assert!(html.len() < 1 << 20, "{} bytes", html.len());
    assert!(html.contains("more</li>"), "what is left out is said");
}

#[test]
fn a_run_without_rows_is_shown() {
    let mut run = run_of("/redo");
    run.rows.clear();
    run.floor.clear();
    for run in [judged(run.clone()), run] {
        let html = page(&run);
        assert!(html.contains("No row was completed") && html.ends_with("</html>\n"));
        assert!(!html.contains("NaN") && !html.contains("inf "));
    }
}

#[test]
fn figures_that_are_not_numbers_do_no_harm() {
    let mut run = run_of("/redo");
    for row in &mut run.rows {
        row.commit_throughput_tps = Some(f64::NAN);
        row.commit_latency_ms = Some(f64::INFINITY);
        row.redo.get_or_insert_default().redo_data_mbps = Some(f64::NEG_INFINITY);
        row.intervals.iter_mut().for_each(|i| i.seconds = f64::NAN);
        row.commit_path.get_or_insert_default().queue_ns = f64::NAN;
        row.curves.insert(
            "log_file_sync".to_owned(),
            vec![(f64::NAN, u64::MAX), (200.0, 0)],
        );
    }
    let html = page(&judged(run));
    for part in ["=\"NaN", "=\"inf", "LNaN", "MNaN", ">NaN"] {
        assert!(!html.contains(part), "`{part}` is in the report");
    }
}

#[test]
fn the_floor_by_processor_is_shown_with_what_follows_from_it() {
    let mut run = run_of("LGWR-LAT25");
    if let TargetFacts::RedoLog(log) = &mut run.target.facts {
        log.log_writer_cpus.clear();
    }
    let run = judged(run);
    let html = page(&run);
    for part in [
        "The floor by processor",
        "not pinned",
        "arrive at processor 1.",
        "1.86 times as long as from processor 1",
        "--log-writer-cpu 1",
    ] {
        assert!(html.contains(part), "{part}");
    }
    let mut without = run;
    without.placement = None;
    assert!(!page(&without).contains("The floor by processor"));
}

#[test]
fn the_origin_stands_on_every_table_and_plot() {
    for (origin, word) in [
        (Origin::Measured, ">measured<"),
        (Origin::Simulated, ">simulated<"),
        (Origin::Imported, ">imported<"),
    ] {
        let mut run = judged(run_of("LGWR-LAT25"));
        run.origin = origin;
        let html = page(&run);
        let plots = html.matches("<figure ").count();
        assert!(plots >= 8, "{plots} plots");
        // Each plot, three tables and the header.
        assert!(html.matches(word).count() >= plots + 4, "{word}");
        assert!(html.contains("run invalid"));
    }
}

#[test]
fn published_platforms_stand_only_beside_log_file_sync() {
    let html = page(&judged(run_of("LGWR-LAT125")));
    for figure in html.split("<figure").skip(1) {
        let is_published = figure.contains("X9M-2");
        let caption = figure.split("</figcaption>").next().unwrap_or_default();
        assert_eq!(
            is_published,
            caption.contains(": log file sync<") && figure.contains("id=\"sy"),
            "{caption}"
        );
    }
}

#[test]
fn shares_are_not_rounded_to_all() {
    let html = page(&judged(run_of("x")));
    assert!(html.contains("&gt; 99.9 %") && !html.contains(">100 %<"));
}

#[test]
fn no_text_of_evidence_becomes_structure() {
    let plain = structure(&page(&evidence_of("plain")));
    for payload in payloads() {
        let html = page(&evidence_of(&payload));
        let shown: String = payload.chars().take(40).collect();
        assert_eq!(structure(&html), plain, "{shown:?} changed the structure");
        assert!(html.contains("imported"), "the origin stands in it");
    }
}
