//! Making the directories of files that are written, each held open before the next is made in it:
//! nobody leads them elsewhere meanwhile.

use super::{OutputError, refused};
use crate::folder::Folder;
use device::file::Directory;
use rustix::fs::Mode;
use rustix::io::Errno;
use std::io;
use std::path::{Component, Path};

/// What the umask leaves of it are the permissions of directories for the user.
const MODE: u32 = 0o777;

/// Makes the directories of `inside` below `root` where they are missing, and refuses symbolic
/// links among them; `root` itself is the user's and may be one. The last of them.
///
/// # Errors
/// A link, something that is not a directory, or the system's errors.
pub fn make_folders(root: &Path, inside: &Path) -> Result<Directory, OutputError> {
    let failed = |path: &Path, source: io::Error| OutputError::System {
        path: path.to_owned(),
        action: "making the directory",
        source,
    };
    let made = Folder::make_root(root, MODE).and_then(|()| Directory::open(root));
    let mut at = made.map_err(|e| failed(root, e))?;
    for part in inside.components() {
        let Component::Normal(part) = part else {
            return Err(refused(inside, "is not a name below a directory"));
        };
        let path = at.path().join(part);
        match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(MODE)) {
            Err(e) if e != Errno::EXIST => return Err(failed(&path, e.into())),
            _ => {}
        }
        at = at.open_inside(part).map_err(|_| {
            refused(
                &path,
                "is not a directory, and redolab writes through no symbolic link; export into \
                 another folder",
            )
        })?;
    }
    Ok(at)
}
