//! Looking into a log without changing it: for tools.
//!
//! Invariants: files are opened only to be read, no lock is taken, nothing is flushed. So it works
//! on a read-only mount and beside the log's owner, whose end is then a moment's.

#[cfg(feature = "internals")]
use super::Log;
use super::create::hold;
use super::headers::check_headers;
use super::open::open_control_read_only;
use super::options::{LogPlace, Paths};
use super::raw;
use crate::control::{COPY_BYTES, ControlFile, ControlInfo, CopyProblem};
use crate::error::Error;
use crate::format::{BlockHeader, Summer};
use crate::group::StreamBlock;
use crate::members::heal::MemberData;
use crate::planted::Planted;
use crate::rba::Rba;
use crate::recovery::{Reader, Salvage, Scan, foresee};
use device::file::Directory;
use device::{DeviceError, FileSet, LogDevice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Blocks are read in pieces of this many bytes.
const CHUNK_BYTES: u64 = 1 << 20;

/// A log that is open to be looked at.
pub struct Inspection {
    place: LogPlace,
    /// Where it is in files, their directory.
    directory: Option<Directory>,
    copies: [Result<u64, CopyProblem>; 2],
    control: ControlInfo,
    data: Arc<dyn LogDevice>,
}

/// What stands in the blocks of one log group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupSurvey {
    /// The group, from 0.
    pub group: u32,
    /// Log sequence number of its youngest use; `None` when it was never used.
    pub log_seq: Option<u64>,
    /// Blocks of that use with a right checksum.
    pub blocks: u64,
    /// The last of them in the stream.
    pub last: StreamBlock,
    /// Blocks of earlier uses with a right checksum.
    pub older: u64,
    /// Blocks that carry the mark of a redo block and a wrong checksum: never finished, or
    /// damaged. Recovery decides which, where it needs them.
    pub unsound: Vec<StreamBlock>,
    /// How many of those there are; the list is cut at [`UNSOUND_LISTED`].
    pub unsound_count: u64,
}

#[cfg(feature = "internals")]
impl Log {
    /// The control information and the blocks of the log in a directory or on a device, to be read
    /// only. The log
    /// may be open elsewhere; its end is then a moment's.
    ///
    /// # Errors
    /// As [`Inspection::open`].
    pub fn inspect(path: impl AsRef<Path>) -> Result<(ControlInfo, Arc<dyn LogDevice>), Error> {
        let found = Inspection::open(path)?;
        Ok((found.control, found.data))
    }
}

fn open_logs_read_only(
    directory: &Directory,
    control: &ControlInfo,
) -> Result<Arc<dyn LogDevice>, Error> {
    let geometry = &control.geometry;
    let names = Paths::log_names(geometry.groups);
    let data = FileSet::open_read_only_at(directory, &names, geometry.file_bytes)?;
    check_headers(&data, control, directory.path(), &names)?;
    Ok(Arc::new(data))
}

/// Unsound blocks that are listed for each group.
pub const UNSOUND_LISTED: usize = 16;

impl Inspection {
    /// Opens the log in the directory, or on the block device, that `path` names.
    ///
    /// # Errors
    /// No log, another version, another log's file, control information that is damaged twice.
    pub fn open(path: impl AsRef<Path>) -> Result<Inspection, Error> {
        let path = path.as_ref();
        let place = LogPlace::of(path);
        let directory = match &place {
            LogPlace::Directory(_) => Some(hold(path)?),
            LogPlace::Device(_) => None,
        };
        let (file, device, space) = match &place {
            LogPlace::Directory(_) => {
                let held = directory.as_ref().expect("a directory was opened above");
                let (file, device) = open_control_read_only(held)?;
                (file, device, None)
            }
            LogPlace::Device(path) => {
                let space: Arc<dyn LogDevice> = Arc::new(device::raw::read_only(path)?);
                let device = raw::control_window(&space, path)?;
                let file = ControlFile::load_member(Arc::clone(&device), path)?;
                (file, device, Some(space))
            }
        };
        let control = file.info().clone();
        let mut copies = [Err(CopyProblem::Damaged); 2];
        for (at, copy) in (0_u64..).zip(&mut copies) {
            let mut bytes = vec![0; COPY_BYTES];
            device.read(at * COPY_BYTES as u64, &mut bytes)?;
            *copy = ControlInfo::decode(&bytes).map(|info| info.generation);
        }
        let data = match (&directory, space) {
            (Some(held), _) => open_logs_read_only(held, &control)?,
            (None, Some(space)) => raw::open_groups(&space, &control, path)?,
            (None, None) => unreachable!("a directory or a device was opened above"),
        };
        Ok(Inspection {
            place,
            directory,
            copies,
            control,
            data,
        })
    }

    /// Its redo, as that of a member.
    pub(super) fn member_data(&self) -> MemberData<'_> {
        MemberData {
            device: &self.data,
            path: self.place.path(),
        }
    }

    /// Its redo.
    pub(super) fn into_data(self) -> Arc<dyn LogDevice> {
        self.data
    }

    /// The control information that counts.
    #[must_use]
    pub fn control(&self) -> &ControlInfo {
        &self.control
    }

    /// Each copy of it: its generation, or what is wrong with it.
    pub fn copies(&self) -> &[Result<u64, CopyProblem>; 2] {
        &self.copies
    }

    /// The log file of each group; on a raw device the device and the byte that it begins at.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.place.groups(&self.control.geometry)
    }

    /// Reads from the checkpoint to the end as recovery would, and hands each whole record with
    /// its address to `visit`.
    ///
    /// # Errors
    /// Damage, or a device that fails; what was handed over before is sound.
    pub fn scan(&self, mut visit: impl FnMut(Rba, &[u8])) -> Result<Scan, Error> {
        let path = self.place.path();
        Reader::new(&*self.data, &self.control, path, Planted::none())
            .scan(|rba, _, record| visit(rba, record))
    }

    /// What [`LogBuilder::salvage`](super::LogBuilder::salvage) would keep and give up at this
    /// moment; `None` where recovery accepts the log.
    ///
    /// # Errors
    /// [`Error::Salvage`] where nothing would be kept; what recovery refuses for reasons that
    /// giving up does not cure; a device that fails.
    pub fn damage(&self) -> Result<Option<Salvage>, Error> {
        let path = self.place.path();
        foresee(&Reader::new(
            &*self.data,
            &self.control,
            path,
            Planted::none(),
        ))
    }

    /// The process that has the log open; `None` when there is none, or none can be seen.
    ///
    /// # Errors
    /// When the control file cannot be read.
    pub fn owner(&self) -> Result<Option<u32>, Error> {
        Ok(match &self.directory {
            Some(held) => device::file::owner_at(&held.entry(Paths::CONTROL)?)?,
            None => device::file::owner(&self.place.locked())?,
        })
    }

    /// Verifies every block of every group, also those that recovery does not need. `progress`
    /// is called with the bytes read.
    ///
    /// # Errors
    /// A device that fails.
    pub fn survey(&self, progress: &dyn Fn(u64)) -> Result<Vec<GroupSurvey>, DeviceError> {
        let summer = Summer::new(self.control.log_id);
        let groups = 0..self.control.geometry.groups;
        let mut read = 0;
        let mut told = |bytes: u64| {
            read += bytes;
            progress(read);
        };
        groups
            .map(|group| self.survey_group(group, &summer, &mut told))
            .collect()
    }

    fn survey_group(
        &self,
        group: u32,
        summer: &Summer,
        told: &mut dyn FnMut(u64),
    ) -> Result<GroupSurvey, DeviceError> {
        let geometry = &self.control.geometry;
        let block_bytes = u64::from(geometry.block_bytes);
        let mut survey = GroupSurvey {
            group,
            ..GroupSurvey::default()
        };
        let mut chunk = Vec::new();
        let mut at = 0;
        while at < geometry.blocks_per_group {
            let most = (CHUNK_BYTES / block_bytes).max(1);
            let blocks = (geometry.blocks_per_group - at).min(most);
            chunk.resize((blocks * block_bytes) as usize, 0);
            let first = u64::from(group) * geometry.blocks_per_group + at;
            self.data.read(geometry.address(first), &mut chunk)?;
            for (slot, bytes) in (first..).zip(chunk.chunks_exact(block_bytes as usize)) {
                self.survey_block(slot, bytes, summer, &mut survey);
            }
            told(chunk.len() as u64);
            at += blocks;
        }
        Ok(survey)
    }

    /// Takes in the block that stands in `slot` of the circle of groups.
    fn survey_block(&self, slot: u64, bytes: &[u8], summer: &Summer, survey: &mut GroupSurvey) {
        let geometry = &self.control.geometry;
        let header = BlockHeader::decode(summer, bytes);
        let in_place = header.filter(|h| h.stream_block % geometry.capacity_blocks() == slot);
        let Some(header) = in_place else {
            if BlockHeader::is_marked(bytes) {
                survey.unsound_count += 1;
                if survey.unsound.len() < UNSOUND_LISTED {
                    survey.unsound.push(slot);
                }
            }
            return;
        };
        let log_seq = geometry.log_seq(header.stream_block);
        if survey.log_seq < Some(log_seq) {
            survey.older += survey.blocks;
            survey.blocks = 0;
            survey.log_seq = Some(log_seq);
        }
        if survey.log_seq == Some(log_seq) {
            survey.blocks += 1;
            survey.last = survey.last.max(header.stream_block);
        } else {
            survey.older += 1;
        }
    }
}
