//! Cuts that are added up, and stacks that are compared.

use super::*;
use crate::stack::{Layer, LayerKind, Stack};

/// What is different in a stack.
type Change = fn(&mut Stack);

fn stack() -> Stack {
    Stack {
        layers: vec![
            Layer {
                mount_point: Some("/u01".to_owned()),
                options: ["rw", "relatime", "data=ordered"]
                    .map(str::to_owned)
                    .to_vec(),
                ..Layer::new(LayerKind::FileSystem, "ext4")
            },
            Layer {
                dev: Some("8:0".to_owned()),
                model: Some("ACME".to_owned()),
                serial: Some("S1".to_owned()),
                firmware: Some("1.0".to_owned()),
                write_cache: Some("write back".to_owned()),
                ..Layer::new(LayerKind::Disk, "sda")
            },
        ],
        depths: vec![0, 1],
        ..Stack::default()
    }
}

fn cycle(class: LossClass, cut: CutKind) -> PowerCycle {
    PowerCycle {
        schema: SCHEMA.to_owned(),
        test_id: "0".repeat(32),
        redolab_version: "0.1.0".to_owned(),
        opened: "2026-11-24T10:00:00.000Z".to_owned(),
        judged: "2026-11-24T10:05:00.000Z".to_owned(),
        path: "/u01".to_owned(),
        mode: "redo log".to_owned(),
        cut,
        hypervisor: None,
        class,
        counted: true,
        counts: PowerTestCounts {
            acknowledged: 500,
            demanded: 100,
            lost: u64::from(class != LossClass::NothingLost),
            ..PowerTestCounts::default()
        },
        stack: StackFingerprint::of(&stack(), Some("direct")),
        notes: Vec::new(),
        first_lost: None,
        evidence: Some(shown(cut)),
    }
}

/// What shows a cut of that kind.
fn shown(cut: CutKind) -> CutEvidence {
    let started = |id: &str| MachineState {
        boot_id: Some(id.to_owned()),
        ..MachineState::default()
    };
    let after = match cut.keeps_the_machine_up() {
        true => "1",
        false => "2",
    };
    CutEvidence {
        before: started("1"),
        after: started(after),
        failure: cut.keeps_the_machine_up().then(|| WriteFailure {
            error: "a flush failed".to_owned(),
            device_answered: Some(cut != CutKind::DevicePower),
        }),
        switched: (cut == CutKind::HostPower).then(|| SwitchRecord {
            at: "2026-11-24T10:01:00.000Z".to_owned(),
            program: "power-cycle".to_owned(),
        }),
        closed: false,
    }
}

#[test]
fn cuts_add_up_to_a_sentence() {
    let passed = cycle(LossClass::NothingLost, CutKind::HostPower);
    let of = |all: &[&PowerCycle]| PowerTestSeries::of(all).expect("they count");
    assert_eq!(
        of(&[&passed; 200]).sentence(),
        "0 lost in 200 cuts and 20,000 acknowledgements: below 1.5 % per cut at 95 %"
    );
    assert_eq!(
        of(&[&passed]).sentence(),
        "0 lost in 1 cut and 100 acknowledgements: below 95 % per cut at 95 %"
    );
    let reset = cycle(LossClass::NothingLost, CutKind::GuestReset);
    assert_eq!(
        of(&[&passed, &reset, &passed]).sentence(),
        "0 lost in 3 cuts and 300 acknowledgements: a loss of power is shown in 2, so that the loss \
         rate is below 77.6 % per cut at 95 %"
    );
    let stated = PowerCycle {
        evidence: None,
        ..passed.clone()
    };
    assert_eq!(
        of(&[&stated, &stated]).sentence(),
        "0 lost in 2 cuts and 200 acknowledgements: no loss of power is shown, so no bound follows; \
         by the operator's word alone"
    );
    let lost = cycle(LossClass::TornSector, CutKind::GuestReset);
    let series = of(&[&passed, &lost, &passed]);
    assert_eq!(
        (series.cuts, series.other_cuts, series.refuted_cuts),
        (2, 1, 1)
    );
    assert_eq!(
        series.sentence(),
        "1 of 300 acknowledgements lost, in 1 of 3 cuts: torn sector"
    );
    assert_eq!(series.kinds_in_words(), "host power, guest reset");
}

/// Against the definition: with a loss rate of the bound, no loss in N cuts has a chance of 5 %.
#[test]
fn the_bound_is_the_exact_one_and_twenty_cuts_are_below_fourteen_percent() {
    for cuts in [1, 2, 19, 20, 59, 200, 1_000_000] {
        let by_chance = (1.0 - loss_bound(cuts)).powi(i32::try_from(cuts).expect("few"));
        assert!((by_chance - 0.05).abs() < 1e-6, "{cuts}: {by_chance}");
    }
    assert_eq!(loss_bound(0), 1.0);
    assert!(loss_bound(20) < 0.14 && loss_bound(19) > 0.14);
    for (bound, cuts) in [
        (14.0, Some(20)),
        (95.0, Some(1)),
        (1.5, Some(199)),
        (0.0, None),
    ] {
        assert_eq!(cuts_for(bound), cuts, "{bound}");
    }
    assert_eq!(cuts_for(100.0), Some(1), "any cut is enough");
}

#[test]
fn tested_needs_enough_cuts_that_evidence_shows() {
    use PowerTestStanding::{PartlyTested, Refuted, Tested};
    let of = |cycle: &PowerCycle, count: usize, bound: f64| {
        let all = vec![cycle; count];
        PowerTestSeries::of(&all)
            .expect("they count")
            .standing(bound)
    };
    let passed = cycle(LossClass::NothingLost, CutKind::HostPower);
    for (count, bound, expected) in [
        (1, 14.0, PartlyTested),
        (19, 14.0, PartlyTested),
        (20, 14.0, Tested),
        (20, 5.0, PartlyTested),
        (1, 94.9, PartlyTested),
        (1, 95.0, Tested),
    ] {
        assert_eq!(of(&passed, count, bound), expected, "{count} of {bound}");
    }
    let stated = PowerCycle {
        evidence: None,
        ..passed.clone()
    };
    assert_eq!(of(&stated, 200, 100.0), PartlyTested);
    for kind in [CutKind::GuestReset, CutKind::FileSystemShutdown] {
        let other = cycle(LossClass::NothingLost, kind);
        assert_eq!(of(&other, 200, 100.0), PartlyTested, "{kind}");
    }
    let lost = cycle(LossClass::TailLost, CutKind::FileSystemShutdown);
    assert_eq!(of(&lost, 1, 100.0), Refuted);
    // A run that an earlier version stored has no evidence of its cuts.
    let mut stored = PowerTestSeries::of(&[&passed; 50]).expect("they count");
    stored.by_word = None;
    assert_eq!(stored.standing(14.0), PartlyTested);
    assert!(
        stored
            .sentence()
            .ends_with("no evidence of these cuts was recorded")
    );
}

#[test]
fn a_pass_needs_a_cut_and_a_loss_counts_unless_nothing_was_cut() {
    let mut idle = cycle(LossClass::NothingLost, CutKind::HostPower);
    idle.counted = false;
    assert_eq!(PowerTestSeries::of(&[&idle]), None);
    let mut lost = cycle(LossClass::TailLost, CutKind::HostPower);
    lost.counted = false;
    let series = PowerTestSeries::of(&[&idle, &lost]).expect("the loss counts");
    assert_eq!((series.cuts, series.refuted_cuts), (1, 1));
    assert_eq!(lost.basis(), Some(EvidenceBasis::PowerSwitch));
    // The file system was mounted again, and no more is known.
    let mounted = |id| MachineState {
        boot_id: Some("1".to_owned()),
        mount: Some(MountState {
            id,
            namespace: "mnt:[1]".to_owned(),
        }),
        ..MachineState::default()
    };
    let mut remounted = cycle(LossClass::TailLost, CutKind::DevicePower);
    remounted.evidence = Some(CutEvidence {
        before: mounted(1),
        after: mounted(2),
        ..CutEvidence::default()
    });
    assert!(remounted.counts() && !remounted.is_shown_loss_of_power());
    remounted.class = LossClass::NothingLost;
    assert!(!remounted.counts());
    // Nothing was cut: somebody removed the files.
    remounted.class = LossClass::TailLost;
    remounted.evidence = Some(CutEvidence {
        before: mounted(1),
        after: mounted(1),
        ..CutEvidence::default()
    });
    assert!(!remounted.counts());
    assert_eq!(remounted.basis(), None);
}

#[test]
fn what_decides_is_part_of_a_fingerprint_and_names_of_devices_are_not() {
    let of = |change: Change, method| {
        let mut changed = stack();
        change(&mut changed);
        StackFingerprint::of(&changed, Some(method))
    };
    let before = of(|_| {}, "direct");
    let same: [Change; 3] = [
        |s| s.layers[1].name = "sdb".to_owned(),
        |s| s.layers[1].dev = Some("8:16".to_owned()),
        |s| s.layers[0].options[1] = "noatime".to_owned(),
    ];
    for change in same {
        assert_eq!(of(change, "direct"), before);
    }
    let others: [(Change, &str, &str); 5] = [
        (|_| {}, "dsync", "sync method: from direct to dsync"),
        (
            |s| s.layers[1].firmware = Some("1.1".to_owned()),
            "direct",
            "layer 2 (disk): firmware: from 1.0 to 1.1",
        ),
        (
            |s| s.layers[1].write_cache = Some("write through".to_owned()),
            "direct",
            "layer 2 (disk): write cache (kernel): from write back to write through",
        ),
        (
            |s| s.layers[0].options.push("nobarrier".to_owned()),
            "direct",
            "layer 1 (file system): options: from data=ordered to data=ordered,nobarrier",
        ),
        (
            |s| s.layers[1].serial = Some("S2".to_owned()),
            "direct",
            "device: from ACME, serial S1 to ACME, serial S2",
        ),
    ];
    for (change, method, expected) in others {
        let now = of(change, method);
        let changes = now.changes_from(&before);
        let texts: Vec<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(texts, [expected]);
    }
}

#[test]
fn a_device_without_a_serial_number_is_known_by_model_size_and_path() {
    let known = DeviceIdentity::of(&stack());
    assert_eq!(known.basis, IdentityBasis::Serial);
    let mut unnamed = stack();
    unnamed.layers[1].serial = None;
    unnamed.layers[1].size_bytes = Some(1 << 30);
    let weak = DeviceIdentity::of(&unnamed);
    assert_eq!(weak.basis, IdentityBasis::ModelAndPath);
    assert_eq!(weak.devices, ["disk sda ACME 1073741824 bytes"]);
    assert!(weak.in_words().contains("no serial number"));
    // A loop device on a file system below which no disk is seen.
    let looped = Stack {
        layers: vec![
            Layer::new(LayerKind::FileSystem, "ext4"),
            Layer {
                backing: Some("/images/a".to_owned()),
                size_bytes: Some(4096),
                ..Layer::new(LayerKind::Loop, "loop7")
            },
            Layer::new(LayerKind::FuseFileSystem, "fuse"),
        ],
        depths: vec![0, 1, 2],
        ..Stack::default()
    };
    assert_eq!(
        DeviceIdentity::of(&looped).devices,
        ["loop device 4096 bytes /images/a"]
    );
}

#[test]
fn evidence_is_of_the_device_of_a_run_alone() {
    let mut changed = stack();
    changed.layers[1].firmware = Some("0.9".to_owned());
    let mut older = cycle(LossClass::NothingLost, CutKind::HostPower);
    older.stack = StackFingerprint::of(&changed, Some("direct"));
    let mut foreign = stack();
    foreign.layers[1].serial = Some("S9".to_owned());
    let mut other = cycle(LossClass::TailLost, CutKind::HostPower);
    other.stack = StackFingerprint::of(&foreign, Some("direct"));
    let now = StackFingerprint::of(&stack(), Some("direct"));
    let all = [
        older.clone(),
        other.clone(),
        cycle(LossClass::NothingLost, CutKind::HostPower),
    ];
    let evidence = PowerTestEvidence::of(&now, &all).expect("there is some");
    assert_eq!(evidence.same.expect("one cut").cuts, 1);
    assert_eq!(evidence.others.len(), 1);
    assert_eq!(evidence.others[0].changes.len(), 1);
    assert_eq!(PowerTestEvidence::of(&now, &[other]), None);
    assert!(
        PowerTestEvidence::of(&now, &[older])
            .expect("another stack")
            .same
            .is_none()
    );
}
