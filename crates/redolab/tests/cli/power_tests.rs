//! A verdict that is yes for a stack whose power was cut: in the table, in JSON and in the report.

use crate::recording::{Recording, sound_run};
use analysis::Thresholds;
use analysis::account::columns::Columns;
use measure::judgement::{Answer, Durability};
use measure::power_test::{
    CutEvidence, CutKind, LossClass, MachineState, PowerCycle, PowerTestCounts, PowerTestEvidence,
    SCHEMA, StackFingerprint, SwitchRecord,
};
use measure::run::Run;
use measure::stack::Stack;
use redolab::experiment::judge::judge;
use redolab::output::overview::{self, View};
use redolab::output::table::Style;

fn started(id: &str) -> MachineState {
    MachineState {
        boot_id: Some(id.to_owned()),
        ..MachineState::default()
    }
}

fn cut(stack: &Stack, class: LossClass) -> PowerCycle {
    PowerCycle {
        schema: SCHEMA.to_owned(),
        test_id: "5".repeat(32),
        redolab_version: "0.1.0".to_owned(),
        opened: "2026-11-24T10:00:00.000Z".to_owned(),
        judged: "2026-11-24T10:05:00.000Z".to_owned(),
        path: "/redo".to_owned(),
        mode: "redo log".to_owned(),
        cut: CutKind::HostPower,
        hypervisor: None,
        class,
        counted: true,
        counts: PowerTestCounts {
            acknowledged: 150,
            demanded: 100,
            lost: u64::from(class != LossClass::NothingLost),
            ..PowerTestCounts::default()
        },
        stack: StackFingerprint::of(stack, Some("direct")),
        notes: Vec::new(),
        first_lost: None,
        evidence: Some(CutEvidence {
            before: started("1"),
            after: started("2"),
            switched: Some(SwitchRecord {
                at: "2026-11-24T10:01:00.000Z".to_owned(),
                program: "power-cycle".to_owned(),
            }),
            ..CutEvidence::default()
        }),
    }
}

/// A sound run on a drive with a volatile cache, judged after these cuts.
fn judged(cuts: u64, class: LossClass) -> Run {
    let stack = Recording::nvme("Samsung SSD 990 PRO 2TB", true).stack("xfs", "rw");
    let mut run = sound_run(stack);
    let now = StackFingerprint::of(&run.target.stack, Some("direct"));
    let cycles: Vec<PowerCycle> = (0..cuts).map(|_| cut(&run.target.stack, class)).collect();
    run.power_tests = PowerTestEvidence::of(&now, &cycles);
    judge(&mut run, &Thresholds::default(), Vec::new());
    run
}

#[test]
fn a_tested_stack_can_have_a_yes_in_every_view() {
    let verdict = |run: &Run| {
        let verdict = run.verdict.as_ref().expect("it has one");
        (verdict.answer, verdict.durability)
    };
    let untested = judged(0, LossClass::NothingLost);
    assert_eq!(
        verdict(&untested),
        (Answer::Conditional, Durability::Unverified)
    );
    let run = judged(200, LossClass::NothingLost);
    assert_eq!(verdict(&run), (Answer::Yes, Durability::Tested));
    let view = View {
        columns: &Columns::Usual,
        verbose: false,
    };
    let table = overview::text(&run, view, Style::detect(false, None));
    let one_line = table.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "YES",
        "tested (200 cuts: below 1.5 % per cut)",
        "0 lost in 200 cuts",
    ] {
        assert!(one_line.contains(words), "{words}: {one_line}");
    }
    let json = serde_json::to_value(&run).expect("a run is JSON");
    assert_eq!(json["verdict"]["answer"], "yes");
    assert_eq!(json["verdict"]["durability"], "tested");
    assert_eq!(json["power_tests"]["same"]["cuts"], 200);
    let html = analysis::report::html(&run, &analysis::report::ReportData::default());
    for words in ["tested", "0 lost in 200 cuts and 20,000 acknowledgements"] {
        assert!(html.contains(words), "{words}");
    }
    let bound = json["verdict"]["loss_per_cut_below"]
        .as_f64()
        .expect("a number");
    assert!((bound - 0.014_867).abs() < 1e-5, "{bound}");
    // One cut less than the default needs is not tested.
    let few = judged(19, LossClass::NothingLost);
    assert_eq!(verdict(&few), (Answer::Conditional, Durability::Unverified));
    let lost = judged(3, LossClass::TornSector);
    assert_eq!(verdict(&lost), (Answer::No, Durability::Refuted));
}
