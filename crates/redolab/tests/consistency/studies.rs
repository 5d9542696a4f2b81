//! Every figure that the documents print as data, from their own lines, recomputed; and everything
//! in them that contradicts itself, found by rules that know no study.

use crate::{cell, findings_of, found, import, number, table};
use measure::imported::Cell;
use measure::judgement::Finding;

macro_rules! study {
    ($file:literal) => {
        include_str!(concat!("../../../../studies/", $file))
    };
}

fn near(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within, "{a} is not {b} within {within}");
}

#[test]
fn study_000_workers() {
    let out = import(&[study!("000/workers-130-134.txt")]);
    let t = table(&out, "worker_latency_published");
    let want = [
        (0.56, 0.02, 0.00, 13.66),
        (0.39, 0.01, 0.00, 13.44),
        (7.96, 0.07, 0.00, 13.05),
        (7.07, 0.08, 0.00, 13.00),
    ];
    for (i, (a, b, c, max)) in want.into_iter().enumerate() {
        assert_eq!(*cell(t, i, "process"), Cell::Text(format!("LG0{i}")));
        assert_eq!(number(t, i, "over_1ms_pct"), a);
        assert_eq!(number(t, i, "over_10ms_pct"), b);
        assert_eq!(number(t, i, "over_20ms_pct"), c);
        near(number(t, i, "max_ms"), max, 1e-9);
    }
}

#[test]
fn study_000_report() {
    let cpu = import(&[study!("000/host-cpu-155-171.txt")]);
    let t = table(&cpu, "host_cpu");
    let keys = [
        "load_average_begin",
        "load_average_end",
        "cpu_user_pct",
        "cpu_sys_pct",
    ];
    assert_eq!(keys.map(|k| number(t, 0, k)), [75.13, 114.68, 73.1, 5.1]);
    assert_eq!(number(t, 0, "cpu_iowait_pct"), 0.5);
    assert_eq!(number(t, 0, "cpu_idle_pct"), 21.2);
    let profile = import(&[study!("000/load-profile-175-185.txt")]);
    let t = table(&profile, "load_profile");
    assert_eq!([0, 1].map(|i| number(t, i, "per_second")), [160.0, 93.2]);
    assert_eq!(*cell(t, 2, "per_second"), Cell::Blank, "the page lost it");
    let foreground = import(&[study!("000/foreground-189-208.txt")]);
    let t = table(&foreground, "foreground_waits");
    assert_eq!(number(t, 0, "waits_per_txn"), 0.70);
    assert_eq!(number(t, 0, "db_time_pct"), 39.68);
    assert_eq!(*cell(t, 0, "waits"), Cell::Blank);
    let background = import(&[study!("000/background-212-239.txt")]);
    let t = table(&background, "background_waits");
    assert_eq!([0, 1].map(|i| number(t, i, "waits_per_txn")), [0.05, 0.03]);
    assert_eq!([0, 1].map(|i| number(t, i, "bg_time_pct")), [125.03, 94.05]);
    // More than all of the background's time, since it overlaps: no finding.
    assert!(findings_of(&background).is_empty());
    // The totals are lost; 14 commits share a log write by the waits of a transaction.
    let both = [
        study!("000/foreground-189-208.txt"),
        study!("000/background-212-239.txt"),
    ];
    let both = import(&[&both.join("\n")]).imported;
    let thresholds = analysis::thresholds::Thresholds::default();
    let all = analysis::findings::diagnosis::of(&both, &thresholds, false);
    near(
        found(&all, "diagnosis.group_commit", "commits_per_write"),
        14.0,
        1e-9,
    );
    let batch = import(&[study!("000/batch-294-295.txt")]);
    let t = table(&batch, "commit_modes");
    assert_eq!(*cell(t, 0, "mode"), Cell::Text("BATCH".to_owned()));
    assert_eq!(*cell(t, 1, "mode"), Cell::Text("NOWAIT".to_owned()));
}

#[test]
fn study_000_three_hours_are_four() {
    let out = import(&[study!("000/functions-252-271.txt")]);
    let t = table(&out, "iostat_by_function");
    assert_eq!(
        [0, 1].map(|i| number(t, i, "write_reqs_per_s")),
        [11574.37, 7746.17]
    );
    near(number(t, 0, "write_mb_per_s"), 342.071, 1e-9);
    near(number(t, 1, "write_mb_per_s"), 110.681, 1e-9);
    near(
        number(t, 0, "write_data_bytes"),
        4.7 * 1024_f64.powi(4),
        1.0,
    );
    let findings = findings_of(&out);
    near(
        found(&findings, "evidence.window", "implied_s") / 3600.0,
        4.0,
        0.05,
    );
    near(
        found(&findings, "evidence.window", "implied_decimal_s") / 3600.0,
        3.8,
        0.05,
    );
    assert_eq!(found(&findings, "evidence.window", "stated_s"), 10_800.0);
}

#[test]
fn study_000_longer_is_not_proportionally_the_same() {
    let out = import(&[study!("000/event-histograms.txt")]);
    let findings = findings_of(&out);
    near(
        found(&findings, "evidence.not_alike", "first_pct"),
        0.437,
        0.0005,
    );
    near(
        found(&findings, "evidence.not_alike", "second_pct"),
        0.495,
        0.0005,
    );
}

#[test]
fn study_000_latency_is_a_clock() {
    let parts = [
        study!("000/outliers-320-351.txt"),
        study!("000/outliers-355-384.txt"),
    ];
    let out = import(&parts);
    let rows = out.imported.tables.iter().filter(|t| t.id == "io_outliers");
    assert_eq!(rows.map(|t| t.rows.len()).collect::<Vec<_>>(), [14, 12]);
    let all = out.diagnostics.iter().find(|d| d.id == "outliers.not_all");
    assert!(all.is_some_and(|d| d.detail.contains("12 rows are here of 396")));
    let findings = findings_of(&out);
    near(
        found(&findings, "evidence.clock", "slope_per_s"),
        9999.99,
        0.01,
    );
    near(
        found(&findings, "evidence.clock", "r_squared"),
        0.999_999_999_9,
        1e-10,
    );
    assert_eq!(found(&findings, "evidence.clock", "rows"), 26.0);
    near(found(&findings, "evidence.clock", "tick_ms"), 0.1, 1e-5);
}

#[test]
fn study_001() {
    let out = import(&[study!("001/filetype-13-17.txt")]);
    let t = table(&out, "iostat_by_filetype");
    let want = [
        (170.0, 24582.0),
        (130.0, 3252.0),
        (168.0, 20506.0),
        (130.0, 3252.0),
    ];
    for (i, (mb, requests)) in want.into_iter().enumerate() {
        assert_eq!(number(t, i, "write_mb_per_s"), mb);
        assert_eq!(number(t, i, "write_reqs_per_s"), requests);
    }
    let out = import(&[study!("001/iostat-21-29.txt")]);
    // The page calls them SSD and HDD.
    let tables = out.imported.tables.iter().filter(|t| t.id == "iostat");
    let tables: Vec<_> = tables.collect();
    let titles: Vec<&str> = tables.iter().map(|t| t.title.as_str()).collect();
    assert_eq!(titles, ["iostat (SSD)", "iostat (HDD)"]);
    let keys = [
        "writes_per_s",
        "write_mb_per_s",
        "queue",
        "await_ms",
        "service_ms",
        "util_pct",
    ];
    assert_eq!(
        keys.map(|k| number(tables[0], 0, k)),
        [21357.33, 167.86, 1.51, 0.07, 0.02, 44.53]
    );
    assert_eq!(
        keys.map(|k| number(tables[1], 0, k)),
        [3343.0, 130.68, 3.25, 0.97, 0.25, 83.97]
    );
    // Sectors of 512 bytes: 16.10 and 80.06.
    let sizes = [0, 1].map(|i| number(tables[i], 0, "request_kb"));
    assert_eq!(sizes, [8.05, 40.03]);
    assert!(findings_of(&out).is_empty(), "they fit each other");

    let out = import(&[study!("001/top-events-33-43.txt")]);
    let tables: Vec<_> = out
        .imported
        .tables
        .iter()
        .filter(|t| t.id == "top_events")
        .collect();
    let keys = ["waits", "time_s", "avg_wait_ms", "db_time_pct"];
    assert_eq!(
        keys.map(|k| number(tables[0], 1, k)),
        [6_700_242.0, 4059.0, 1.0, 16.05]
    );
    assert_eq!(
        keys.map(|k| number(tables[1], 1, k)),
        [5_366_376.0, 12709.0, 2.0, 46.83]
    );
    assert_eq!(number(tables[0], 0, "time_s"), 19832.0);
    assert_eq!(number(tables[1], 0, "db_time_pct"), 52.53);
    let findings = findings_of(&out);
    near(found(&findings, "evidence.rounding", "a_ms"), 0.606, 0.0005);
    near(found(&findings, "evidence.rounding", "b_ms"), 2.368, 0.0005);
    near(found(&findings, "evidence.rounding", "ratio"), 3.9, 0.05);

    let out = import(&[study!("001/block-size-57-102.txt")]);
    let t = table(&out, "block_sizes");
    let bytes: Vec<f64> = (0..t.rows.len()).map(|i| number(t, i, "bytes")).collect();
    assert_eq!(bytes, [512.0, 512.0, 512.0, 512.0, 4096.0]);
}

#[test]
fn study_003_every_cell() {
    let out = import(&[study!("003/tables.tsv")]);
    let t = table(&out, "published_runs");
    assert_eq!((t.rows.len(), out.rows.len()), (97, 97));
    let platform = |name: &str| match name {
        "exadata-x5-2" => "5",
        "exadata-x9m-2-pmem" => "4",
        _ => "2",
    };
    let csv = study!("peakmarks-2021.csv");
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().expect("a heading").split(',').collect();
    let mut compared = 0;
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let text = |i: usize, key: &str| match cell(t, i, key) {
            Cell::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        let same = (0..t.rows.len()).find(|i| {
            text(*i, "run") == platform(cells[0])
                && text(*i, "test") == cells[1]
                && text(*i, "workload") == cells[2]
        });
        let row = same.unwrap_or_else(|| panic!("not found: {line}"));
        for (name, want) in names.iter().zip(&cells).skip(3) {
            assert_eq!(
                number(t, row, name).to_string().parse::<f64>(),
                want.parse(),
                "{line} {name}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 97 * 17);
    // Redo a second is redo a transaction times transactions, with MB of 1024 kB.
    let ratio = |i: usize| {
        let mb = number(t, i, "redo_data_mbps");
        let of =
            number(t, i, "redo_data_kb_per_txn") * number(t, i, "commit_throughput_tps") / 1024.0;
        (mb > 200.0).then_some(mb / of)
    };
    let ratios: Vec<f64> = (0..97).filter_map(ratio).collect();
    near(
        ratios.iter().sum::<f64>() / ratios.len() as f64,
        0.99996,
        0.0005,
    );
}

/// Both claims of a factor are ratios of last rows, cut to their digits.
fn claims_of_study_003(claims: &[&Finding]) {
    let of = |i: usize| {
        claims[i]
            .numbers
            .iter()
            .map(|(_, v)| *v)
            .collect::<Vec<_>>()
    };
    assert_eq!(claims.len(), 2);
    near(of(0)[0], 6.0, 0.0);
    let near_all = |of: &[f64], want: &[f64]| {
        assert_eq!(of.len(), want.len(), "{of:?}");
        of.iter().zip(want).for_each(|(a, b)| near(*a, *b, 0.006));
    };
    // The largest at equal jobs, of the last rows (which are the peaks of LAT1), by column.
    near_all(&of(0)[1..], &[8.25, 6.77, 4.95, 4.25]);
    near(of(1)[0], 4.0, 0.0);
    near_all(&of(1)[1..], &[4.95, 4.73, 2.01, 1.51]);
    for (claim, cut) in claims.iter().zip(["6.77", "4.73"]) {
        let (_, said) = claim
            .claim
            .split_once("matches, cut to its digits: ")
            .expect("matches");
        let said = said.split("larger ratios").next().unwrap_or_default();
        assert!(said.contains(cut) && said.contains("from"), "{said}");
    }
    // Two rows of LAT25 have such a ratio of log file sync.
    assert!(
        claims[0].claim.contains("2 of 24 ratios of single rows"),
        "{}",
        claims[0].claim
    );
}

#[test]
fn study_003_contradicts_itself() {
    let findings = findings_of(&import(&[study!("003/tables.tsv")]));
    let all = |id: &str| findings.iter().filter(|f| f.id == id).collect::<Vec<_>>();
    // Six headings with 21 names for 20 values, of two kinds.
    let headings = all("evidence.columns").into_iter();
    let headings: Vec<f64> = headings.map(|f| f.numbers[0].1).collect();
    assert_eq!(headings, [2.0, 4.0]);
    assert_eq!(found(&findings, "evidence.response_time", "lines"), 97.0);
    assert!(
        found(
            &findings,
            "evidence.response_time",
            "largest_difference_pct"
        ) < 1.0
    );
    near(
        found(&findings, "evidence.commit_mode", "log_file_sync_max_ms"),
        17.607,
        1e-9,
    );
    claims_of_study_003(&all("evidence.claim"));
    near(
        found(&findings, "evidence.claim_holds", "found"),
        1.47,
        0.005,
    );
    let exception = &all("evidence.claim_exception")[0].claim;
    assert!(
        exception.contains("2 jobs (180.0 against 201.0"),
        "{exception}"
    );
    let knees = all("evidence.knee");
    assert!(
        knees.len() == 1 && knees[0].claim.contains("X5-2") && knees[0].claim.contains("48 jobs")
    );
    let blocks: Vec<f64> = all("evidence.block_size")
        .iter()
        .map(|f| f.numbers[0].1)
        .collect();
    assert_eq!(blocks, [512.0, 512.0, 4096.0]);
    near(
        found(&findings, "evidence.wastage", "wastage_low_pct"),
        50.0,
        0.5,
    );
    near(
        found(&findings, "evidence.wastage", "wastage_high_pct"),
        54.0,
        0.5,
    );
    assert_eq!(all("evidence.wastage").len(), 1);
}

#[test]
fn study_004() {
    let out = import(&[study!("004/flash-logging-21-58.txt")]);
    let t = table(&out, "flash_log_change");
    let rows: Vec<[f64; 3]> = (0..3)
        .map(|i| ["before", "after", "change"].map(|k| number(t, i, k)))
        .collect();
    assert_eq!(rows[0], [32_669_310.0, 33_201_462.0, 532_152.0]);
    assert_eq!(rows[1], [7_318_741.0, 7_337_931.0, 19_190.0]);
    assert_eq!(rows[2], [774_146.0, 774_146.0, 0.0]);
    let t = table(&out, "r_summary");
    let keys = ["min", "q1", "median", "mean", "q3", "max"];
    assert_eq!(
        keys.map(|k| number(t, 0, k)),
        [1.0, 452.0, 500.0, 542.4, 567.0, 3999.0]
    );
    assert_eq!(
        keys.map(|k| number(t, 1, k)),
        [29.0, 435.0, 481.0, 508.7, 535.0, 3998.0]
    );
    assert_eq!(*cell(t, 0, "unit"), Cell::Text("us".to_owned()));
    let t = table(&out, "welch_t_test");
    let keys = [
        "t", "df", "p_value", "ci_low", "ci_high", "mean_x", "mean_y",
    ];
    let want = [
        263.2139,
        7_977_922.0,
        2.2e-16,
        33.43124,
        33.93285,
        542.3583,
        508.6763,
    ];
    assert_eq!(keys.map(|k| number(t, 0, k)), want);

    let findings = findings_of(&out);
    near(
        found(&findings, "evidence.percentage", "computed_pct"),
        3.48,
        0.005,
    );
    assert_eq!(found(&findings, "evidence.percentage", "stated_pct"), 3.8);
    near(
        found(&findings, "evidence.other_load", "flash_first_life_pct"),
        18.3,
        0.05,
    );
    near(
        found(&findings, "evidence.small_effect", "cohens_d_at_most"),
        0.19,
        0.005,
    );
    near(
        found(&findings, "evidence.small_effect", "difference_pct"),
        6.6,
        0.05,
    );
    assert_eq!(found(&findings, "evidence.ceiling", "ceiling"), 4000.0);
    // The interval from the printed digits differs in the fifth digit: rounding, no finding.
    assert!(findings.iter().all(|f| f.id != "evidence.interval"));
}

/// The claim that short transactions gain most follows from the tables, with where it does not.
#[test]
fn study_003_short_transactions_gain_most() {
    let tables = study!("003/tables.tsv");
    let said = |claim: &str| {
        let findings = findings_of(&import(&[&format!("{claim}\n{tables}")]));
        let is_it = |f: &&Finding| f.numbers.iter().any(|(name, _)| name == "exceptions");
        findings.iter().find(is_it).cloned()
    };
    let claim = "The new PMEM technology is particularly effective for short transactions.";
    let holds = said(claim).expect("the claim is judged");
    assert_eq!(holds.id, "evidence.claim_holds");
    let gains = holds.numbers.iter().map(|(_, value)| *value).take(4);
    for (found, want) in gains.zip([4.73, 2.01, 1.28, 1.48]) {
        near(found, want, 0.005);
    }
    let exception = "from LGWR-LAT125 to LGWR-THR it goes the other way (1.28 to 1.48)";
    assert!(holds.claim.contains(exception), "{}", holds.claim);
    let large = said("It is especially effective for large transactions.").expect("judged");
    assert_eq!(large.id, "evidence.claim");
    assert!(large.claim.contains("does not hold"), "{}", large.claim);
    for other in [
        "",
        "The cache is effective for short transactions of users.",
        "Most effective for short queries.",
    ] {
        assert!(said(other).is_none(), "{other}");
    }
}

/// `X9N-2` above a table of the run that is X9M-2 everywhere else.
#[test]
fn study_003_has_a_misprint() {
    let head = "Run\tTest\tWorkload\tNodes\tJobs\tCommit throughput [tps]\tCommit latency [ms]\tLogFile sync [ms]";
    let block = |name: &str, test: u32| {
        let rows = (0..3).map(|i| {
            format!(
                "4\t{}\tLGWR-LAT1\t2\t{}\t{}\t0.5\t0.3\n",
                test + i,
                2 << i,
                4000 << i
            )
        });
        format!("{name}\n\n{head}\n{}\n", rows.collect::<String>())
    };
    let misprints = |names: &[&str]| {
        let blocks = names
            .iter()
            .zip([100, 200, 300])
            .map(|(name, test)| block(name, test));
        let findings = findings_of(&import(&[&blocks.collect::<String>()]));
        let all = findings.into_iter().filter(|f| f.id == "evidence.misprint");
        all.map(|f| f.claim).collect::<Vec<String>>()
    };
    let found = misprints(&["Exadata X9M-2", "Exadata X9M-2", "Exadata X9N-2"]);
    assert!(
        matches!(found.as_slice(), [one] if one.contains("`Exadata X9N-2` is there once")),
        "{found:?}"
    );
    assert!(misprints(&["Exadata X9M-2", "Exadata X9M-2", "Exadata X9M-2"]).is_empty());
    // Other case, another generation, and what is written twice are no misprints.
    assert!(misprints(&["Exadata X9M-2", "Exadata x9M-2", "Exadata X8M-2"]).is_empty());
    assert!(misprints(&["Exadata X9M-2", "Exadata X9N-2", "Exadata X9N-2"]).is_empty());
}

/// The table of platforms by workload: the figures of the audit, and shares of the wait.
#[test]
fn study_003_platforms_by_workload() {
    let out = import(&[study!("003/tables.tsv")]);
    let peaks = analysis::findings::evidence::sweep_peaks(&out.imported).expect("a sweep");
    assert_eq!(peaks.rows.len(), 12, "three platforms, four workloads");
    let first = |key: &str| number(&peaks, 0, key);
    assert_eq!(
        *cell(&peaks, 0, "workload"),
        Cell::Text("LGWR-LAT1".to_owned())
    );
    assert_eq!([first("jobs"), first("commits_per_s")], [80.0, 367_848.0]);
    near(first("commits_per_write"), 367_848.0 / 26_908.0, 1e-9);
    near(
        first("bytes_per_write"),
        1.95 * 1024.0 * 367_848.0 / 26_908.0,
        1e-6,
    );
    let share = |platform: &str, workload: &str, key: &str| {
        let is_it = |i: &usize| {
            let text = |key: &str| match cell(&peaks, *i, key) {
                Cell::Text(text) => text.clone(),
                other => panic!("{other:?}"),
            };
            text("platform").contains(platform) && text("workload") == workload
        };
        number(&peaks, (0..12).find(is_it).expect("a line"), key)
    };
    near(
        share("X9M", "LGWR-LAT125", "sync_share_first_pct"),
        6.2,
        0.05,
    );
    near(share("x86", "LGWR-LAT1", "sync_share_pct"), 89.3, 0.05);
    assert!(
        analysis::findings::evidence::sweep_peaks(
            &import(&[study!("001/filetype-13-17.txt")]).imported
        )
        .is_none()
    );
}

/// S0's table of workers beside its event histogram: both agree, and an altered table does not.
#[test]
fn study_000_workers_and_histogram_agree() {
    let workers = study!("000/workers-130-134.txt");
    let histogram = study!("000/event-histograms.txt");
    let relations = |workers: &str| {
        let out = import(&[workers, histogram]);
        let table = analysis::findings::agreement::table(&out.imported).expect("both");
        let text = |row: usize, key: &str| match cell(&table, row, key) {
            Cell::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        let of = (0..table.rows.len())
            .filter(|row| text(*row, "evidence_b").contains("table of workers"));
        of.map(|row| (text(row, "quantity"), text(row, "agreement")))
            .collect::<Vec<_>>()
    };
    let agree = relations(workers);
    assert_eq!(agree.len(), 4, "{agree:?}");
    assert!(agree.iter().all(|(_, how)| how == "agree"), "{agree:?}");
    let longer = relations(&workers.replace("13.66ms", "63.66ms"));
    let differ: Vec<_> = longer.iter().filter(|(_, how)| how == "differ").collect();
    assert!(
        matches!(differ.as_slice(), [(what, _)] if what.contains("longest")),
        "{longer:?}"
    );
    let slower = relations(&workers.replace("0.39%", "5.39%").replace("0.56%", "5.56%"));
    assert!(slower.iter().any(|(_, how)| how == "differ"), "{slower:?}");
}

#[test]
fn study_001_says_that_its_sides_are_not_alike() {
    let table = study!("001/filetype-13-17.txt");
    let found = |text: &str| {
        let findings = findings_of(&import(&[&format!("{text}\n\n{table}")]));
        let found = findings.into_iter().find(|f| f.id == "evidence.unlike");
        found.map(|f| f.claim)
    };
    let said = found(
        "obviously there were 15 HDDs compared to 8 SSDs, and 512MB of cache compared to the 4GB on the array.",
    );
    let said = said.expect("it is said");
    assert!(
        said.contains("15 HDDs against 8 SSDs, 512MB of cache against 4GB"),
        "{said}"
    );
    for other in [
        "both had 8 SSDs compared to 8 HDDs",
        "it was 15 times faster compared to 8 times before",
        "redo on SSD compared to HDD",
        "",
    ] {
        assert_eq!(found(other), None, "{other}");
    }
}
