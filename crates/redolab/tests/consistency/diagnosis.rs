//! What a diagnosis concludes of reports whose keys were written before its rules, and of five by a
//! reviewer who had not seen them.

#[path = "diagnosis/cases.rs"]
mod cases;
#[path = "diagnosis/cost.rs"]
mod cost;
#[path = "diagnosis/reviewed.rs"]
mod reviewed;

use crate::generate::Seeded;
use crate::import;
use analysis::thresholds::Thresholds;
use cases::{CASES, Case};
use measure::judgement::{Finding, Weight};
use std::fmt::Write as _;

/// Random reports of each case.
const PERTURBATIONS: u64 = 10;

fn diagnosis(text: &str) -> Vec<Finding> {
    let imported = import(&[text]).imported;
    analysis::findings::diagnosis::of(&imported, &Thresholds::default(), false)
}

fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// An AWR report of a case, whose load is `scale` times as large and lasted `scale` times as long.
fn report(case: &Case, scale: f64, random: Option<&mut Seeded>) -> String {
    let many = |n: u64| (n as f64 * scale).round() as u64;
    let minutes = 10.0 * scale;
    let mut text = format!(
        "WORKLOAD REPOSITORY report for\n\n\
         DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC\n\
         ------------ ----------- ------------ -------- --------------- ----------- ---\n\
         ORCL           123456789 orcl                1 01-Jan-13 10:00 11.2.0.3.0  NO\n\n\
         \x20  Elapsed:          {minutes:>8.2} (mins)\n\n\
         Host CPU (CPUs:    8 Cores:    8 Sockets:    8)\n\
         ~~~~~~~~         Load Average\n\
         \x20              Begin       End     %User   %System      %WIO     %Idle\n\
         \x20          --------- --------- --------- --------- --------- ---------\n\
         \x20               0.24      0.20{:>10.1}       0.0       0.0{:>10.1}\n\n",
        100.0 - case.idle_pct,
        case.idle_pct
    );
    events(&mut text, case, scale, random);
    text.push_str(
        "Instance Activity Stats              DB/Inst: ORCL/orcl  Snaps: 100-101\n\n\
         Statistic                                     Total     per Second     per Trans\n\
         -------------------------------- ------------------ -------------- -------------\n",
    );
    for (name, total) in case.statistics {
        let total = many(*total);
        let _ = writeln!(
            text,
            "{name:<32} {:>18} {:>14.1} {:>13.1}",
            grouped(total),
            total as f64 / (minutes * 60.0),
            1.0
        );
    }
    text.push_str(
        "          -------------------------------------------------------------\nEnd of Report\n",
    );
    text
}

/// The wait events of a report.
fn events(text: &mut String, case: &Case, scale: f64, mut random: Option<&mut Seeded>) {
    for (title, share, own, others) in [
        (
            "Foreground Wait Events",
            "% DB",
            ("log file sync", case.sync),
            case.foreground,
        ),
        (
            "Background Wait Events",
            "% bg",
            ("log file parallel write", case.write),
            case.background,
        ),
    ] {
        let _ = write!(
            text,
            "{title}               DB/Inst: ORCL/orcl  Snaps: 100-101\n\
             -> ordered by wait time desc, waits desc (idle events last)\n\n\
             \x20                                                            %Time       Total Wait      Avg   Waits   {share}\n\
             {:<45} {:>14} -outs         Time (s)     wait    /txn   time\n\
             {:-<45} {:-<14} ----- ---------------- -------- ------ ------\n",
            "Event", "Waits", "", ""
        );
        let mut events = vec![(own.0, own.1.0, own.1.1)];
        events.extend(others);
        if let Some(random) = random.as_deref_mut() {
            events.push(("SQL*Net message to client", random.whole(1, 100_000), 0.2));
            let at = random.whole(0, events.len() as u64 - 1) as usize;
            events.swap(0, at);
        }
        for (name, waits, seconds) in events {
            let (waits, seconds) = ((waits as f64 * scale).round() as u64, seconds * scale);
            let mean = seconds * 1e3 / waits as f64;
            let _ = writeln!(
                text,
                "{name:<45} {:>14} {:>5} {seconds:>16.0} {:>8} {:>6.1} {:>6.1}",
                grouped(waits),
                0,
                shown_mean(mean),
                1.0,
                10.0
            );
        }
        text.push('\n');
    }
}

/// As releases from 12.2 print a mean.
fn shown_mean(ms: f64) -> String {
    if ms < 1.0 {
        format!("{:.2}us", ms * 1e3)
    } else if ms < 1_000.0 {
        format!("{ms:.2}ms")
    } else {
        format!("{:.2}s", ms / 1e3)
    }
}

fn graver(findings: &[Finding]) -> Vec<&str> {
    let is_graver = |f: &&Finding| matches!(f.weight, Weight::Bad | Weight::Caution);
    let mut ids: Vec<&str> = findings
        .iter()
        .filter(is_graver)
        .map(|f| f.id.as_str())
        .collect();
    ids.sort_unstable();
    ids
}

#[test]
fn each_case_gets_its_key_and_nothing_else() {
    for case in CASES.iter().chain(reviewed::REVIEWED) {
        let text = report(case, 1.0, None);
        let found = diagnosis(&text);
        let claims: Vec<&str> = found.iter().map(|f| f.claim.as_str()).collect();
        assert_eq!(
            graver(&found),
            case.key,
            "{}: {claims:#?}\n{text}",
            case.name
        );
        assert!(
            found.iter().any(|f| f.id == "diagnosis.commit_wait"),
            "{}: it says what a commit's wait consists of",
            case.name
        );
    }
}

#[test]
fn other_loads_and_lengths_of_a_case_have_its_key() {
    for (number, case) in CASES.iter().chain(reviewed::REVIEWED).enumerate() {
        for seed in 0..PERTURBATIONS {
            let mut random = Seeded(seed * 1_000 + number as u64);
            let scale = random.between(0.5, 5.5);
            let text = report(case, scale, Some(&mut random));
            let found = diagnosis(&text);
            let claims: Vec<&str> = found.iter().map(|f| f.claim.as_str()).collect();
            assert_eq!(
                graver(&found),
                case.key,
                "{} seed {seed}: {claims:#?}\n{text}",
                case.name
            );
        }
    }
}

/// Figures are rounded and not cut, and writes of which few are commits are not shared.
#[test]
fn redo_per_commit_is_rounded_and_unshared_writes_are_no_group_commit() {
    let claim = |case: &Case, id: &str| {
        let found = diagnosis(&report(case, 1.0, None));
        let found = found.into_iter().find(|f| f.id == id);
        found.expect("the report has these figures").claim
    };
    let few = Case {
        statistics: &[
            ("redo size", 629_145_600),
            ("redo writes", 70_000),
            ("user commits", 30_800),
        ],
        ..CASES[0].clone()
    };
    // 20,426.8 bytes, and 0.44 commits per log write.
    let redo = claim(&few, "diagnosis.redo");
    assert!(redo.contains("20,427 bytes of redo per commit"), "{redo}");
    let group = claim(&few, "diagnosis.group_commit");
    assert!(
        group.starts_with("no group commit: 0.44 commits per log write"),
        "{group}"
    );
    let shared = claim(&CASES[0], "diagnosis.group_commit");
    assert!(
        shared.starts_with("1.10 commits share a log write"),
        "{shared}"
    );
}

/// What evidence does not contain is neither invented nor concluded from.
#[test]
fn a_report_without_the_log_writer_gets_no_diagnosis_of_it() {
    let whole = report(&CASES[0], 1.0, None);
    let without: String = whole
        .lines()
        .filter(|line| !line.starts_with("log file"))
        .map(|line| format!("{line}\n"))
        .collect();
    let ids: Vec<String> = diagnosis(&without).into_iter().map(|f| f.id).collect();
    // That it has no histogram of the waits is no conclusion about them.
    assert_eq!(
        ids,
        ["diagnosis.means_alone", "diagnosis.redo"],
        "{without}"
    );
}

/// The sum of a clock is no time that log writes took.
#[test]
fn slow_writes_of_a_listing_are_summed_unless_they_are_a_clock() {
    let rows = |latency: fn(u64) -> u64| {
        let lines = (0..8).map(|n| {
            format!(
                "{:>10} {:>12} {:>12}\n",
                32 + n,
                latency(n),
                1_394_629_089 + 40 * n * n
            )
        });
        let head = "select io_size, io_latency, timestamp from v$lgwrio_outlier;\n\n   IO_SIZE   IO_LATENCY    TIMESTAMP\n---------- ------------ ------------\n";
        format!("{head}{}\n8 rows selected.\n", lines.collect::<String>())
    };
    let of = |text: &str| {
        let found = diagnosis(text);
        assert_eq!(graver(&found), ["diagnosis.outliers"], "{found:#?}");
        found[0].clone()
    };
    let listed = of(&rows(|n| 510 + (n * 7919) % 400));
    assert_eq!(listed.numbers.len(), 3, "{listed:?}");
    assert!(
        listed.claim.contains("8 log writes were reported as slow"),
        "{}",
        listed.claim
    );
    let clock = of(&rows(|n| 2_694_340_698 + 400_000 * n * n));
    assert_eq!(clock.numbers, [("writes".to_owned(), 8.0)], "{clock:?}");
    assert!(clock.claim.contains("is a clock"), "{}", clock.claim);
}
