//! Where the files of a server are, and whose.
//!
//! In the directory of data: `cluster` (the server's data directory) and `server.log` (what it
//! prints); in the directory of redo: `wal`. Invariants: outer directories stay redolab's own and
//! are open for passing through only; inner ones are the server's and closed to others; all are
//! made and changed through their descriptors; no permission of a directory changes that redolab
//! did not make. Paths are for the programs of the server, which nobody can lead elsewhere
//! ([`standing`]).

use super::{GuardProgram, GuardedProcess, ManagedError, ServerAccount, ServerOrder, standing};
use device::file::Directory;
use measure::driver::{HeldFolder, ManagedFolders};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How long a server may take to end at once.
const KILL_MAX: Duration = Duration::from_secs(2);

/// Numbers of the signals by which a program ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndSignals {
    /// In order.
    pub(crate) in_order: i32,
    /// At once.
    pub(crate) at_once: i32,
}

/// Where a server's files are, and whose.
#[derive(Debug)]
pub(crate) struct ServerPlaces {
    /// Its data directory, in which its programs run.
    pub(crate) cluster: Directory,
    /// The directory of its redo.
    pub(crate) wal: Directory,
    /// The directory of the data directory, which is redolab's own.
    pub(crate) data: Directory,
    log: Directory,
    output: File,
    account: Option<ServerAccount>,
}

impl ServerPlaces {
    /// Makes the directories. Those that are given stay redolab's own; those inside are the
    /// server's.
    ///
    /// # Errors
    /// Of the system, or a directory above that the account cannot enter or that somebody else
    /// can exchange.
    pub(crate) fn make(
        folders: &ManagedFolders,
        account: Option<ServerAccount>,
    ) -> Result<ServerPlaces, ManagedError> {
        let open = |folder: &HeldFolder| Directory::of(folder.held.clone(), folder.path.clone());
        let (data, log) = (open(&folders.data), open(&folders.log));
        for outer in [&data, &log] {
            standing::check(outer, account.as_ref())?;
        }
        ServerPlaces::inside(data, log, ["cluster", "wal", "server.log"], account)
    }

    /// The places of another server of that name, made beside these.
    ///
    /// # Errors
    /// Of the system.
    pub(crate) fn beside(&self, name: &str) -> Result<ServerPlaces, ManagedError> {
        let names = [name, &format!("{name}-wal"), &format!("{name}.log")];
        let (data, log) = (self.data.clone(), self.log.clone());
        ServerPlaces::inside(data, log, names, self.account.clone())
    }

    fn inside(
        data: Directory,
        log: Directory,
        [cluster, wal, output]: [&str; 3],
        account: Option<ServerAccount>,
    ) -> Result<ServerPlaces, ManagedError> {
        let make = |outer: &Directory, name| {
            let made = outer.make_folder(name).and_then(|inner| {
                hand_over(outer, &inner, account.as_ref())?;
                Ok(inner)
            });
            made.map_err(ManagedError::system(shown(outer, name)))
        };
        let printed = data.create_appended(output);
        Ok(ServerPlaces {
            cluster: make(&data, cluster)?,
            wal: make(&log, wal)?,
            output: printed.map_err(ManagedError::system(shown(&data, output)))?,
            data,
            log,
            account,
        })
    }

    /// An order to run a program of the server.
    pub(crate) fn order(
        &self,
        program: PathBuf,
        arguments: Vec<OsString>,
        signals: EndSignals,
    ) -> ServerOrder {
        ServerOrder {
            program,
            arguments,
            directory: self.cluster.path().to_owned(),
            account: self.owner(),
            end_signal: signals.in_order,
            kill_signal: signals.at_once,
            patience: KILL_MAX,
            starts_others: false,
        }
    }

    /// Has `guard` start what an order of these places names.
    ///
    /// # Errors
    /// As of [`GuardedProcess::start`].
    pub(crate) fn start(
        &self,
        guard: &GuardProgram,
        order: ServerOrder,
    ) -> Result<GuardedProcess, ManagedError> {
        GuardedProcess::start(guard, order, &self.output)
    }

    /// User and group of the server's files; `None` for those of redolab.
    pub(crate) fn owner(&self) -> Option<(u32, u32)> {
        let ids = |account: &ServerAccount| (account.uid, account.gid);
        self.account.as_ref().map(ids)
    }
}

fn shown(outer: &Directory, name: &str) -> String {
    outer.path().join(name).display().to_string()
}

/// Lets the server's account enter `outer`, and own `inner`.
fn hand_over(
    outer: &Directory,
    inner: &Directory,
    account: Option<&ServerAccount>,
) -> io::Result<()> {
    inner.set_mode(0o700)?;
    let Some(account) = account else {
        return Ok(());
    };
    outer.set_mode(0o711)?;
    // The work folder, which nobody can move `outer` out of.
    outer.parent()?.set_mode(0o711)?;
    inner.give_to(account.uid, account.gid)
}
