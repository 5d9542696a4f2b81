//! What a faster log could give back, and what a standby costs: share of DB time, bounds, all
//! storage against the log's device.

use super::cases::{CASES, Case, Event};
use super::{diagnosis, report};
use crate::generate::Seeded;
use measure::judgement::{Finding, Weight};

const REMOTE: &str = "SYNC Remote Write";

fn healthy() -> Case {
    CASES[0].clone()
}

fn of<'a>(all: &'a [Finding], id: &str) -> Option<&'a Finding> {
    all.iter().find(|finding| finding.id == id)
}

fn number(finding: &Finding, name: &str) -> f64 {
    let found = finding.numbers.iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("no {name}: {finding:?}")).1
}

/// Histograms of 11.2, in percent of the waits: the log write under 1 ms, the standby's 1 to 4 ms.
const HISTOGRAMS: &str = "Wait Event Histogram                    DB/Inst: ORCL/orcl  Snaps: 100-101\n\n\
    \x20                                                   % of Waits\n\
    \x20                                -----------------------------------------------\n\
    \x20                          Total\n\
    Event                      Waits  <1ms  <2ms  <4ms  <8ms <16ms <32ms  <=1s   >1s\n\
    -------------------------- ----- ----- ----- ----- ----- ----- ----- ----- -----\n\
    SYNC Remote Write          70.0K   5.0  50.0  45.0\n\
    log file parallel write    70.0K  96.0   3.0    .5    .5\n\
    \x20         -------------------------------------------------------------\n";

#[test]
fn a_standby_costs_between_its_bounds() {
    let case = Case {
        background: &[(REMOTE, 70_000, 140.0)],
        ..healthy()
    };
    let text = report(&case, 1.0, None);
    let all = diagnosis(&text);
    let standby = of(&all, "diagnosis.standby").expect("a standby");
    assert!(
        standby
            .claim
            .contains("2.00 ms for the standby (SYNC Remote Write)")
            && standby.claim.contains("from 1.60 to 2.00 ms longer"),
        "{standby:?}"
    );
    assert!(
        !standby.claim.contains("independent"),
        "no histograms: {standby:?}"
    );
    let with = text.replace(
        "Instance Activity Stats",
        &format!("{HISTOGRAMS}\nInstance Activity Stats"),
    );
    let all = diagnosis(&with);
    let standby = of(&all, "diagnosis.standby").expect("a standby");
    let independent = number(standby, "adds_if_independent_ms");
    // Of 100 log writes 1 is longer than the standby: about a hundredth of some ms.
    assert!((1.60..1.75).contains(&independent), "{standby:?}");
    assert_eq!(standby.weight, Weight::Info);
}

/// Pairs of times of all kinds, correlated ones included: what the standby really added is within
/// the bounds that the report's means give.
#[test]
fn bounds_hold_in_a_thousand_draws() {
    let mut random = Seeded(31);
    for draw in 0..1_000 {
        let mut uniform = || random.unit().max(1e-9);
        let (base, wire, shared) = (uniform() * 3.0, uniform() * 3.0, uniform());
        let (mut local, mut remote, mut longer) = (0.0, 0.0, 0.0);
        for _ in 0..100 {
            let stall = if uniform() < 0.05 {
                20.0 * uniform()
            } else {
                0.0
            };
            let of_remote = if uniform() < shared { stall } else { 0.0 };
            let (l, r) = (
                base * (0.2 - uniform().ln()) + stall,
                wire * (0.2 - uniform().ln()) + of_remote,
            );
            (local, remote, longer) = (local + l, remote + r, longer + l.max(r));
        }
        let remote_event: &'static [Event] = Box::leak(Box::new([(REMOTE, 100_000, remote)]));
        let case = Case {
            write: (100_000, local),
            sync: (100_000, 3.0 * longer),
            background: remote_event,
            ..healthy()
        };
        let all = diagnosis(&report(&case, 1.0, None));
        let standby = of(&all, "diagnosis.standby").expect("a standby");
        let added = (longer - local) / 100.0;
        let [low, high] = ["adds_at_least_ms", "adds_at_most_ms"].map(|name| number(standby, name));
        // Seconds are printed without digits behind the point, means with two.
        let off = 0.011;
        assert!(
            low - off <= added && added <= high + off,
            "draw {draw}: {added} is not within {low} and {high}"
        );
    }
}

#[test]
fn an_asynchronous_standby_is_not_in_the_commit() {
    let case = Case {
        background: &[
            ("LNS wait on SENDREQ", 70_000, 140.0),
            ("LNS ASYNC end of log", 1_000, 500.0),
        ],
        sync: (76_800, 400.0),
        ..healthy()
    };
    let all = diagnosis(&report(&case, 1.0, None));
    let standby = of(&all, "diagnosis.standby").expect("a word of it");
    assert!(
        standby.claim.contains("is no part of a commit") && standby.numbers.is_empty(),
        "{standby:?}"
    );
    assert!(of(&all, "diagnosis.remote_write").is_none(), "{all:?}");
    // Nothing names its transport, and it takes longer than a commit.
    let longer = Case {
        background: &[("LNS wait on SENDREQ", 70_000, 1_400.0)],
        ..case.clone()
    };
    let all = diagnosis(&report(&longer, 1.0, None));
    assert!(of(&all, "diagnosis.remote_write").is_none(), "{all:?}");
    let synchronous = Case {
        background: &[("LNS wait on SENDREQ", 70_000, 140.0)],
        ..case
    };
    let all = diagnosis(&report(&synchronous, 1.0, None));
    assert!(of(&all, "diagnosis.remote_write").is_some(), "{all:?}");
    // The log writer waits for the process that sends: the same seconds are not counted twice.
    let both = Case {
        background: &[
            ("LNS wait on SENDREQ", 70_000, 140.0),
            ("LGWR-LNS wait on channel", 70_000, 147.0),
        ],
        ..synchronous
    };
    let all = diagnosis(&report(&both, 1.0, None));
    let standby = of(&all, "diagnosis.standby").expect("a standby");
    assert!(
        (number(standby, "remote_ms") - 2.1).abs() < 0.01,
        "{standby:?}"
    );
}

#[test]
fn a_slow_log_is_told_from_slow_storage() {
    let slow = Case {
        write: (70_000, 1_400.0),
        sync: (76_800, 2_000.0),
        ..healthy()
    };
    let all = diagnosis(&report(&slow, 1.0, None));
    let storage = of(&all, "diagnosis.storage").expect("others are known");
    assert!(storage.claim.contains("alone is slow"), "{storage:?}");
    let everything = Case {
        foreground: &[("db file sequential read", 14_120, 240.0)],
        background: &[
            ("db file parallel write", 20_000, 700.0),
            ("control file parallel write", 700, 12.0),
        ],
        ..slow.clone()
    };
    let all = diagnosis(&report(&everything, 1.0, None));
    let storage = of(&all, "diagnosis.storage").expect("others are known");
    assert!(
        storage.weight == Weight::Caution && storage.claim.contains("storage as a whole"),
        "{storage:?}"
    );
    let some = Case {
        foreground: &[("db file sequential read", 14_120, 7.0)],
        ..everything
    };
    let all = diagnosis(&report(&some, 1.0, None));
    assert!(
        of(&all, "diagnosis.storage").is_none(),
        "some are slow, some not: {all:?}"
    );
    let all = diagnosis(&report(&healthy(), 1.0, None));
    assert!(of(&all, "diagnosis.storage").is_none(), "{all:?}");
}

/// Commits that are hardly any of DB time are said to be no problem before anything else is.
#[test]
fn commits_that_are_little_of_db_time_are_no_problem() {
    let slow = Case {
        write: (70_000, 1_400.0),
        sync: (76_800, 2_000.0),
        ..healthy()
    };
    let text = report(&slow, 1.0, None);
    let share = |pct: &str| {
        let line = text.lines().find(|line| line.starts_with("log file sync"));
        let line = line.expect("its line");
        let other = format!(
            "{} {pct:>6}",
            line.trim_end().trim_end_matches("10.0").trim_end()
        );
        let all = diagnosis(&text.replace(line, &other));
        of(&all, "diagnosis.db_time").expect("a share").clone()
    };
    let small = share(".8");
    assert!(
        small
            .claim
            .contains("0.8 % of DB time: they are not what makes this database slow"),
        "{small:?}"
    );
    let large = share("45.0");
    assert!(!large.claim.contains("not what"), "{large:?}");
}
