//! Whether evidences of the same log agree, and what imported evidence says of hours and devices.
//! Traces, histograms, reports and `iostat` are made from one list of waits, so that they agree;
//! then one of them is altered.

use crate::generate::Seeded;
use crate::import;
use analysis::findings::{agreement, diagnosis};
use analysis::thresholds::Thresholds;
use measure::imported::{Cell, Imported, Table};
use measure::judgement::{Finding, Weight};
use std::fmt::Write as _;

/// Waits of one log writer in µs.
fn waits(seed: u64) -> Vec<u64> {
    let mut random = Seeded(seed);
    let mut waits: Vec<u64> = (0..4000).map(|_| random.whole(150, 900)).collect();
    waits.extend((0..40).map(|_| random.whole(1_100, 30_000)));
    waits
}

fn trace(waits: &[u64]) -> String {
    let mut text = "Trace file /t/orcl_lgwr_1.trc\nInstance name: orcl\n".to_owned();
    for us in waits {
        let _ = writeln!(
            text,
            "WAIT #0: nam='log file parallel write' ela= {us} files=1 blocks=4 requests=1 obj#=-1 tim=0"
        );
    }
    text
}

/// The event histogram of the same waits.
fn histogram(waits: &[u64]) -> String {
    let mut text = "EVENT                          WAIT_TIME_MILLI WAIT_COUNT\n\
                    ------------------------------ --------------- ----------\n"
        .to_owned();
    for power in 0..10 {
        let upper = 1_u64 << power;
        let lower = if power == 0 { 0 } else { upper / 2 };
        let is_in = |us: &&u64| (lower * 1000..upper * 1000).contains(*us);
        let count = waits.iter().filter(is_in).count();
        let _ = writeln!(
            text,
            "{:<30} {upper:>15} {count:>10}",
            "log file parallel write"
        );
    }
    text
}

fn table_of(imported: &Imported) -> Table {
    agreement::table(imported).expect("evidences to compare")
}

/// Rows of the table: quantity, and how the evidences relate.
fn relations(imported: &Imported) -> Vec<(String, String)> {
    let table = table_of(imported);
    let at = |key: &str| table.columns.iter().position(|c| c.key == key).expect(key);
    let (quantity, agreement) = (at("quantity"), at("agreement"));
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    let rows = table.rows.iter();
    rows.map(|row| (text(&row[quantity]), text(&row[agreement])))
        .collect()
}

#[test]
fn evidences_of_the_same_waits_agree() {
    for seed in 1..=20 {
        let waits = waits(seed);
        let imported = import(&[&trace(&waits), &histogram(&waits)]).imported;
        let relations = relations(&imported);
        assert!(relations.len() >= 6, "seed {seed}: {relations:?}");
        let all_agree = relations.iter().all(|(_, how)| how == "agree");
        assert!(all_agree, "seed {seed}: {relations:?}");
        assert_eq!(agreement::findings(&imported), [], "seed {seed}");
    }
}

#[test]
fn a_histogram_of_other_waits_is_found() {
    let waits = waits(1);
    // The same number of waits, but ten times as long.
    let slow: Vec<u64> = waits.iter().map(|us| us * 10).collect();
    let imported = import(&[&trace(&waits), &histogram(&slow)]).imported;
    let findings = agreement::findings(&imported);
    let claims: Vec<&str> = findings.iter().map(|f| f.claim.as_str()).collect();
    assert!(claims.iter().any(|c| c.contains("mean (ms)")), "{claims:?}");
    assert!(claims.iter().any(|c| c.contains("over 1 ms")), "{claims:?}");
    // Half of the waits is another window, which explains every difference.
    let half = &slow[..slow.len() / 2];
    let imported = import(&[&trace(&waits), &histogram(half)]).imported;
    assert_eq!(agreement::findings(&imported), []);
    let mean = relations(&imported)
        .into_iter()
        .find(|(q, _)| q.contains("mean"));
    assert_eq!(
        mean.map(|(_, how)| how).as_deref(),
        Some("differ, explained")
    );
}

/// Slow writes as the log writer warns of them, each under a stamp.
fn warnings(stamps: &[&str]) -> String {
    let mut text = "Trace file /t/orcl_lgwr_1.trc\n".to_owned();
    for stamp in stamps {
        let _ = write!(
            text,
            "*** {stamp}\nWarning: log write elapsed time 780ms, size 4KB\n"
        );
    }
    text
}

#[test]
fn slow_writes_that_no_histogram_has_are_found() {
    let waits = waits(3);
    let quick: Vec<u64> = waits.iter().map(|us| us / 40).collect();
    let slow = warnings(&["2026-03-12 10:00:00.000", "2026-03-12 11:00:00.000"]);
    let imported = import(&[&histogram(&quick), &slow]).imported;
    let findings = agreement::findings(&imported);
    let found = findings
        .iter()
        .find(|f| f.claim.contains("log writes over 500 ms"));
    assert!(found.is_some(), "{findings:#?}");
}

fn diagnosed(imported: &Imported) -> Vec<Finding> {
    diagnosis::of(imported, &Thresholds::default(), false)
}

fn only<'a>(findings: &'a [Finding], id: &str) -> Option<&'a Finding> {
    findings.iter().find(|f| f.id == id)
}

#[test]
fn a_nightly_peak_shows_in_warnings() {
    let nightly: Vec<String> = (1..=12)
        .map(|i| format!("2026-03-{:02} 02:{:02}:00.000", 10 + i % 4, 4 * i))
        .collect();
    let refs: Vec<&str> = nightly.iter().map(String::as_str).collect();
    let findings = diagnosed(&import(&[&warnings(&refs)]).imported);
    let peak = only(&findings, "diagnosis.peak_hour").expect("found");
    assert!(
        peak.claim.contains("12 of 12") && peak.claim.contains("02:00 and 03:00"),
        "{}",
        peak.claim
    );
    assert!(
        peak.claim.contains("something recurs at that hour") && !peak.claim.contains("job"),
        "{}",
        peak.claim
    );
    // The same number over all hours is no peak, and neither is one bad night.
    let spread: Vec<String> = (0..12)
        .map(|i| format!("2026-03-10 {:02}:00:00.000", 2 * i))
        .collect();
    let night: Vec<String> = (0..12)
        .map(|i| format!("2026-03-10 02:{:02}:00.000", 4 * i))
        .collect();
    for stamps in [spread, night] {
        let refs: Vec<&str> = stamps.iter().map(String::as_str).collect();
        let findings = diagnosed(&import(&[&warnings(&refs)]).imported);
        assert_eq!(only(&findings, "diagnosis.peak_hour"), None);
    }
}

/// A report of one hour that begins at `hour`, with a mean of the log writes.
fn hourly(hour: u32, mean_ms: f64) -> String {
    let waits = 60_000.0;
    format!(
        "WORKLOAD REPOSITORY report for\n\n\
         \x20             Snap Id      Snap Time      Sessions Curs/Sess\n\
         \x20           --------- ------------------- -------- ---------\n\
         Begin Snap:     {:>5} 15-Mar-26 {hour:02}:00:12       64       1.0\n\
         \x20 End Snap:     {:>5} 15-Mar-26 {:02}:00:12       64       1.0\n\
         \x20  Elapsed:            60.00 (mins)\n\n\
         Background Wait Events               DB/Inst: ORCL/orcl  Snaps: 100-101\n\n\
         \x20                                                            %Time       Total Wait      Avg   Waits   % bg\n\
         {:<45} {:>14} -outs         Time (s)     wait    /txn   time\n\
         {:-<45} {:-<14} ----- ---------------- -------- ------ ------\n\
         {:<45} {:>14} {:>5} {:>16.0} {:>6.2}ms {:>6.1} {:>6.1}\n",
        100 + hour,
        101 + hour,
        hour + 1,
        "Event",
        "Waits",
        "",
        "",
        "log file parallel write",
        "60,000",
        0,
        waits * mean_ms / 1e3,
        mean_ms,
        1.0,
        10.0
    )
}

#[test]
fn a_peak_of_one_hour_shows_among_reports() {
    let reports = |slow: &[u32]| -> Vec<String> {
        let mean = |hour| if slow.contains(&hour) { 9.0 } else { 0.7 };
        (0..12).map(|hour| hourly(hour, mean(hour))).collect()
    };
    let of = |texts: &[String]| {
        let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
        diagnosed(&import(&refs).imported)
    };
    let findings = of(&reports(&[2]));
    let peak = only(&findings, "diagnosis.peak_hour").expect("found");
    assert!(
        peak.claim.contains("1 of 12 reports") && peak.claim.contains("02:00"),
        "{}",
        peak.claim
    );
    assert_eq!(only(&of(&reports(&[])), "diagnosis.peak_hour"), None);
    let half: Vec<u32> = (0..6).collect();
    assert_eq!(only(&of(&reports(&half)), "diagnosis.peak_hour"), None);
}

/// `iostat` of a log's device beside another one.
fn iostat(samples: &[(f64, f64)]) -> String {
    let mut text = "Linux 5.15.0 (host)  11/15/2026  _x86_64_  (8 CPU)\n\n".to_owned();
    for (rate, wait) in samples {
        let _ = write!(
            text,
            "Device            w/s     wkB/s   w_await  aqu-sz  %util\n\
             sda              1.00      8.00      0.20    0.00   0.10\n\
             sdb         {rate:>9.2} {:>9.2} {wait:>9.2} {:>7.2} {:>6.2}\n\n",
            rate * 8.0,
            rate * wait / 1e3,
            (rate * wait / 10.0).min(100.0)
        );
    }
    text
}

#[test]
fn intervals_count_by_their_writes() {
    let mut samples = vec![(10.0, 0.5)];
    samples.extend((0..30).map(|_| (1000.0, 0.2)));
    // Hardly a write, and none at all.
    samples.extend((0..29).map(|_| (1.0, 50.0)));
    samples.push((0.0, 0.0));
    let mut imported = import(&[&iostat(&samples)]).imported;
    imported.log_device = Some("sdb".to_owned());
    let findings = diagnosed(&imported);
    let device = only(&findings, "diagnosis.log_device").expect("found");
    let each = device
        .numbers
        .iter()
        .find(|(name, _)| name == "write_await_ms");
    let exact = (30.0 * 200.0 + 29.0 * 50.0) / (30.0 * 1000.0 + 29.0);
    let (_, found) = each.expect("the mean wait of a write");
    assert!((found - exact).abs() < 1e-9, "{found} {exact}");
    assert_eq!(device.weight, Weight::Good, "{}", device.claim);
}

#[test]
fn an_excerpt_of_a_few_waits_is_not_compared() {
    let waits = waits(1);
    let few = [400, 500, 30_000];
    let imported = import(&[&trace(&few), &histogram(&waits)]).imported;
    assert_eq!(agreement::findings(&imported), []);
    let relations = relations(&imported);
    let is_it = |(_, how): &(String, String)| how == "not comparable";
    assert!(relations.iter().all(is_it), "{relations:?}");
}

#[test]
fn a_cap_shows_in_iostat_of_the_named_device() {
    // The first sample covers the time since boot.
    let mut capped = vec![(10.0, 0.5)];
    capped.extend((0..12).map(|i| (1000.0 + 100.0 * f64::from(i % 5), 0.6)));
    capped.extend((0..12).map(|_| (3000.0, 4.8)));
    let mut imported = import(&[&iostat(&capped)]).imported;
    // Two devices: which of them has the log is not known, and is said.
    let unknown = diagnosed(&imported);
    let device = only(&unknown, "diagnosis.log_device").expect("the one that is written");
    assert!(
        device
            .claim
            .contains("whether it holds the log is not known"),
        "{}",
        device.claim
    );
    assert_eq!(only(&unknown, "diagnosis.cap"), None);
    imported.log_device = Some("sdb".to_owned());
    let findings = diagnosed(&imported);
    let cap = only(&findings, "diagnosis.cap").expect("found");
    assert!(
        cap.claim.contains("12 of 24") && cap.claim.contains("3,000"),
        "{}",
        cap.claim
    );
    let device = only(&findings, "diagnosis.log_device").expect("found");
    assert!(device.claim.contains("24 intervals"), "{}", device.claim);
    // A busy device whose writes stay quick is not capped.
    let healthy: Vec<(f64, f64)> = capped.iter().map(|(rate, _)| (*rate, 0.6)).collect();
    let mut imported = import(&[&iostat(&healthy)]).imported;
    imported.log_device = Some("sdb".to_owned());
    let findings = diagnosed(&imported);
    assert_eq!(only(&findings, "diagnosis.cap"), None);
    let graver = |f: &&Finding| matches!(f.weight, Weight::Bad | Weight::Caution);
    assert_eq!(findings.iter().filter(graver).count(), 0, "{findings:#?}");
}

/// Snapshots of a histogram, of which the last two hold nothing more: what is compared holds waits.
#[test]
fn the_difference_that_holds_waits_is_compared() {
    let waits = waits(3);
    let (quiet, busy) = (histogram(&[]), histogram(&waits));
    let files = [&trace(&waits)[..], &quiet, &busy, &busy];
    let imported = import(&files).imported;
    let table = table_of(&imported);
    let shown = format!("{:?}", table.rows);
    assert!(shown.contains("snapshot 1 to snapshot 2"), "{shown}");
    assert!(!shown.contains("snapshot 2 to snapshot 3"), "{shown}");
    let relations = relations(&imported);
    assert!(
        relations.iter().all(|(_, how)| how == "agree"),
        "{relations:?}"
    );
    let count = Cell::Text("4,040".to_owned());
    let of_waits = table
        .rows
        .iter()
        .find(|row| row[0] == Cell::Text("log file parallel write: waits".to_owned()));
    let of_waits = of_waits.expect("both count");
    assert_eq!((&of_waits[2], &of_waits[4]), (&count, &count));
}

/// Two listings were subtracted, and nothing shows whether the instance was restarted.
#[test]
fn a_difference_of_listings_carries_a_doubt_about_a_restart() {
    let waits = waits(4);
    let half = histogram(&waits[..2000]);
    let found = |files: &[&str]| {
        let found = agreement::findings(&import(files).imported);
        found.into_iter().find(|f| f.id == "agreement.restart")
    };
    let doubt = found(&[&half, &histogram(&waits)]).expect("subtracted");
    assert!(
        doubt.claim.contains("snapshot 1 to snapshot 2"),
        "{}",
        doubt.claim
    );
    assert_eq!(doubt.weight, Weight::Caution);
    // One listing alone is not subtracted, and counts that fall are a restart that is seen.
    assert_eq!(found(&[&half]), None);
    assert_eq!(found(&[&histogram(&waits), &half]), None);
}
