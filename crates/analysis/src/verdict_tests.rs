//! Combinations of axes, and the sentence for a ticket.

use super::*;
use crate::findings::findings;
use crate::findings::fixture::{clean_run, set_sync};
use crate::thresholds::Thresholds;
use measure::run::ServerFigures;
use measure::stack::{Layer, LayerKind};

fn judge(run: &Run) -> Verdict {
    let found = findings(run, &Thresholds::default());
    verdict(run, &found, &run.need, Scope::default())
}

fn with_fs(run: &mut Run, layer: Layer) {
    run.target.stack.layers.insert(0, layer);
    run.target.stack.depths.insert(0, 0);
}

use Answer as A;
use Durability as D;
use Performance as P;

type Case = (&'static str, fn(&mut Run), A, D, P);

#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn met_or_missed() -> Vec<Case> {
    vec![
        ("clean", |_| {}, A::Yes, D::Declared, P::NoNeedStated),
        (
            "need met",
            |r| r.need.commit_rate = Some(1e4),
            A::Yes,
            D::Declared,
            P::Meets,
        ),
        (
            "no headroom",
            |r| r.need.commit_rate = Some(39e3),
            A::Conditional,
            D::Declared,
            P::Marginal,
        ),
        (
            "missed",
            |r| r.need.commit_rate = Some(1e6),
            A::No,
            D::Declared,
            P::Misses,
        ),
        (
            "redo rate met",
            |r| r.need.redo_bytes_per_s = Some(5e8),
            A::Yes,
            D::Declared,
            P::Meets,
        ),
        (
            "redo rate without headroom",
            |r| r.need.redo_bytes_per_s = Some(8e8),
            A::Conditional,
            D::Declared,
            P::Marginal,
        ),
        (
            "p99 met",
            |r| r.need.p99_ns = Some(1_000_000),
            A::Yes,
            D::Declared,
            P::Meets,
        ),
        (
            "p99 without headroom",
            |r| r.need.p99_ns = Some(210_000),
            A::Conditional,
            D::Declared,
            P::Marginal,
        ),
        (
            "p99 missed",
            |r| r.need.p99_ns = Some(100_000),
            A::No,
            D::Declared,
            P::Misses,
        ),
        (
            "commits within p99",
            |r| (r.need.commit_rate, r.need.p99_ns) = (Some(6e3), Some(210_000)),
            A::Yes,
            D::Declared,
            P::Meets,
        ),
        (
            "one of two missed",
            |r| {
                (r.need.commit_rate, r.need.redo_bytes_per_s) = (Some(1e4), Some(1e12));
            },
            A::No,
            D::Declared,
            P::Misses,
        ),
    ]
}

fn unproven() -> Vec<Case> {
    vec![
        (
            "virtual machine",
            |r| r.target.stack.hypervisor = Some("KVM".into()),
            A::Conditional,
            D::Unverified,
            P::NoNeedStated,
        ),
        (
            "virtual machine, need met",
            |r| {
                (r.target.stack.hypervisor, r.need.commit_rate) = (Some("KVM".into()), Some(1e4));
            },
            A::Conditional,
            D::Unverified,
            P::Meets,
        ),
        (
            "tmpfs",
            |r| with_fs(r, Layer::new(LayerKind::MemoryFileSystem, "tmpfs")),
            A::No,
            D::Volatile,
            P::NoNeedStated,
        ),
        (
            "tmpfs and invalid",
            |r| {
                with_fs(r, Layer::new(LayerKind::MemoryFileSystem, "tmpfs"));
                r.validity.add("io_error", true, "EIO.");
            },
            A::No,
            D::Volatile,
            P::NoNeedStated,
        ),
    ]
}

fn unbelieved() -> Vec<Case> {
    vec![
        (
            "invalid",
            |r| r.validity.add("io_error", true, "EIO."),
            A::Undetermined,
            D::Declared,
            P::NoNeedStated,
        ),
        (
            "doubtful",
            |r| r.validity.add("clock_step", false, "Step."),
            A::Undetermined,
            D::Declared,
            P::NoNeedStated,
        ),
        (
            "simulated",
            |r| r.origin = Origin::Simulated,
            A::Undetermined,
            D::Declared,
            P::NoNeedStated,
        ),
        (
            "no rows",
            |r| r.rows.clear(),
            A::Undetermined,
            D::Declared,
            P::NoNeedStated,
        ),
        (
            "need without its workload",
            |r| {
                r.need.commit_rate = Some(1e4);
                r.rows.retain(|row| row.workload != "LGWR-LAT1");
                let mut other = r.rows[0].clone();
                other.workload = "LGWR-LAT25".to_owned();
                r.rows.push(other);
            },
            A::Undetermined,
            D::Declared,
            P::Marginal,
        ),
        (
            "need of the one workload that ran",
            |r| {
                r.need.commit_rate = Some(1e4);
                r.rows.retain(|row| row.workload != "LGWR-LAT1");
            },
            A::No,
            D::Declared,
            P::Misses,
        ),
    ]
}

fn slow() -> Vec<Case> {
    vec![
        (
            "slow without a need",
            |r| {
                for w in r
                    .rows
                    .iter_mut()
                    .filter_map(|r| r.waits.get_mut("log_file_parallel_write"))
                {
                    w.mean_ns = 25e6;
                }
            },
            A::No,
            D::Declared,
            P::NoNeedStated,
        ),
        (
            "slow, but the need is met",
            |r| {
                r.need.commit_rate = Some(1e4);
                for w in r
                    .rows
                    .iter_mut()
                    .filter_map(|r| r.waits.get_mut("log_file_parallel_write"))
                {
                    w.mean_ns = 25e6;
                }
            },
            A::Conditional,
            D::Declared,
            P::Meets,
        ),
        (
            "flat flush takes a declaration's force",
            |r| r.floor[3].flush_mean_ns = 1e5,
            A::Conditional,
            D::Unverified,
            P::NoNeedStated,
        ),
    ]
}

#[test]
fn the_answer_is_the_worse_of_two_axes() {
    let tables = [met_or_missed, unproven, unbelieved, slow];
    let cases = tables.iter().flat_map(|table| table());
    for (name, change, answer, durability, performance) in cases {
        let mut run = clean_run();
        change(&mut run);
        let v = judge(&run);
        assert_eq!(
            (v.answer, v.durability, v.performance),
            (answer, durability, performance),
            "{name}: {}",
            v.summary
        );
        assert!(
            v.summary.ends_with('.') && !v.summary.contains(".."),
            "{name}: {}",
            v.summary
        );
    }
}

#[test]
fn a_power_test_decides_durability() {
    let mut run = clean_run();
    run.target.stack.hypervisor = Some("KVM".into());
    let mut found = findings(&run, &Thresholds::default());
    let mut made = found.first().expect("a finding").clone();
    (made.id, made.weight) = (TESTED.to_owned(), Weight::Good);
    found.push(made.clone());
    let tested = verdict(&run, &found, &run.need, Scope::default());
    assert_eq!(
        (tested.answer, tested.durability),
        (Answer::Yes, Durability::Tested)
    );
    (made.id, made.weight) = (REFUTED.to_owned(), Weight::Bad);
    found.push(made);
    let refuted = verdict(&run, &found, &run.need, Scope::default());
    assert_eq!(
        (refuted.answer, refuted.durability),
        (Answer::No, Durability::Refuted)
    );
}

#[test]
fn the_summary_fits_a_ticket() {
    let mut run = clean_run();
    assert_eq!(
        judge(&run).summary,
        "Yes: acknowledged commits survive power loss (declared, by the drive's own report); up to 40,000 commits/s at p99 \
         under 1 ms; up to 900 MB/s of redo."
    );
    run.target.stack.hypervisor = Some("KVM".into());
    assert_eq!(
        judge(&run).summary,
        "Conditional: durability is unverified until a power test; up to 40,000 commits/s at p99 \
         under 1 ms; up to 900 MB/s of redo."
    );
    run.need.commit_rate = Some(50_000.0);
    assert_eq!(
        judge(&run).summary,
        "No: 50,000 commits/s are needed, LGWR-LAT1 reached 40,000 with 8 jobs: misses the need \
         (-20 %)."
    );
    run.validity
        .add("io_error", true, "write of 4096 bytes failed with EIO.");
    assert_eq!(
        judge(&run).summary,
        "Undetermined: Invalid: write of 4096 bytes failed with EIO."
    );
}

#[test]
fn figures_in_doubt_are_said_as_such_and_wrong_ones_not_at_all() {
    let mut run = clean_run();
    run.validity.add("clock_step", false, "the clock stepped.");
    assert_eq!(
        judge(&run).summary,
        "Undetermined: Doubtful: the clock stepped. Doubtful figures: up to 40,000 \
         commits/s at p99 under 1 ms; up to 900 MB/s of redo."
    );
    run.validity.add("io_error", true, "EIO.");
    assert!(!judge(&run).summary.contains("commits/s"));
}

#[test]
fn what_was_not_run_is_said_once() {
    let mut run = clean_run();
    run.floor.clear();
    let scope = Scope {
        not_judged: vec!["LGWR-LAT25: not run".to_owned()],
        ..Scope::default()
    };
    let found = findings(&run, &Thresholds::default());
    let v = verdict(&run, &found, &run.need, scope);
    let times = |text: &str| {
        v.scope
            .not_judged
            .iter()
            .filter(|n| n.contains(text))
            .count()
    };
    assert_eq!(
        (times("LGWR-LAT25"), times("LGWR-LAT125"), times("LGWR-THR")),
        (1, 1, 0)
    );
    assert_eq!(
        (times("not measured"), times("power test"), times("soak")),
        (1, 1, 1)
    );
}

#[test]
fn reasons_against_come_first() {
    let mut run = clean_run();
    run.target.stack.hypervisor = Some("KVM".into());
    run.need.commit_rate = Some(1e6);
    set_sync(&mut run.rows[0], |w| w.outliers = 1);
    let order: Vec<Weight> = judge(&run).reasons.iter().map(|f| f.weight).collect();
    let first_good = order
        .iter()
        .position(|w| *w == Weight::Good)
        .expect("a good one");
    assert_eq!(order.first(), Some(&Weight::Bad));
    assert!(order.iter().skip(first_good).all(|w| *w <= Weight::Good));
}

/// A server's waits are recorded by nobody: its commits are judged by their latency, its redo by
/// what its log grows by.
#[test]
fn a_server_is_judged_by_its_own_commits_and_redo() {
    let server = |change: fn(&mut Run)| {
        let mut run = clean_run();
        for row in &mut run.rows {
            row.commit_latency = row.waits.remove("log_file_sync");
            row.waits.clear();
            row.redo = None;
            row.server = Some(ServerFigures {
                redo_per_commit_bytes: Some(2_048.0),
                ..ServerFigures::default()
            });
        }
        change(&mut run);
        let found = findings(&run, &Thresholds::default());
        verdict(&run, &found, &run.need, Scope::default())
    };
    type Change = fn(&mut Run);
    let cases: [(&str, Change, A, P); 5] = [
        ("no need", |_| {}, A::Yes, P::NoNeedStated),
        ("p99", |r| r.need.p99_ns = Some(1_000_000), A::Yes, P::Meets),
        (
            "p99 missed",
            |r| r.need.p99_ns = Some(100_000),
            A::No,
            P::Misses,
        ),
        (
            "redo",
            |r| r.need.redo_bytes_per_s = Some(1e6),
            A::Yes,
            P::Meets,
        ),
        (
            "redo missed",
            |r| r.need.redo_bytes_per_s = Some(1e9),
            A::No,
            P::Misses,
        ),
    ];
    for (name, change, answer, performance) in cases {
        let judged = server(change);
        let found = (judged.answer, judged.performance);
        assert_eq!(found, (answer, performance), "{name}: {judged:?}");
    }
    // One whose counts could not be read: its commits are as good, its redo is unknown.
    fn uncounted(r: &mut Run) {
        r.rows.iter_mut().for_each(|row| row.server = None);
    }
    let (met, unknown) = (
        server(|r| {
            uncounted(r);
            r.need.p99_ns = Some(1_000_000);
        }),
        server(|r| {
            uncounted(r);
            r.need.redo_bytes_per_s = Some(1.0);
        }),
    );
    assert_eq!((met.answer, met.performance), (A::Yes, P::Meets), "{met:?}");
    assert_eq!(unknown.answer, A::Undetermined, "{unknown:?}");
    // Waits that nobody knows neither keep a bound nor miss it.
    let waits = server(|r| {
        r.rows.iter_mut().for_each(|row| row.commit_latency = None);
        (r.need.p99_ns, r.need.commit_rate) = (Some(1_000_000), Some(1.0));
    });
    assert_eq!(waits.answer, A::Undetermined, "{waits:?}");
    let scope = server(|_| {}).scope.not_judged;
    assert!(
        scope.contains(&"log switches: not counted".to_owned()),
        "{scope:?}"
    );
}

#[test]
fn what_production_needs_stands_beside_what_this_device_reached() {
    use measure::judgement::NeedSource;
    let mut run = clean_run();
    run.need.commit_rate = Some(500.0);
    run.need.redo_bytes_per_s = Some(4.9 * measure::units::MB_BYTES);
    run.need.sessions = Some(40);
    let stated = judge(&run).summary;
    assert!(!stated.contains("production"), "{stated}");
    run.need.sources = vec![NeedSource {
        quantity: NeedQuantity::CommitRate,
        place: "awr.txt, instance activity: user commits".to_owned(),
    }];
    let summary = judge(&run).summary;
    let needs = "your production needs 500 commits/s and 4.90 MB/s of redo from 40 sessions; this \
                 device: LGWR-LAT1 reached ";
    assert!(summary.contains(needs), "{summary}");
    run.need.commit_rate = Some(1e9);
    let missed = judge(&run).summary;
    let no = "No: your production needs 1,000,000,000 commits/s";
    assert!(
        missed.starts_with(no) && missed.contains("misses the need"),
        "{missed}"
    );
}

#[test]
fn an_invalid_run_ends_with_4_whatever_its_verdict_is() {
    for (answer, code, strict_code) in [
        (Answer::Yes, 0, 0),
        (Answer::Conditional, 0, 3),
        (Answer::No, 3, 3),
        (Answer::Undetermined, 4, 4),
    ] {
        let mut run = clean_run();
        let mut found = verdict(&run, &[], &Need::default(), Scope::default());
        found.answer = answer;
        run.verdict = Some(found);
        run.validity.add("busy_device", false, "others used it");
        assert_eq!(
            (exit_code(&run, false), exit_code(&run, true)),
            (code, strict_code)
        );
        run.validity.add("io_error", true, "a write failed");
        assert_eq!((exit_code(&run, false), exit_code(&run, true)), (4, 4));
        run.verdict = None;
        run.validity = measure::run::Validity::sound();
        assert_eq!(exit_code(&run, false), 4);
    }
}
