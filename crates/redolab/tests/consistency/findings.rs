//! Each rule fires on figures that no study printed, with the arithmetic as expected, and all of
//! them stay silent on clean tables.

use crate::generate::listing::t_test;
use crate::generate::{self, DEFECTS, SWEEP, Seeded, defective, report, sweep_line};
use crate::{findings_of, found, import};
use analysis::findings::catalogue;
use std::collections::BTreeSet;

/// Finds in one text, whose findings have to be only those ids.
fn only(text: &str, ids: &[&str]) -> Vec<measure::judgement::Finding> {
    let findings = findings_of(&import(&[text]));
    let mut given: Vec<&str> = findings.iter().map(|f| f.id.as_str()).collect();
    given.dedup();
    let claims: Vec<&str> = findings.iter().map(|f| f.claim.as_str()).collect();
    assert_eq!(given, ids, "{claims:#?}\n{text}");
    findings
}

fn near(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within, "{a} is not {b} within {within}");
}

#[test]
fn silent_on_a_hundred_clean_sets_of_each_kind() {
    for seed in 0..100 {
        for made in generate::all(seed, 12) {
            let what = format!("{} {} seed {seed}", made.kind, made.layout);
            let out = import(&[&made.text]);
            let claims: Vec<String> = findings_of(&out).into_iter().map(|f| f.claim).collect();
            assert!(claims.is_empty(), "{what}: {claims:#?}\n{}", made.text);
            assert!(
                out.imported.tables.iter().any(|t| !t.rows.is_empty()),
                "{what}"
            );
        }
    }
}

#[test]
fn each_planted_contradiction_is_found_and_nothing_else() {
    for (name, kind, finding) in DEFECTS {
        for seed in 0..50 {
            let made = defective(name, seed).expect("a listed defect");
            let out = import(&[&made.text]);
            let what = format!("{name} seed {seed}");
            assert_eq!(out.imported.sources[0].kind, *kind, "{what}");
            let findings = findings_of(&out);
            let ids: Vec<&str> = findings.iter().map(|f| f.id.as_str()).collect();
            let claims: Vec<&str> = findings.iter().map(|f| f.claim.as_str()).collect();
            assert!(ids.contains(finding), "{what}: {claims:#?}\n{}", made.text);
            // A claim that holds but for a line says both, and the platform that is slower with
            // few jobs gains more than its jobs behind them.
            let both = ["evidence.claim_holds", "evidence.sweep_changed"];
            let also = |id: &str| *name == "claim-exception" && both.contains(&id);
            let others = ids.iter().filter(|id| *id != finding && !also(id));
            assert_eq!(others.count(), 0, "{what}: {claims:#?}\n{}", made.text);
        }
    }
}

/// Every check of the catalogue has a defect of its own.
#[test]
fn no_check_is_without_a_planted_contradiction() {
    let ids = catalogue::entries().map(|entry| entry.id);
    // Two evidences that disagree are made in `agreement`.
    let one = |id: &&str| id.starts_with("evidence.") && *id != "evidence.agreement";
    let checks: BTreeSet<&str> = ids.filter(one).collect();
    let planted = DEFECTS.iter().map(|(_, _, id)| *id);
    assert_eq!(checks, planted.collect());
}

#[test]
fn a_latency_that_is_a_clock() {
    let mut text = "IO_SIZE IO_LATENCY TIMESTAMP\n--- --- ---\n".to_owned();
    for i in 0..9_u64 {
        let at = 1_600_000_000 + i * i * 37;
        text += &format!("8 {} {at}\n", 5_000 + 250 * i * i * 37 + i % 2);
    }
    let findings = only(&text, &["evidence.clock"]);
    near(
        found(&findings, "evidence.clock", "slope_per_s"),
        250.0,
        0.01,
    );
    near(found(&findings, "evidence.clock", "tick_ms"), 4.0, 0.001);
}

#[test]
fn a_window_that_does_not_fit() {
    let good = report(60.0, 55.5, 2e6, 1.5, &mut Seeded(7));
    only(&good, &[]);
    let longer = good.replace("60.00 (mins)", "45.00 (mins)");
    let findings = only(&longer, &["evidence.window"]);
    near(
        found(&findings, "evidence.window", "implied_s"),
        3600.0,
        10.0,
    );
    assert_eq!(found(&findings, "evidence.window", "stated_s"), 2700.0);
}

#[test]
fn rounding_that_hides_a_ratio() {
    let page = "SLOW\nEvent Waits Time(s) Avg wait (ms) % DB time Wait Class\n\
        log file sync 1,000,000 4,400 4 50.00 Commit\n\nFAST\n\
        Event Waits Time(s) Avg wait (ms) % DB time Wait Class\nlog file sync 2,000,000 3,100 2 25.00 Commit\n";
    let findings = only(page, &["evidence.rounding"]);
    near(
        found(&findings, "evidence.rounding", "ratio"),
        1.55 / 4.4,
        1e-9,
    );
    near(
        found(&findings, "evidence.rounding", "printed_ratio"),
        0.5,
        1e-9,
    );
}

#[test]
fn averages_and_shares_that_do_not_follow() {
    let good = report(60.0, 55.5, 2e6, 1.5, &mut Seeded(9));
    let findings = only(&good.replace("  1.50 ", "  7.50 "), &["evidence.average"]);
    near(
        found(&findings, "evidence.average", "computed_ms"),
        1.5,
        0.001,
    );
    let page = "Event Waits Time(s) Avg wait (ms) % DB time Wait Class\n\
        DB CPU 1,000 40.00\nlog file sync 1,000,000 2,000 2 45.00 Commit\n";
    let findings = only(page, &["evidence.shares"]);
    near(
        found(&findings, "evidence.shares", "lowest_total_s"),
        2500.0,
        1e-6,
    );
    near(
        found(&findings, "evidence.shares", "highest_total_s"),
        2000.0 / 0.45,
        1e-6,
    );
}

#[test]
fn buckets_that_do_not_add_up() {
    let text = "Event                      Waits  <1ms  <2ms  <4ms  >4ms\n\
        -------------------------- ----- ----- ----- ----- -----\n\
        log file sync                 5K  50.0  20.0    .0   5.0\n";
    let findings = only(text, &["evidence.buckets"]);
    near(found(&findings, "evidence.buckets", "sum_pct"), 75.0, 1e-9);
}

#[test]
fn a_percentage_beside_its_formula() {
    let text =
        "FL_DISK_FIRST FLASHLOG 10 IO requests\nonly 9.5% of times (30-10)*100/(30-10+180)\n";
    let findings = only(text, &["evidence.percentage"]);
    assert_eq!(
        found(&findings, "evidence.percentage", "computed_pct"),
        10.0
    );
    only(&text.replace("9.5%", "10%"), &[]);
}

#[test]
fn a_counter_that_goes_back_and_another_load() {
    let text =
        "FL_FLASH_FIRST FLASHLOG 5,000 IO requests\nFL_FLASH_FIRST FLASHLOG 4,000 IO requests\n";
    let findings = only(text, &["evidence.counter_back"]);
    assert_eq!(found(&findings, "evidence.counter_back", "after"), 4000.0);
    let text = "FL_DISK_FIRST FLASHLOG 90,000 IO requests\nFL_FLASH_FIRST FLASHLOG 10,000 IO requests\n\
        FL_DISK_FIRST FLASHLOG 92,000 IO requests\nFL_FLASH_FIRST FLASHLOG 18,000 IO requests\n";
    let findings = only(text, &["evidence.other_load"]);
    assert_eq!(
        found(&findings, "evidence.other_load", "flash_first_pct"),
        80.0
    );
}

#[test]
fn samples_cut_at_a_ceiling() {
    let head = "   Min. 1st Qu.  Median    Mean 3rd Qu.    Max.\n";
    let text = format!(
        "> summary(a_ms)\n{head}1 20 30 35 40 199.9\n> summary(b_ms)\n{head}2 22 33 36 44 199.8\n"
    );
    let findings = only(&text, &["evidence.ceiling"]);
    assert_eq!(found(&findings, "evidence.ceiling", "ceiling"), 200.0);
    only(&text.replace("199.8", "187.3"), &[]);
    // Near each other, and no round number above.
    only(
        &text.replace("199.9", "173.9").replace("199.8", "173.8"),
        &[],
    );
}

#[test]
fn a_difference_that_is_significant_and_small() {
    let findings = only(
        &t_test(3e5, 101.0, 100.0, 9.0, 11.0),
        &["evidence.small_effect"],
    );
    // The bound holds for the true sizes and deviations, and is not far from the true effect.
    let bound = found(&findings, "evidence.small_effect", "cohens_d_at_most");
    let truth = 1.0 / (101_f64).sqrt();
    assert!((truth..1.03 * truth).contains(&bound), "{truth} {bound}");
    let least = found(&findings, "evidence.small_effect", "least_values_each");
    assert!((0.9 * 3e5..=3e5).contains(&least), "{least}");
    // Sizes that are no round numbers are not rounded.
    let odd = only(
        &t_test(1_050_000.0, 105.0, 100.0, 100.0, 100.0),
        &["evidence.small_effect"],
    );
    let least = found(&odd, "evidence.small_effect", "least_values_each");
    assert!((least / 1_050_000.0 - 1.0).abs() < 1e-3, "{least}");
    near(
        found(&odd, "evidence.small_effect", "cohens_d_at_most"),
        0.05,
        1e-4,
    );
    let good = t_test(400.0, 130.0, 100.0, 40.0, 50.0);
    only(&good, &[]);
    let line = good.lines().nth(3).expect("the interval");
    only(&good.replace(line, "11.1 33.3"), &["evidence.interval"]);
}

#[test]
fn a_queue_against_littles_law() {
    let text = "Device w/s wMB/s r/s w_await r_await aqu-sz %util\nsda 1000.00 9.00 0.00 5.00 0.00 1.20 50.00\n";
    let findings = only(text, &["evidence.queue"]);
    assert_eq!(found(&findings, "evidence.queue", "samples_off"), 1.0);
    assert!(
        findings[0].claim.contains("5.00 are in the queue"),
        "{}",
        findings[0].claim
    );
    only(&text.replace("1.20", "5.10"), &[]);
}

/// A sweep of one platform from lines of jobs, throughput, kB, share inside, bytes a block.
fn sweep(platform: &str, workload: &str, lines: &[(f64, f64, f64, f64, f64)]) -> String {
    let mut out = format!("{platform}\n2020\n\n{SWEEP}\n");
    for (i, (jobs, tps, kb, inside, block)) in lines.iter().enumerate() {
        out += &sweep_line(i as u32, workload, *jobs, *tps, *kb, *inside, *block);
        out.push('\n');
    }
    out + "\n"
}

#[test]
fn sweeps_against_themselves() {
    let base = |tps: [f64; 4], inside, block| {
        let jobs = [2.0, 8.0, 16.0, 32.0];
        let lines: Vec<_> = jobs
            .iter()
            .zip(tps)
            .map(|(j, t)| (*j, t, 10.0, inside, block))
            .collect();
        sweep("Box", "W", &lines)
    };
    let rising = [1000.0, 3000.0, 5000.0, 7000.0];
    only(&base(rising, 0.9, 480.0), &[]);
    let same = only(&base(rising, 1.0, 480.0), &["evidence.response_time"]);
    assert_eq!(found(&same, "evidence.response_time", "lines"), 4.0);
    let more = only(&base(rising, 1.25, 480.0), &["evidence.little"]);
    near(found(&more, "evidence.little", "busy"), 2.5, 0.01);
    let wasted = only(
        &base(rising, 0.9, 1300.0).replace("Box", "Disk"),
        &["evidence.wastage"],
    );
    near(
        found(&wasted, "evidence.wastage", "wastage_low_pct"),
        100.0 * (1.0 - 1300.0 / 2048.0),
        0.5,
    );
    let knee = only(
        &base([1000.0, 5000.0, 4900.0, 4800.0], 0.9, 480.0),
        &["evidence.knee"],
    );
    assert_eq!(found(&knee, "evidence.knee", "jobs"), 8.0);
    let full = only(&base(rising, 0.9, 5000.0), &["evidence.block_size"]);
    assert!(full[0].claim.contains("more than any redo block"));
    let modes = format!(
        "W\t[MBps]\tuses COMMIT WRITE NOWAIT BATCH.\n\n{}",
        base(rising, 0.9, 480.0)
    );
    let waiting = only(&modes, &["evidence.commit_mode"]);
    near(
        found(&waiting, "evidence.commit_mode", "synch_writes_per_txn"),
        1.0,
        1e-9,
    );
    only(&modes.replace("NOWAIT BATCH", "WAIT IMMEDIATE"), &[]);
}

#[test]
fn names_and_values_that_do_not_pair() {
    let lines = [
        (2.0, 1000.0, 40.0, 0.9, 480.0),
        (8.0, 3000.0, 40.0, 0.9, 480.0),
    ];
    let good = sweep("Box", "W", &lines);
    let one_more = good.replace("Commit latency [ms]", "Commit latency [ms]\tREDO MBps");
    let findings = only(&one_more, &["evidence.columns"]);
    assert_eq!(found(&findings, "evidence.columns", "failing_after"), 0.0);
    let out = import(&[&one_more]);
    assert_eq!(out.rows[1].commit_throughput_tps, Some(3000.0));
    assert_eq!(out.rows[1].redo().redo_data_kb_per_txn, Some(40.0));
    // As many names as values, two of them exchanged.
    let swapped = good
        .replace("REDO data [MBps]", "X")
        .replace("REDO data [kBpt]", "REDO data [MBps]")
        .replace("\tX\t", "\tREDO data [kBpt]\t");
    let findings = findings_of(&import(&[&swapped]));
    assert!(
        findings.iter().any(|f| f.id == "evidence.columns"),
        "{findings:#?}"
    );
}

#[test]
fn claims_against_the_table() {
    let jobs = [2.0, 8.0, 16.0, 32.0];
    let of = |platform: &str, tps: [f64; 4]| {
        let lines: Vec<_> = jobs
            .iter()
            .zip(tps)
            .map(|(j, t)| (*j, t, 10.0, 0.9, 480.0))
            .collect();
        sweep(platform, "W", &lines)
    };
    let tables = of("Rack one", [1000.0, 3000.0, 5000.0, 6000.0])
        + &of("Rack two", [2000.0, 7000.0, 14_000.0, 15_000.0]);
    let with = |claim: &str| format!("{tables}- {claim}\n");
    let holds = only(
        &with("commit throughput increases by up to a factor of 2.8"),
        &["evidence.claim_holds"],
    );
    near(found(&holds, "evidence.claim_holds", "found"), 2.8, 1e-9);
    only(
        &with("commit throughput increases by up to 150%"),
        &["evidence.claim_holds"],
    );
    let wrong = only(
        &with("commit latency decreases by up to a factor of 7"),
        &["evidence.claim"],
    );
    near(found(&wrong, "evidence.claim", "found_1"), 2.8, 0.01);
    let slower = tables.replace("2,000", "900").replace("0.900\t", "2.000\t");
    let text = format!("{slower}- commit throughput increases by up to a factor of 2.8\n");
    let findings = findings_of(&import(&[&text]));
    assert!(
        findings.iter().any(|f| f.id == "evidence.claim_exception"),
        "{findings:#?}"
    );
}

#[test]
fn processors_and_thresholds() {
    let text = "Host CPU\n\n10 12 60.0 20.0 0.5 40.0\n";
    let findings = only(text, &["evidence.cpu"]);
    near(found(&findings, "evidence.cpu", "sum_pct"), 120.5, 1e-9);
    let page =
        "Host CPU\n\n66.4 80 60.0 20.0 0.5 20.0\n\nThe report shows a load average around 66%\n";
    let findings = only(page, &["evidence.load_average"]);
    assert_eq!(
        found(&findings, "evidence.load_average", "cpu_busy_pct"),
        80.0
    );
    let table = "Log Writer Worker Over  1ms Over 10ms Over 20ms Max Elapsed\nLG00 0.50% 0.70% 0.00% 13.00ms\n";
    only(table, &["evidence.thresholds"]);
}

#[test]
fn histograms_that_are_not_alike() {
    let of = |counts: [u64; 3]| {
        let query = "select wait_time_milli, wait_count from v$event_histogram where event = 'log file sync'";
        let [a, b, c] = counts;
        format!("{query}\n--------------- ----------\n1 {a}\n2 {b}\n4 {c}\n\n")
    };
    let first = of([90_000, 9_000, 1_000]);
    let other = only(
        &(first.clone() + &of([1_700_000, 280_000, 20_000])),
        &["evidence.not_alike"],
    );
    near(found(&other, "evidence.not_alike", "first_pct"), 10.0, 1e-9);
    near(
        found(&other, "evidence.not_alike", "second_pct"),
        15.0,
        1e-9,
    );
    only(&(first + &of([1_800_500, 179_700, 19_800])), &[]);
}
