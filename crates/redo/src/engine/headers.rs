//! Files of a log: opening its control file and its log files, their headers, and the identity of
//! the log that they contain.
//!
//! What it must not know: whether the files are created or opened to be used.

use super::options::Paths;
use crate::control::{CONTROL_BYTES, ControlFile, ControlInfo};
use crate::error::Error;
use crate::format::{FILE_HEADER_BYTES, FileHeader, HeaderProblem, LogId};
use device::file::{Directory, DirectoryEntry, FileSet, SyncMethod};
use device::{DeviceError, LogDevice};
use measure::workload::split_mix;
use std::path::Path;
use std::sync::Arc;

pub(super) fn open_control(at: &DirectoryEntry) -> Result<ControlFile, Error> {
    ControlFile::load(control_device(at)?, at.path())
}

/// The control file of a member.
pub(super) fn open_member_control(at: &DirectoryEntry) -> Result<ControlFile, Error> {
    ControlFile::load_member(control_device(at)?, at.path())
}

fn control_device(at: &DirectoryEntry) -> Result<Arc<dyn LogDevice>, Error> {
    expect_control(at)?;
    let names = [Paths::CONTROL.to_owned()];
    let method = SyncMethod::Buffered;
    let device = FileSet::open_at(at.directory(), &names, CONTROL_BYTES, method)?;
    Ok(Arc::new(device))
}

pub(super) fn expect_control(at: &DirectoryEntry) -> Result<(), Error> {
    let bytes = at.file_bytes().map_err(|source| {
        Error::Device(DeviceError::Io {
            path: at.path().to_owned(),
            action: "no redo log here",
            source,
        })
    })?;
    if bytes.is_some_and(|bytes| bytes != CONTROL_BYTES) {
        return Err(Error::NotALog {
            path: at.path().to_owned(),
        });
    }
    Ok(())
}

pub(super) fn open_logs(
    directory: &Directory,
    info: &ControlInfo,
    method: SyncMethod,
) -> Result<FileSet, Error> {
    let geometry = &info.geometry;
    let names = Paths::log_names(geometry.groups);
    let data = FileSet::open_at(directory, &names, geometry.file_bytes, method)?;
    if let Some(misstated) = data.misstated()
        && geometry.block_bytes < misstated.accepted
    {
        let path = directory.path().to_owned();
        let block = geometry.block_bytes;
        return Err(misstated.clone().refuses(path, block).into());
    }
    check_headers(&data, info, directory.path(), &names)?;
    Ok(data)
}

/// The header of each log file in `directory`, in the order of the groups.
pub(super) fn check_headers(
    data: &dyn LogDevice,
    info: &ControlInfo,
    directory: &Path,
    names: &[String],
) -> Result<(), Error> {
    for (group, name) in (0_u32..).zip(names) {
        let mut head = [0_u8; FILE_HEADER_BYTES];
        data.read(u64::from(group) * info.geometry.file_bytes, &mut head)?;
        check_header(&head, info, group, &directory.join(name))?;
    }
    Ok(())
}

pub(super) fn check_header(
    head: &[u8],
    info: &ControlInfo,
    group: u32,
    path: &Path,
) -> Result<(), Error> {
    let path = path.to_owned();
    let found = match FileHeader::decode(head) {
        Ok(found) => found,
        Err(HeaderProblem::NotOurs) => return Err(Error::NotALog { path }),
        Err(HeaderProblem::Version(found)) => return Err(Error::Version { path, found }),
        Err(HeaderProblem::Damaged) => {
            let what = "its header is damaged".to_owned();
            return Err(Error::WrongLog { path, what });
        }
    };
    let expected = header(info, group);
    if found == expected {
        return Ok(());
    }
    let what = if found.log_id == expected.log_id {
        format!(
            "holds group {} of {} where group {group} was expected",
            found.group, found.groups
        )
    } else {
        "belongs to another log".to_owned()
    };
    Err(Error::WrongLog { path, what })
}

/// A log's identity: unique is enough, nobody must not guess it.
pub(super) fn fresh_id(directory: &Path) -> LogId {
    use std::hash::{BuildHasher, Hash, Hasher};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    directory.hash(&mut hasher);
    std::process::id().hash(&mut hasher);
    std::time::SystemTime::now().hash(&mut hasher);
    let mut state = hasher.finish();
    let mut id = [0_u8; 16];
    id[..8].copy_from_slice(&split_mix(&mut state).to_le_bytes());
    id[8..].copy_from_slice(&split_mix(&mut state).to_le_bytes());
    LogId(id)
}

/// The header of a group's log file.
pub(super) fn header(info: &ControlInfo, group: u32) -> FileHeader {
    let geometry = &info.geometry;
    FileHeader {
        log_id: info.log_id,
        group,
        groups: geometry.groups,
        block_bytes: geometry.block_bytes,
        header_bytes: geometry.header_bytes as u32,
        file_bytes: geometry.file_bytes,
    }
}
