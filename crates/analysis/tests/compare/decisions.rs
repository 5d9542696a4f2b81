//! What a comparison decides: winners and the durability of both, intervals that cannot tell, and
//! conditions on figures that are not shown.

use super::{find, live, side};
use analysis::compare::condition::FailIf;
use analysis::compare::{Options, rounds, stored};
use measure::comparison::{Comparison, Difference, RowOutcome};
use measure::judgement::{Answer, Durability, Performance, Scope, Verdict};
use measure::run::Run;
use measure::stack::{Layer, LayerKind};

/// Five rounds on `a`, and on `b` those of half the latency.
fn faster_b(mut judge: impl FnMut(&mut Run, bool)) -> Comparison {
    let mut sides = [
        live("a", 1, &[400.0, 410.0, 404.0, 396.0, 402.0]),
        live("b", 50, &[200.0, 205.0, 202.0, 198.0, 201.0]),
    ];
    for (at, side) in sides.iter_mut().enumerate() {
        for round in &mut side.rounds {
            judge(&mut round.run, at == 1);
        }
    }
    rounds::compare(&sides, &Options::default())
}

fn verdict(durability: Durability) -> Verdict {
    let answer = match durability {
        Durability::Volatile | Durability::Refuted => Answer::No,
        _ => Answer::Conditional,
    };
    Verdict {
        answer,
        durability,
        performance: Performance::NoNeedStated,
        scope: Scope::default(),
        reasons: Vec::new(),
        summary: String::new(),
        durability_basis: None,
        loss_per_cut_below: None,
    }
}

#[test]
fn what_loses_commits_never_wins_over_what_is_not_known_to() {
    use Durability::{Declared, Refuted, Tested, Unverified, Volatile};
    for (slow, fast, wins) in [
        (Unverified, Volatile, false),
        (Tested, Volatile, false),
        (Declared, Refuted, false),
        (Unverified, Refuted, false),
        (Volatile, Unverified, true),
        (Volatile, Volatile, true),
        (Volatile, Refuted, true),
        (Tested, Unverified, true),
    ] {
        let judge = |run: &mut Run, is_b| {
            run.verdict = Some(verdict(if is_b { fast } else { slow }));
        };
        let c = faster_b(judge);
        let (decision, answer) = (&c.decisions[0], &c.answers[0]);
        let want = match wins {
            true => (RowOutcome::Better, Some(1)),
            false => (RowOutcome::NotDurable, None),
        };
        assert_eq!((decision.outcome, decision.winner), want, "{decision:?}");
        assert_eq!((answer.outcome, answer.winner), want, "{answer:?}");
        assert_eq!(answer.faster, Some(1));
        // These verdicts do not say what their proof rests on, and the output says so.
        let words = |durability: Durability| match durability {
            Tested => String::from("tested (number of cuts not known)"),
            Declared => String::from("declared (by whom is not known)"),
            other => other.to_string(),
        };
        let both = format!("Durability: a {}, b {}.", words(slow), words(fast));
        assert!(decision.durability.starts_with(&both), "{decision:?}");
        let neither = decision.durability.contains("Neither keeps");
        assert_eq!(neither, slow.loses_commits() && fast.loses_commits());
        let markdown = analysis::account::markdown::comparison(&c, false);
        assert_eq!(markdown.contains("b wins"), wins, "{markdown}");
        assert!(markdown.contains(&both), "{markdown}");
        let html = analysis::report::compare::html(&c, &[]);
        assert!(html.contains(&both) && html.contains("b wins") == wins);
    }
    // One bad round is enough; a run without a verdict is judged by the layers below it.
    let mut rounds = 0;
    let c = faster_b(|run, is_b| {
        rounds += usize::from(is_b);
        let is_bad = is_b && rounds == 3;
        run.verdict = Some(verdict(if is_bad { Volatile } else { Unverified }));
    });
    assert_eq!(c.runs[1].verdict, Some(Answer::No));
    assert_eq!(c.decisions[0].outcome, RowOutcome::NotDurable);
    let in_memory = |run: &mut Run, is_b: bool| {
        let layer = match is_b {
            true => Layer::new(LayerKind::MemoryFileSystem, "tmpfs"),
            false => Layer::new(LayerKind::FileSystem, "ext4"),
        };
        run.target.stack.layers = vec![layer];
    };
    let c = faster_b(in_memory);
    assert_eq!(
        c.runs[1].durability,
        Some(Durability::Volatile),
        "{:?}",
        c.runs
    );
    assert_eq!(c.decisions[0].winner, None, "{:?}", c.decisions);
    assert!(c.runs.iter().all(|r| r.verdict.is_none()));
}

#[test]
fn an_interval_of_gain_and_harm_cannot_tell() {
    let sides = [
        live("a", 1, &[400.0, 400.0, 400.0, 400.0, 400.0]),
        live("b", 50, &[150.0, 800.0, 200.0, 500.0, 300.0]),
    ];
    let c = rounds::compare(&sides, &Options::default());
    let d = find(&c, "log_file_sync.p99");
    assert!(d.ci_low < Some(0.9) && d.ci_high > Some(1.1), "{d:?}");
    assert_eq!(
        c.answers[0].outcome,
        RowOutcome::CannotTell,
        "{:?}",
        c.answers
    );
    assert_eq!(c.decisions[0].answer, "Cannot tell");
    assert!(d.sentence.starts_with("cannot tell: "), "{}", d.sentence);
    let html = analysis::report::compare::html(&c, &[]);
    for text in [&analysis::account::markdown::comparison(&c, false), &html] {
        assert!(text.contains("Cannot tell") && !text.contains("No difference found"));
    }
}

#[test]
fn counts_of_nothing_are_judged_and_not_shown() {
    let parse = |t: &str| t.parse::<FailIf>().expect(t);
    for (condition, code) in [
        ("log_file_sync.outliers > 0", 0),
        ("log_file_sync.over_1ms_pct > -99%", 4),
        ("log_file_sync.over_10ms_pct > +1%", 4),
        ("log_file_sync.p999 > +1%", 4),
        ("log_file_sync > 1s", 0),
        ("redo_wastage_pct > 90", 4),
    ] {
        let options = Options {
            resamples: 100,
            conditions: vec![parse(condition)],
            ..Options::default()
        };
        let sides = [side("a", 1, 2, 400.0), side("b", 2, 2, 400.0)];
        let c = stored::compare(&sides, &options);
        assert_eq!(c.exit_code, code, "{:?}", c.conditions);
        let is_nothing = |d: &&Difference| d.metric == "log_file_sync.outliers";
        assert_eq!(c.differences.iter().find(is_nothing), None);
        let pair = [live("a", 1, &[400.0; 5]), live("b", 2, &[400.0; 5])];
        let c = rounds::compare(&pair, &options);
        assert!(
            c.differences
                .iter()
                .all(|d| d.metric != "log_file_sync.outliers")
        );
        if condition.contains("outliers") {
            assert_eq!(c.exit_code, code, "{:?}", c.conditions);
        }
    }
}
