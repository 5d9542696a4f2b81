//! The report as a file: nothing of a run's text becomes markup, nothing is fetched, the size is
//! bounded, and runs without figures are shown too.

use analysis::{Thresholds, findings, report, verdict};
use measure::judgement::{Need, Scope};
use measure::run::*;
use measure::stack::{ControllerCache, Declaration, Layer, LayerKind, Protection, Stack};
use std::collections::BTreeMap;

fn stats(mean_ns: f64) -> WaitStats {
    WaitStats {
        count: 10_000,
        total_ns: (mean_ns * 1e4) as u64,
        mean_ns,
        min_ns: 1000,
        p50_ns: Some(mean_ns as u64),
        p99_ns: Some(mean_ns as u64 * 3),
        max_ns: mean_ns as u64 * 60,
        over_1ms_pct: 99.99,
        ..WaitStats::default()
    }
}

fn row(workload: &str, jobs: u32, seconds: u64, text: &str) -> Row {
    let interval = |i| Interval {
        t_s: i as f64,
        seconds: 1.0,
        commits: 900 + i,
        log_file_sync_mean_ns: 2e5,
        log_file_sync_max_ns: 3_000_000 + i,
        log_file_parallel_write_max_ns: 2_000_000 + i,
        ..Interval::default()
    };
    Row {
        workload: workload.to_owned(),
        nodes: 1,
        jobs,
        commit_throughput_tps: 1000.0 * f64::from(jobs),
        commit_latency_ms: 1.0,
        redo_data_mbps: 10.0,
        log_file_sync_ms: Some(0.2),
        elapsed_s: seconds as f64,
        elapsed_ns: seconds * 1_000_000_000,
        commits: 10_000,
        waits: BTreeMap::from([
            ("log_file_sync".to_owned(), stats(2e5)),
            ("log_file_parallel_write".to_owned(), stats(1e5)),
            (text.to_owned(), stats(1e5)),
        ]),
        curves: BTreeMap::from([(
            "log_file_sync".to_owned(),
            vec![
                (0.0, 1000),
                (50.0, 200_000),
                (99.9, 900_000),
                (100.0, 5_000_000),
            ],
        )]),
        commit_path: CommitPath {
            attributed: 5,
            queue_ns: 1e4,
            write_ns: 1e5,
            flush_ns: 5e4,
            wake_ns: 1e4,
        },
        flush_audit: Some(FlushAudit {
            status: AuditStatus::Missing,
            needed: 7,
            counted: Some(3),
            nfs: None,
            note: text.to_owned(),
        }),
        log_writer_switches: 2,
        workers: vec![Worker {
            name: text.to_owned(),
            log_file_parallel_write: stats(1e5),
            ..Worker::default()
        }],
        background_write_pct: Some(99.99),
        intervals: (1..=seconds).map(interval).collect(),
        ..Row::default()
    }
}

/// A stack of every kind of layer.
fn stack_of(text: &str) -> Stack {
    let some = || Some(text.to_owned());
    let layer = |kind| Layer {
        dev: some(),
        mount_point: some(),
        source: some(),
        options: vec![text.to_owned(), text.to_owned()],
        backing: some(),
        detail: some(),
        model: some(),
        write_cache: some(),
        integrity: some(),
        logical_block_bytes: Some(512),
        ..Layer::new(kind, text)
    };
    use LayerKind as K;
    let kinds = [
        K::Overlay,
        K::FileSystem,
        K::MemoryFileSystem,
        K::NetworkFileSystem,
        K::FuseFileSystem,
        K::Luks,
        K::DeviceMapper,
        K::Md,
        K::Loop,
        K::Zram,
        K::RamDisk,
        K::Partition,
        K::Disk,
    ];
    Stack {
        layers: kinds.map(layer).to_vec(),
        depths: vec![0; kinds.len()],
        hypervisor: some(),
        preload: some(),
        unknown: vec![text.to_owned()],
        controllers: vec![ControllerCache {
            name: text.to_owned(),
            protection: some(),
            ..ControllerCache::default()
        }],
        declared: vec![Declaration {
            protection: Protection::Plp,
            basis: text.to_owned(),
        }],
    }
}

/// A run in which every text is `text`.
fn run_of(text: &str) -> Run {
    let s = || text.to_owned();
    let some = || Some(text.to_owned());
    let mut validity = Validity::sound();
    validity.add(text, true, text);
    let floor = FloorRow {
        sync_method: s(),
        pre_written: true,
        write_bytes: 4096,
        writes_per_s: 1e4,
        latency: stats(1e5),
        write_mean_ns: 5e4,
        flush_mean_ns: 5e4,
    };
    Run {
        schema: s(),
        run_id: s(),
        created: s(),
        origin: Origin::Measured,
        redolab_version: s(),
        command: vec![s(), s()],
        target: Target {
            kind: s(),
            path: s(),
            stack: stack_of(text),
            sync_method: s(),
            redo_block_bytes: 512,
            io: s(),
            probe: vec![ProbeRow {
                sync_method: s(),
                io: s(),
                refused: some(),
                ..ProbeRow::default()
            }],
            fallbacks: vec![s()],
            ..Target::default()
        },
        workload: WorkloadInfo {
            names: vec![s()],
            log_writer: s(),
            log_writer_cpus: vec![0, 1],
            ..WorkloadInfo::default()
        },
        environment: Environment {
            kernel: s(),
            cpu_model: s(),
            hostname: s(),
            governor: some(),
            ..Environment::default()
        },
        rows: vec![
            row(text, 1, 5, text),
            row(text, 8, 5, text),
            row("LGWR-LAT1", 8, 5, text),
        ],
        floor: vec![floor],
        lab_overhead_ns: Some(2000.0),
        findings: Vec::new(),
        validity,
        need: Need::default(),
        verdict: None,
        report: some(),
        diagnostics: Vec::new(),
        imported: None,
    }
}

fn judged(mut run: Run) -> Run {
    let found = findings(&run, &Thresholds::default());
    let scope = Scope {
        not_judged: vec![run.run_id.clone()],
        ..Scope::default()
    };
    run.verdict = Some(verdict(&run, &found, &run.need, scope));
    run.findings = found;
    run
}

/// Tags by name, attributes included: what a parser would see as structure.
fn structure(html: &str) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    let body = html.split("<body>").nth(1).expect("the report has a body");
    for tag in body.split('<').skip(1) {
        let name: String = tag.chars().take_while(|c| !" >\n".contains(*c)).collect();
        *out.entry(name).or_insert(0) += 1;
    }
    out
}

fn payloads() -> Vec<String> {
    let mut out: Vec<String> = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "</title><script>x</script>",
        "</style><svg onload=alert(1)>",
        "]]><script>x</script>",
        "<!--",
        "--><b>",
        "&#x3c;script&#x3e;",
        "&lt;script&gt;",
        "&",
        "javascript:alert(1)",
        "<a href=\"javascript:alert(1)\">x</a>",
        "<iframe srcdoc='<b>'>",
        "<base href=//evil>",
        "<meta http-equiv=refresh content=0>",
        "<link rel=stylesheet href=//evil>",
        "</code></pre><h1>x",
        "</desc></svg><img src=x>",
        "`;alert(1)//",
        "${7*7}",
        "{{7*7}}",
        "\u{1b}[31mred\u{1b}[0m<b>",
        "\u{1b}]8;;http://evil\u{7}link\u{1b}]8;;\u{7}",
        "\u{0}<script>",
        "\u{202e}gnp.exe",
        "a\u{2028}b\u{2029}c",
        "\u{ff1c}script\u{ff1e}",
        "=cmd|' /C calc'!A0",
        "x\u{9b}31m",
    ]
    .map(str::to_owned)
    .to_vec();
    out.push("<b>".repeat(50_000));
    out
}

#[test]
fn no_text_becomes_structure() {
    let plain = structure(&report::html(&judged(run_of("plain"))));
    for payload in payloads() {
        let html = report::html(&judged(run_of(&payload)));
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
fn nothing_is_fetched_and_nothing_runs() {
    let html = report::html(&judged(run_of("http://example.org/x")));
    for part in [
        " src=",
        " href=",
        "@import",
        "url(",
        "<script",
        " style=",
        "javascript:",
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
    assert!(html.contains("default-src 'none'; style-src 'sha256-"));
}

#[test]
fn the_policy_names_the_style_that_is_there() {
    use sha2::Digest;
    let html = report::html(&run_of("x"));
    let style = html
        .split("<style>")
        .nth(1)
        .and_then(|s| s.split("</style>").next())
        .expect("the report has a style");
    let named = html
        .split("'sha256-")
        .nth(1)
        .and_then(|s| s.split('\'').next());
    let coded: String = sha2::Sha256::digest(style.as_bytes())
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(named.map(decode), Some(coded));
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
    let html = report::html(&judged(run));
    assert!(html.len() < 1 << 20, "{} bytes", html.len());
    assert!(html.contains("more</li>"), "what is left out is said");
}

#[test]
fn a_run_without_rows_is_shown() {
    let mut run = run_of("/redo");
    run.rows.clear();
    run.floor.clear();
    for run in [judged(run.clone()), run] {
        let html = report::html(&run);
        assert!(html.contains("No row was completed") && html.ends_with("</html>\n"));
        assert!(!html.contains("NaN") && !html.contains("inf "));
    }
}

#[test]
fn figures_that_are_not_numbers_do_no_harm() {
    let mut run = run_of("/redo");
    for row in &mut run.rows {
        row.commit_throughput_tps = f64::NAN;
        row.commit_latency_ms = f64::INFINITY;
        row.redo_data_mbps = f64::NEG_INFINITY;
        row.intervals.iter_mut().for_each(|i| i.seconds = f64::NAN);
        row.commit_path.queue_ns = f64::NAN;
        row.curves.insert(
            "log_file_sync".to_owned(),
            vec![(f64::NAN, u64::MAX), (200.0, 0)],
        );
    }
    let html = report::html(&judged(run));
    for part in ["=\"NaN", "=\"inf", "LNaN", "MNaN", ">NaN"] {
        assert!(!html.contains(part), "`{part}` is in the report");
    }
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
        let html = report::html(&run);
        let plots = html.matches("<svg").count();
        assert!(plots >= 8, "{plots} plots");
        // Each plot, three tables and the header.
        assert!(html.matches(word).count() >= plots + 4, "{word}");
        assert!(html.contains("run invalid"));
    }
}

#[test]
fn published_platforms_stand_only_beside_log_file_sync() {
    let html = report::html(&judged(run_of("LGWR-LAT125")));
    for figure in html.split("<figure").skip(1) {
        let is_published = figure.contains("X9M-2");
        let caption = figure.split("</figcaption>").next().unwrap_or_default();
        assert_eq!(
            is_published,
            caption.contains(": log file sync<"),
            "{caption}"
        );
    }
}

#[test]
fn shares_are_not_rounded_to_all() {
    let html = report::html(&judged(run_of("x")));
    assert!(html.contains("&gt; 99.9 %") && !html.contains(">100 %<"));
}

/// A run of evidence that has `text` in every place that a file can fill.
fn evidence_of(text: &str) -> Run {
    use measure::imported::{
        Axis, Cell, Column, Diagnostic, Imported, Point, Series, Severity, Source, Table,
    };
    let some = || text.to_owned();
    let mut run = run_of(text);
    run.origin = Origin::Imported;
    run.rows.truncate(1);
    run.diagnostics = vec![Diagnostic {
        severity: Severity::Warning,
        id: some(),
        file: some(),
        line: Some(1),
        column: Some(1),
        detail: some(),
        count: 1,
    }];
    run.imported = Some(Imported {
        sources: vec![Source {
            file: some(),
            kind: some(),
            packing: some(),
            facts: vec![(some(), some())],
            ..Source::default()
        }],
        tables: vec![Table {
            id: some(),
            title: some(),
            file: some(),
            columns: vec![Column {
                key: some(),
                heading: some(),
            }],
            rows: vec![vec![Cell::Text(some())]; 3],
            ..Table::default()
        }],
        series: vec![Series {
            row: 0,
            event: some(),
            axis: Axis::Sequence,
            width: 1.0,
            points: vec![Point {
                at: 1.0,
                count: 1,
                mean_ns: 5.0,
                max_ns: 5,
                blocks: 1,
            }],
        }],
    });
    run
}

#[test]
fn no_text_of_evidence_becomes_structure() {
    let plain = structure(&report::html(&evidence_of("plain")));
    for payload in payloads() {
        let html = report::html(&evidence_of(&payload));
        let shown: String = payload.chars().take(40).collect();
        assert_eq!(structure(&html), plain, "{shown:?} changed the structure");
        assert!(html.contains("imported"), "the origin stands in it");
    }
}
