//! Every situation with every kind of cut that can be stated about it.

use super::*;

const LATER: &str = "another start";

/// A machine with one disk of each kind, and a file system of which the kernel reports the mount.
fn machine() -> MachineState {
    let disk = |name: &str, is_loop, sequence, counts: Option<(u64, u64)>| DiskState {
        name: name.to_owned(),
        is_loop,
        sequence: Some(sequence),
        power_cycles: counts.map(|(cycles, _)| cycles),
        unsafe_shutdowns: counts.map(|(_, shutdowns)| shutdowns),
    };
    MachineState {
        boot_id: Some("a start".to_owned()),
        mount: Some(MountState {
            id: 70,
            namespace: "mnt:[1]".to_owned(),
        }),
        disks: vec![
            disk("loop0", true, 8, None),
            disk("nvme0n1", false, 9, Some((57, 12))),
        ],
    }
}

fn without_counters(mut state: MachineState) -> MachineState {
    for disk in &mut state.disks {
        (disk.power_cycles, disk.unsafe_shutdowns) = (None, None);
    }
    state
}

/// Nothing happened between the two looks at a machine whose drives have no counters.
fn quiet() -> CutEvidence {
    let state = without_counters(machine());
    CutEvidence {
        before: state.clone(),
        after: state,
        closed: true,
        ..CutEvidence::default()
    }
}

fn remounted(mut evidence: CutEvidence) -> CutEvidence {
    evidence.after.mount.as_mut().expect("it is mounted").id += 1;
    evidence
}

/// The loop device was detached and attached again, as `mount -o loop` does.
fn attached_again(mut evidence: CutEvidence) -> CutEvidence {
    evidence.after.disks[0].sequence = Some(88);
    evidence
}

fn restarted(mut evidence: CutEvidence) -> CutEvidence {
    evidence.after.boot_id = Some(LATER.to_owned());
    evidence.after.mount.as_mut().expect("it is mounted").id = 3;
    evidence.after.disks[1].sequence = Some(2);
    evidence
}

fn failed(mut evidence: CutEvidence, device_answered: Option<bool>) -> CutEvidence {
    evidence.failure = Some(WriteFailure {
        error: "a flush failed: Input/output error (os error 5)".to_owned(),
        device_answered,
    });
    evidence
}

fn switched(mut evidence: CutEvidence) -> CutEvidence {
    evidence.switched = Some(SwitchRecord {
        at: "2026-11-26T10:00:00.000Z".to_owned(),
        program: "power-cycle".to_owned(),
    });
    evidence
}

/// The drive's counters before and after, of a power cut that the connection survived in no order.
fn counted(mut evidence: CutEvidence, before: (u64, u64), after: (u64, u64)) -> CutEvidence {
    for (disk, counts) in [
        (&mut evidence.before.disks[1], before),
        (&mut evidence.after.disks[1], after),
    ] {
        (disk.power_cycles, disk.unsafe_shutdowns) = (Some(counts.0), Some(counts.1));
    }
    evidence.closed = false;
    evidence
}

fn on_a_raw_device(mut evidence: CutEvidence) -> CutEvidence {
    (evidence.before.mount, evidence.after.mount) = (None, None);
    evidence
}

/// What an assessment allows, in a word.
fn word(assessment: &CutAssessment) -> &'static str {
    match assessment {
        CutAssessment::Shown(EvidenceBasis::DriveCounters) => "drive",
        CutAssessment::Shown(EvidenceBasis::PowerSwitch) => "switch",
        CutAssessment::Shown(EvidenceBasis::DeviceLost) => "lost",
        CutAssessment::Shown(EvidenceBasis::Restart) => "restart",
        CutAssessment::Shown(EvidenceBasis::FileSystemError) => "error",
        CutAssessment::Shown(EvidenceBasis::OperatorsWord) => "wrong",
        CutAssessment::ByWord(_) => "word",
        CutAssessment::Unshown(_) => "unshown",
        CutAssessment::Contradicted(_) => "no",
    }
}

/// Host power, guest reset, device power, file-system shutdown.
type Expected = [&'static str; 4];

#[test]
#[expect(clippy::too_many_lines, reason = "a table of situations")]
fn every_kind_stated_about_every_situation() {
    let cut = ((57, 12), (58, 13));
    let table: Vec<(&str, CutEvidence, Expected)> = vec![
        ("a killed process", quiet(), ["no", "no", "no", "no"]),
        (
            "a killed process, and a switch that switches nothing",
            switched(quiet()),
            ["no", "no", "no", "no"],
        ),
        (
            "a killed process on a raw device",
            on_a_raw_device(quiet()),
            ["no", "no", "no", "no"],
        ),
        (
            "mounted again",
            remounted(quiet()),
            ["no", "no", "unshown", "word"],
        ),
        (
            "mounted again with -o loop",
            attached_again(remounted(quiet())),
            ["no", "no", "unshown", "word"],
        ),
        (
            "mounted again, and a switch that switches nothing",
            switched(attached_again(remounted(quiet()))),
            ["no", "no", "unshown", "word"],
        ),
        (
            "restarted",
            restarted(quiet()),
            ["word", "restart", "no", "no"],
        ),
        (
            "restarted, and the drive counts that",
            counted(restarted(quiet()), (57, 12), (57, 12)),
            ["unshown", "restart", "unshown", "no"],
        ),
        (
            "shut down in order, and started again",
            counted(restarted(quiet()), (57, 12), (58, 12)),
            ["unshown", "restart", "unshown", "no"],
        ),
        (
            "the host lost its power, and the drive counts that",
            counted(restarted(quiet()), cut.0, cut.1),
            ["drive", "restart", "no", "no"],
        ),
        (
            "a process ended before the host lost its power",
            CutEvidence {
                closed: true,
                ..counted(restarted(quiet()), cut.0, cut.1)
            },
            ["word", "restart", "no", "no"],
        ),
        (
            "the switch cut the host",
            switched(restarted(quiet())),
            ["switch", "restart", "no", "no"],
        ),
        (
            "the switch reset the host, whose drive kept its power",
            switched(counted(restarted(quiet()), (57, 12), (57, 12))),
            ["unshown", "restart", "unshown", "no"],
        ),
        (
            "the device was lost and is mounted again",
            failed(remounted(quiet()), Some(false)),
            ["no", "no", "lost", "unshown"],
        ),
        (
            "the device was lost, and the machine restarted later",
            failed(restarted(quiet()), Some(false)),
            ["word", "restart", "lost", "unshown"],
        ),
        (
            "the device was lost, and is mounted as before",
            failed(quiet(), Some(false)),
            ["no", "no", "no", "unshown"],
        ),
        (
            "the raw device was lost",
            failed(on_a_raw_device(quiet()), Some(false)),
            ["no", "no", "lost", "unshown"],
        ),
        (
            "the device was lost, and its drive counts that",
            failed(counted(remounted(quiet()), cut.0, cut.1), None),
            ["no", "no", "drive", "error"],
        ),
        (
            "a cable was pulled, and the drive kept its power",
            failed(counted(remounted(quiet()), (57, 12), (57, 12)), Some(false)),
            ["no", "no", "unshown", "unshown"],
        ),
        (
            "a device failed that could not be asked",
            failed(remounted(quiet()), None),
            ["no", "no", "word", "error"],
        ),
        (
            "the switch cut a device that could not be asked",
            switched(failed(remounted(quiet()), None)),
            ["no", "no", "switch", "error"],
        ),
        (
            "the file system was shut down",
            failed(remounted(quiet()), Some(true)),
            ["no", "no", "unshown", "error"],
        ),
        (
            "the file system was shut down on a loop device",
            failed(attached_again(remounted(quiet())), Some(true)),
            ["no", "no", "unshown", "error"],
        ),
        (
            "the file system was shut down, and is mounted as before",
            failed(quiet(), Some(true)),
            ["no", "no", "no", "no"],
        ),
    ];
    for (what, evidence, expected) in table {
        let found = CutKind::ALL.map(|kind| word(&evidence.assess(kind)));
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn what_is_not_known_shows_nothing() {
    let nothing = CutEvidence::default();
    for kind in CutKind::ALL {
        assert_eq!(word(&nothing.assess(kind)), "unshown", "{kind}");
    }
    // Mounts of two namespaces cannot be compared.
    let mut elsewhere = quiet();
    elsewhere.after.mount = Some(MountState {
        id: 71,
        namespace: "mnt:[2]".to_owned(),
    });
    assert_eq!(
        word(&elsewhere.assess(CutKind::FileSystemShutdown)),
        "unshown"
    );
    // A stack with another number of disks has no pairs.
    let mut fewer = counted(restarted(quiet()), (57, 12), (58, 13));
    fewer.after.disks.pop();
    assert_eq!(word(&fewer.assess(CutKind::HostPower)), "word");
    // One of two drives kept its power.
    let mut two = counted(restarted(quiet()), (57, 12), (58, 13));
    for (state, counts) in [(&mut two.before, (3, 1)), (&mut two.after, (3, 1))] {
        let mut disk = state.disks[1].clone();
        (disk.power_cycles, disk.unsafe_shutdowns) = (Some(counts.0), Some(counts.1));
        state.disks.push(disk);
    }
    assert_eq!(word(&two.assess(CutKind::HostPower)), "unshown");
}

/// A disk that was away on a machine that went on: with an error of the writer it was lost, with a
/// switch it was cut, and alone it shows nothing.
#[test]
fn a_disk_that_came_again_is_evidence_with_another_fact_alone() {
    let mut away = remounted(quiet());
    away.after.disks[1].sequence = Some(10);
    let of = |evidence: &CutEvidence| word(&evidence.assess(CutKind::DevicePower));
    assert_eq!(of(&away), "unshown");
    assert_eq!(of(&failed(away.clone(), None)), "lost");
    assert_eq!(of(&switched(away)), "switch");
}
