//! What is in a log, read-only: control information, records, how it ends, the state of each group.
//!
//! Invariants: nothing is written, flushed or locked; what is found in a log that is open is a
//! snapshot. What it must not know: how blocks and records are laid out, and how this is shown.

mod members;
pub(crate) use members::{InspectedMembers, InspectedRing};

use redo::control::{ControlInfo, CopyProblem};
use redo::engine::{GroupSurvey, Inspection};
use redo::recovery::End;
use redo::{Error, Rba, Salvage};
use serde::Serialize;
use std::path::Path;

/// The schema of an inspection.
const SCHEMA: &str = "redolab.inspection/1";
/// Bytes of a record that are shown.
const HEAD_BYTES: usize = 32;
/// How often a log that is being written is looked at again before damage is believed.
const LOOKS: usize = 5;

/// What is wanted of an inspection.
pub(crate) struct WantedInspection<'a> {
    /// List the records.
    pub(crate) dump: bool,
    /// List at most this many.
    pub(crate) limit: u64,
    /// Verify every block, also those that recovery does not need.
    pub(crate) verify: bool,
    /// Takes the bytes that are verified, and how many there are.
    pub(crate) progress: &'a dyn Fn(u64, u64),
}

/// Inspects the log in `directory`, or on a raw device.
///
/// # Errors
/// There is no log, or it cannot be read. Damage is not an error but a result.
pub(crate) fn inspect(
    directory: &Path,
    wanted: &WantedInspection<'_>,
) -> Result<InspectedLog, Error> {
    let mut found = InspectedLog::of(directory);
    match Inspection::open(directory) {
        Ok(log) => found.look(directory, log, wanted)?,
        Err(error) if is_damage(&error) => found.damaged(&error),
        Err(error) => return Err(error),
    }
    Ok(found)
}

/// What was found.
#[derive(Debug, Serialize)]
pub(crate) struct InspectedLog {
    schema: &'static str,
    pub(crate) path: String,
    /// The process that has the log open.
    pub(crate) open_by_pid: Option<u32>,
    pub(crate) control: Option<InspectedControl>,
    pub(crate) records: u64,
    pub(crate) record_bytes: u64,
    pub(crate) first_rba: Option<String>,
    pub(crate) last_rba: Option<String>,
    pub(crate) end: &'static str,
    /// Where the log ends; `None` when it is damaged.
    pub(crate) end_rba: Option<String>,
    /// Redo lies behind what control information proves durable.
    #[serde(skip)]
    pub(crate) beyond_proof: bool,
    /// Every block was verified; otherwise only those that recovery reads.
    pub(crate) verified: bool,
    pub(crate) groups: Vec<InspectedGroup>,
    pub(crate) problems: Vec<InspectedProblem>,
    /// What giving up the redo behind damage loses, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) salvage: Option<InspectedSalvage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dump: Option<Vec<DumpedRecord>>,
}

/// Control information.
#[derive(Debug, Serialize)]
pub(crate) struct InspectedControl {
    pub(crate) format_version: u8,
    pub(crate) log_id: String,
    pub(crate) generation: u64,
    pub(crate) redo_block_bytes: u32,
    pub(crate) seal_bytes: u64,
    pub(crate) log_groups: u32,
    pub(crate) log_file_bytes: u64,
    pub(crate) blocks_per_log: u64,
    pub(crate) checkpoint_rba: String,
    pub(crate) closed_at_rba: Option<String>,
    /// Everything before it was durable when the control information was last updated.
    pub(crate) durable_rba: String,
    pub(crate) incarnations: Vec<InspectedLife>,
    /// `spare` or `needed`, of a log with a ring: whether the disk has everything without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ring: Option<&'static str>,
}

/// A life of the log between two recoveries.
#[derive(Debug, Serialize)]
pub(crate) struct InspectedLife {
    pub(crate) number: u32,
    pub(crate) previous_end_rba: String,
    pub(crate) first_rba: String,
    /// Random identity; `None` when version 1 of the format wrote it, or nothing yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) life_id: Option<String>,
}

/// A log group and the use that stands in it.
#[derive(Debug, Serialize)]
pub(crate) struct InspectedGroup {
    pub(crate) group: u32,
    pub(crate) file: String,
    pub(crate) log_seq: Option<u64>,
    pub(crate) status: &'static str,
    pub(crate) blocks: u64,
    pub(crate) older_blocks: u64,
    pub(crate) unsound_blocks: u64,
}

/// Something that is not as it should be.
#[derive(Debug, Serialize)]
pub(crate) struct InspectedProblem {
    pub(crate) id: &'static str,
    pub(crate) detail: String,
}

/// What is kept and lost when the redo behind damage is given up.
#[derive(Debug, Serialize)]
pub(crate) struct InspectedSalvage {
    /// It was given up; otherwise nothing was changed.
    pub(crate) done: bool,
    pub(crate) at_rba: String,
    pub(crate) kept_records: u64,
    pub(crate) last_kept_rba: Option<String>,
    pub(crate) lost_upto_rba: String,
    pub(crate) lost_blocks: u64,
    pub(crate) readable_blocks: u64,
    pub(crate) lost_records: u64,
}

/// A record in the dump.
#[derive(Debug, Serialize)]
pub(crate) struct DumpedRecord {
    pub(crate) rba: String,
    pub(crate) bytes: u64,
    pub(crate) head_hex: String,
    /// The bytes of `head_hex`.
    #[serde(skip)]
    pub(crate) head: Vec<u8>,
}

/// There is a log, and something about it is wrong; other errors say that there is none, or that
/// it cannot be read.
fn is_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::WrongLog { .. }
            | Error::ControlDamaged { .. }
            | Error::Corrupt { .. }
            | Error::MixedCopies { .. }
            | Error::Device(device::DeviceError::Unsuitable { .. })
    )
}

impl InspectedLog {
    fn of(directory: &Path) -> InspectedLog {
        let control = redo::engine::LogPlace::of(directory).locked();
        InspectedLog {
            schema: SCHEMA,
            path: directory.display().to_string(),
            // A file that cannot be read is told by what comes after.
            open_by_pid: device::file::owner(&control).unwrap_or_default(),
            control: None,
            records: 0,
            record_bytes: 0,
            first_rba: None,
            last_rba: None,
            end: "damaged",
            end_rba: None,
            beyond_proof: false,
            verified: false,
            groups: Vec::new(),
            problems: Vec::new(),
            salvage: None,
            dump: None,
        }
    }

    fn problem(&mut self, id: &'static str, detail: impl Into<String>) {
        let detail = detail.into();
        self.problems.push(InspectedProblem { id, detail });
    }

    fn damaged(&mut self, error: &Error) {
        self.end = "damaged";
        let id = match error {
            Error::WrongLog { .. } => "wrong_log",
            Error::ControlDamaged { .. } => "control_damaged",
            Error::Corrupt { .. } => "damaged",
            Error::MixedCopies { .. } => "mixed_copies",
            _ => "unsuitable_file",
        };
        self.problem(id, error.to_string());
    }

    fn look(
        &mut self,
        directory: &Path,
        log: Inspection,
        wanted: &WantedInspection<'_>,
    ) -> Result<(), Error> {
        let log = self.scan(directory, log, wanted)?;
        let info = log.control();
        self.control = Some(InspectedControl::of(info));
        for (copy, state) in (1..).zip(log.copies()) {
            if let Err(problem) = state {
                let what = match problem {
                    CopyProblem::NotOurs => "is not ours",
                    CopyProblem::Version(_) => "is of another version",
                    CopyProblem::Damaged => "is damaged",
                };
                let detail = format!("copy {copy} of the control information {what}");
                self.problem("control_copy", detail);
            }
        }
        self.verified = wanted.verify;
        if self.verified {
            let blocks = info.geometry.capacity_blocks();
            let total = blocks * u64::from(info.geometry.block_bytes);
            let survey = log.survey(&|read| (wanted.progress)(read, total))?;
            self.groups(&log, &survey);
        }
        Ok(())
    }

    /// Scans the log. Where it is being written, what looks like damage may be the writer passing
    /// the reader: it is believed when a second look finds it in the same place.
    fn scan(
        &mut self,
        directory: &Path,
        mut log: Inspection,
        wanted: &WantedInspection<'_>,
    ) -> Result<Inspection, Error> {
        let mut before = None;
        for look in 1..=LOOKS {
            match self.scan_once(&log, wanted) {
                Ok(()) => return Ok(log),
                Err(Error::Corrupt { rba, .. })
                    if self.open_by_pid.is_some() && before != Some(rba) && look < LOOKS =>
                {
                    before = Some(rba);
                    log = Inspection::open(directory)?;
                }
                Err(Error::Corrupt { rba, .. })
                    if self.open_by_pid.is_some() && before != Some(rba) =>
                {
                    self.end = "torn";
                    return Ok(log);
                }
                Err(error) if is_damage(&error) => {
                    self.damaged(&error);
                    return Ok(log);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(log)
    }

    fn scan_once(&mut self, log: &Inspection, wanted: &WantedInspection<'_>) -> Result<(), Error> {
        let (mut count, mut bytes) = (0, 0);
        let (mut first, mut last) = (None, None);
        let mut dump = Vec::new();
        let scanned = log.scan(|rba, record| {
            if wanted.dump && count < wanted.limit {
                dump.push(DumpedRecord::of(rba, record));
            }
            count += 1;
            bytes += record.len() as u64;
            first = first.or(Some(rba));
            last = Some(rba);
        });
        let text = |rba: Option<Rba>| rba.map(|rba| rba.to_string());
        (self.records, self.record_bytes) = (count, bytes);
        (self.first_rba, self.last_rba) = (text(first), text(last));
        self.dump = wanted.dump.then_some(dump);
        let scan = scanned?;
        self.end = match scan.how {
            End::Clean => "clean",
            End::Torn => "torn",
        };
        self.end_rba = Some(log.control().geometry.rba(scan.end, 0).to_string());
        for note in scan.notes() {
            self.problem("damaged_before_checkpoint", note);
        }
        self.beyond_proof = scan.end > log.control().known_durable();
        Ok(())
    }

    fn groups(&mut self, log: &Inspection, survey: &[GroupSurvey]) {
        let geometry = log.control().geometry;
        let current = survey.iter().filter_map(|g| g.log_seq).max();
        let needed = geometry.log_seq(log.control().checkpoint.block);
        for (found, file) in survey.iter().zip(log.files()) {
            let status = match found.log_seq {
                None => "unused",
                seq if seq == current => "current",
                Some(seq) if seq >= needed => "active",
                Some(_) => "inactive",
            };
            if found.unsound_count > 0 {
                let slots: Vec<String> = found
                    .unsound
                    .iter()
                    .map(|slot| (slot % geometry.blocks_per_group).to_string())
                    .collect();
                let more = found.unsound_count - found.unsound.len() as u64;
                let more = if more > 0 {
                    format!(" and {more} more")
                } else {
                    String::new()
                };
                let detail = format!(
                    "{}: wrong checksum in block {}{more}: never finished, or damaged where \
                     recovery does not need it any more",
                    file.display(),
                    slots.join(", ")
                );
                if self.end != "damaged" {
                    self.problem("unsound_blocks", detail);
                }
            }
            self.groups.push(InspectedGroup {
                group: found.group + 1,
                file: file.display().to_string(),
                log_seq: found.log_seq,
                status,
                blocks: found.blocks,
                older_blocks: found.older,
                unsound_blocks: found.unsound_count,
            });
        }
    }
}

impl InspectedControl {
    fn of(info: &ControlInfo) -> InspectedControl {
        let geometry = &info.geometry;
        let rba = |block| geometry.rba(block, 0).to_string();
        let log_id = info.log_id.0.iter().map(|b| format!("{b:02x}")).collect();
        let incarnations = info.incarnations.iter().map(|i| InspectedLife {
            number: i.number,
            previous_end_rba: rba(i.previous_end),
            first_rba: rba(i.first),
            life_id: i.life.map(|life| life.to_string()),
        });
        let checkpoint = info.checkpoint;
        InspectedControl {
            format_version: info.version,
            log_id,
            generation: info.generation,
            redo_block_bytes: geometry.block_bytes,
            seal_bytes: u64::from(geometry.seal_blocks) * u64::from(geometry.block_bytes),
            log_groups: geometry.groups,
            log_file_bytes: geometry.file_bytes,
            blocks_per_log: geometry.blocks_per_group,
            checkpoint_rba: geometry
                .rba(checkpoint.block, checkpoint.offset.into())
                .to_string(),
            closed_at_rba: info.closed_at.map(rba),
            durable_rba: rba(info.known_durable()),
            incarnations: incarnations.collect(),
            ring: info.ring.map(|ring| match ring.spare {
                true => "spare",
                false => "needed",
            }),
        }
    }
}

impl InspectedSalvage {
    pub(crate) fn of(salvage: &Salvage, done: bool) -> InspectedSalvage {
        InspectedSalvage {
            done,
            at_rba: salvage.at.to_string(),
            kept_records: salvage.kept_records,
            last_kept_rba: salvage.last_kept.map(|rba| rba.to_string()),
            lost_upto_rba: salvage.lost_upto.to_string(),
            lost_blocks: salvage.lost_blocks,
            readable_blocks: salvage.readable_blocks,
            lost_records: salvage.lost_records,
        }
    }
}

impl DumpedRecord {
    fn of(rba: Rba, record: &[u8]) -> DumpedRecord {
        let head = &record[..record.len().min(HEAD_BYTES)];
        DumpedRecord {
            rba: rba.to_string(),
            bytes: record.len() as u64,
            head_hex: head.iter().map(|b| format!("{b:02x}")).collect(),
            head: head.to_vec(),
        }
    }
}
