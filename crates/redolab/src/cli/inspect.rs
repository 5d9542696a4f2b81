//! `redolab inspect`: what is in a log, read-only.
//!
//! Invariants: nothing is written, flushed or locked; what is said of a log that is open is said
//! to be a moment's. What it must not know: how blocks and records are laid out.

use super::common::ViewArgs;
use super::{CommandError, FAILED, inspect_text};
use crate::output::progress;
use clap::Args;
use redo::control::{ControlInfo, CopyProblem};
use redo::engine::{GroupSurvey, Inspection};
use redo::recovery::End;
use redo::{Error, Rba};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The schema of what is printed.
const SCHEMA: &str = "redolab.inspection/1";
/// Bytes of a record that are shown.
const HEAD_BYTES: usize = 32;
/// How often a log that is being written is looked at again before damage is believed.
const LOOKS: usize = 5;

/// Options of `inspect`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 the log ends clean or in a torn write that was never acknowledged, 1 it is damaged
or there is no log, 2 usage.")]
pub(crate) struct InspectArgs {
    /// A log's directory, its redo.ctl or one of its log files, or the raw device that it is on
    path: PathBuf,
    /// List the records
    #[arg(long)]
    dump: bool,
    /// List at most this many records; 0 lists all
    #[arg(long, value_name = "N", default_value = "100", requires = "dump")]
    limit: u64,
    /// Verify every block, also those that recovery does not need (the default)
    #[arg(long, overrides_with = "no_verify")]
    verify: bool,
    /// Read only what recovery would read
    #[arg(long)]
    no_verify: bool,
    #[command(flatten)]
    view: ViewArgs,
}

/// What was found.
#[derive(Debug, Serialize)]
pub(super) struct Findings {
    schema: &'static str,
    pub(super) path: String,
    /// The process that has the log open.
    pub(super) open_by_pid: Option<u32>,
    pub(super) control: Option<Control>,
    pub(super) records: u64,
    pub(super) record_bytes: u64,
    pub(super) first_rba: Option<String>,
    pub(super) last_rba: Option<String>,
    pub(super) end: &'static str,
    /// Where the log ends; `None` when it is damaged.
    pub(super) end_rba: Option<String>,
    /// Every block was verified; otherwise only those that recovery reads.
    pub(super) verified: bool,
    pub(super) groups: Vec<Group>,
    pub(super) problems: Vec<Problem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dump: Option<Vec<Dumped>>,
}

/// Control information.
#[derive(Debug, Serialize)]
pub(super) struct Control {
    pub(super) log_id: String,
    pub(super) generation: u64,
    pub(super) redo_block_bytes: u32,
    pub(super) seal_bytes: u64,
    pub(super) log_groups: u32,
    pub(super) log_file_bytes: u64,
    pub(super) blocks_per_log: u64,
    pub(super) checkpoint_rba: String,
    pub(super) closed_at_rba: Option<String>,
    pub(super) incarnations: Vec<Incarnation>,
}

/// A life of the log between two recoveries.
#[derive(Debug, Serialize)]
pub(super) struct Incarnation {
    pub(super) number: u32,
    pub(super) previous_end_rba: String,
    pub(super) first_rba: String,
}

/// A log group and the use that stands in it.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    pub(super) group: u32,
    pub(super) file: String,
    pub(super) log_seq: Option<u64>,
    pub(super) status: &'static str,
    pub(super) blocks: u64,
    pub(super) older_blocks: u64,
    pub(super) unsound_blocks: u64,
}

/// Something that is not as it should be.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    pub(super) id: &'static str,
    pub(super) detail: String,
}

/// A record in the dump.
#[derive(Debug, Serialize)]
pub(super) struct Dumped {
    pub(super) rba: String,
    pub(super) bytes: u64,
    pub(super) head_hex: String,
}

pub(crate) fn main(args: &InspectArgs) -> Result<ExitCode, CommandError> {
    let directory = log_directory(&args.path)?;
    let mut found = Findings::of(&directory);
    match Inspection::open(&directory) {
        Ok(log) => found.look(&directory, log, args)?,
        Err(error) if is_damage(&error) => found.damaged(&error),
        Err(error) => return Err(CommandError::failed(error.to_string())),
    }
    // Whatever is in the log's directory may be a part of the log.
    args.view.reads(&args.path);
    for entry in std::fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .flatten()
    {
        args.view.reads(&entry.path());
    }
    args.view
        .emit(&found, |style| inspect_text::text(&found, style))?;
    let damaged = found.end == "damaged";
    Ok(ExitCode::from(if damaged { FAILED } else { 0 }))
}

/// The directory of the log that `path` names.
fn log_directory(path: &Path) -> Result<PathBuf, CommandError> {
    let shown = path.display();
    let found = std::fs::symlink_metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => CommandError::usage(format!(
            "{shown}: does not exist; name a log's directory or one of its files"
        )),
        _ => CommandError::usage(format!("{shown}: {e}")),
    })?;
    if path.is_dir() || device::raw::is_block_device(path) {
        return Ok(path.to_owned());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ours = name == "redo.ctl"
        || (name.strip_prefix("redo"))
            .and_then(|rest| rest.strip_suffix(".log"))
            .is_some_and(|n| n.len() >= 2 && n.bytes().all(|b| b.is_ascii_digit()));
    if !found.is_file() || !ours {
        return Err(CommandError::failed(format!(
            "{shown}: not a redolab log file; name a log's directory, its redo.ctl or a redoNN.log"
        )));
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    Ok(parent.unwrap_or(Path::new(".")).to_owned())
}

/// There is a log, and something about it is wrong; other errors say that there is none, or that
/// it cannot be read.
fn is_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::WrongLog { .. }
            | Error::ControlDamaged { .. }
            | Error::Corrupt { .. }
            | Error::Device(device::DeviceError::Unsuitable { .. })
    )
}

impl Findings {
    fn of(directory: &Path) -> Findings {
        let control = redo::engine::Place::of(directory).locked();
        Findings {
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
            verified: false,
            groups: Vec::new(),
            problems: Vec::new(),
            dump: None,
        }
    }

    fn problem(&mut self, id: &'static str, detail: impl Into<String>) {
        let detail = detail.into();
        self.problems.push(Problem { id, detail });
    }

    fn damaged(&mut self, error: &Error) {
        self.end = "damaged";
        let id = match error {
            Error::WrongLog { .. } => "wrong_log",
            Error::ControlDamaged { .. } => "control_damaged",
            Error::Corrupt { .. } => "damaged",
            _ => "unsuitable_file",
        };
        self.problem(id, error.to_string());
    }

    fn look(
        &mut self,
        directory: &Path,
        log: Inspection,
        args: &InspectArgs,
    ) -> Result<(), CommandError> {
        let log = self.scan(directory, log, args)?;
        let info = log.control();
        self.control = Some(Control::of(info));
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
        self.verified = !args.no_verify;
        if self.verified {
            let blocks = info.geometry.capacity_blocks();
            let total = blocks * u64::from(info.geometry.block_bytes);
            let progress = progress::Progress::new(progress::Mode::of_stderr(false, false));
            let phase = progress.phase("verifying blocks", total);
            let survey = log.survey(&|read| phase.at(read));
            let survey = survey.map_err(|e| CommandError::failed(e.to_string()))?;
            phase.done("read");
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
        args: &InspectArgs,
    ) -> Result<Inspection, CommandError> {
        let mut before = None;
        for look in 1..=LOOKS {
            match self.scan_once(&log, args) {
                Ok(()) => return Ok(log),
                Err(Error::Corrupt { rba, .. })
                    if self.open_by_pid.is_some() && before != Some(rba) && look < LOOKS =>
                {
                    before = Some(rba);
                    log = Inspection::open(directory)
                        .map_err(|e| CommandError::failed(e.to_string()))?;
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
                Err(error) => return Err(CommandError::failed(error.to_string())),
            }
        }
        Ok(log)
    }

    fn scan_once(&mut self, log: &Inspection, args: &InspectArgs) -> Result<(), Error> {
        let (mut count, mut bytes) = (0, 0);
        let (mut first, mut last) = (None, None);
        let mut dump = Vec::new();
        let limit = if args.limit == 0 {
            u64::MAX
        } else {
            args.limit
        };
        let scanned = log.scan(|rba, record| {
            if args.dump && count < limit {
                dump.push(Dumped::of(rba, record));
            }
            count += 1;
            bytes += record.len() as u64;
            first = first.or(Some(rba));
            last = Some(rba);
        });
        let text = |rba: Option<Rba>| rba.map(|rba| rba.to_string());
        (self.records, self.record_bytes) = (count, bytes);
        (self.first_rba, self.last_rba) = (text(first), text(last));
        self.dump = args.dump.then_some(dump);
        let scan = scanned?;
        self.end = match scan.how {
            End::Clean => "clean",
            End::Torn => "torn",
        };
        self.end_rba = Some(log.control().geometry.rba(scan.end, 0).to_string());
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
            self.groups.push(Group {
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

impl Control {
    fn of(info: &ControlInfo) -> Control {
        let geometry = &info.geometry;
        let rba = |block| geometry.rba(block, 0).to_string();
        let log_id = info.log_id.0.iter().map(|b| format!("{b:02x}")).collect();
        let incarnations = info.incarnations.iter().map(|i| Incarnation {
            number: i.number,
            previous_end_rba: rba(i.previous_end),
            first_rba: rba(i.first),
        });
        let checkpoint = info.checkpoint;
        Control {
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
            incarnations: incarnations.collect(),
        }
    }
}

impl Dumped {
    fn of(rba: Rba, record: &[u8]) -> Dumped {
        let head = record.iter().take(HEAD_BYTES);
        Dumped {
            rba: rba.to_string(),
            bytes: record.len() as u64,
            head_hex: head.map(|b| format!("{b:02x}")).collect(),
        }
    }
}
