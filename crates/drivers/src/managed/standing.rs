//! Whether a directory can hold a server. A server's programs work by path, so nobody but root and
//! the account that runs them may exchange a directory on the way to its files.
//!
//! Invariant: the way is walked upwards from the directory that is held, and then its path has to
//! lead to it: what was found cannot change after that, but by those who are trusted.

use super::{ManagedError, ServerAccount};
use device::file::Directory;
use rustix::fs::{Stat, fstat};
use rustix::io::Errno;

/// Where a file system keeps the access list of a file.
const ACCESS_LIST: &str = "system.posix_acl_access";
/// In a directory with this bit, only the owner of an entry renames it.
const STICKY: u32 = 0o1000;
/// Directories above one another at most.
const DEPTH_MAX: u32 = 4096;

/// Who may own and write directories on the way, beside root.
struct Trusted<'a> {
    uid: u32,
    gid: u32,
    account: Option<&'a ServerAccount>,
}

/// Refuses `outer`, a directory in a work folder, where somebody else could exchange a directory on
/// the way to it, or where `account` cannot enter one. `None` is the user's own account.
///
/// # Errors
/// The first such directory, with what to do; or of the system.
pub(super) fn check(
    outer: &Directory,
    account: Option<&ServerAccount>,
) -> Result<(), ManagedError> {
    let trusted = Trusted {
        uid: account.map_or_else(|| rustix::process::geteuid().as_raw(), |a| a.uid),
        gid: account.map_or_else(|| rustix::process::getegid().as_raw(), |a| a.gid),
        account,
    };
    let walking = || ManagedError::system(outer.path().display().to_string());
    // The work folder is redolab's own.
    let work = outer.parent().map_err(walking())?;
    let mut at = work.parent().map_err(walking())?;
    for _ in 0..DEPTH_MAX {
        check_one(&at, &trusted)?;
        let above = at.parent().map_err(walking())?;
        if above.is_same(&at) {
            let led = Directory::open(outer.path()).is_ok_and(|found| found.is_same(outer));
            return if led { Ok(()) } else { Err(moved(outer)) };
        }
        at = above;
    }
    Err(moved(outer))
}

fn moved(outer: &Directory) -> ManagedError {
    ManagedError::Unusable(format!(
        "{}: the directory was moved or replaced while a server was to be made in it",
        outer.path().display()
    ))
}

fn check_one(at: &Directory, trusted: &Trusted<'_>) -> Result<(), ManagedError> {
    let shown = at.path().display();
    let found = fstat(at).map_err(|e| ManagedError::system(shown.to_string())(e.into()))?;
    if let Some(account) = trusted.account
        && !is_open_to(&found, account)
    {
        return Err(ManagedError::Unusable(format!(
            "{shown}: the account {} cannot enter it, and a database server does not run as root: \
             allow it (chmod o+x), name another directory, or run redolab as another user",
            account.name
        )));
    }
    let Some(others) = exchangers(&found, trusted, || has_access_list(at)) else {
        return Ok(());
    };
    let owner = trusted.account.map_or("you", |account| &account.name);
    Err(ManagedError::Unusable(format!(
        "{shown}: {others} can exchange the directories in it, and the programs of a database \
         server find their files by path: name a directory that belongs to root or to {owner}, \
         below directories that do, too, and in which nobody else can write"
    )))
}

/// Who beside the trusted can rename what others made in a directory.
fn exchangers(
    found: &Stat,
    trusted: &Trusted<'_>,
    has_access_list: impl FnOnce() -> bool,
) -> Option<String> {
    let is_root_or = |id: u32, own: u32| id == 0 || id == own;
    if !is_root_or(found.st_uid, trusted.uid) {
        return Some(format!("its owner (user {})", found.st_uid));
    }
    if found.st_mode & STICKY != 0 {
        return None;
    }
    if found.st_mode & 0o002 != 0 {
        return Some("every user".to_owned());
    }
    // With an access list, the bits of the group are the most that anybody in the list may do.
    if found.st_mode & 0o020 != 0 && (!is_root_or(found.st_gid, trusted.gid) || has_access_list()) {
        return Some(format!("its group (group {})", found.st_gid));
    }
    None
}

fn has_access_list(at: &Directory) -> bool {
    let mut nothing: [u8; 0] = [];
    let found = rustix::fs::fgetxattr(at, ACCESS_LIST, &mut nothing);
    !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

/// Whether an account that is neither the owner nor of the group may enter a folder, or is one of
/// these.
fn is_open_to(found: &Stat, account: &ServerAccount) -> bool {
    let bit = if found.st_uid == account.uid {
        0o100
    } else if found.st_gid == account.gid {
        0o010
    } else {
        0o001
    };
    found.st_mode & bit != 0
}
