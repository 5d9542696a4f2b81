//! Where the files of a server are, and whose.
//!
//! In the directory of data: `cluster` (the server's data directory) and `server.log` (what it
//! prints); in the directory of redo: `wal`. Invariants: outer directories stay redolab's own and
//! are open for passing through only; inner ones are the server's and closed to others; no
//! permission of a directory changes that redolab did not make.

use super::{Account, ManagedError, ServerOrder};
use measure::driver::ManagedPlan;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
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
    pub(crate) cluster: PathBuf,
    /// The directory of its redo.
    pub(crate) wal: PathBuf,
    output: PathBuf,
    account: Option<Account>,
}

impl ServerPlaces {
    /// Makes the directories. Those of the plan stay redolab's own; those inside are the server's.
    ///
    /// # Errors
    /// Of the system, or a directory above that the account cannot enter.
    pub(crate) fn make(
        plan: &ManagedPlan,
        account: Option<Account>,
    ) -> Result<ServerPlaces, ManagedError> {
        let places = ServerPlaces {
            cluster: plan.data.join("cluster"),
            wal: plan.log.join("wal"),
            output: plan.data.join("server.log"),
            account,
        };
        for outer in [&plan.data, &plan.log] {
            fs::create_dir(outer).map_err(ManagedError::system(outer.display().to_string()))?;
        }
        places.make_inner(plan)?;
        Ok(places)
    }

    /// The places of another server of that name, made beside these.
    ///
    /// # Errors
    /// As of [`ServerPlaces::make`].
    pub(crate) fn beside(
        &self,
        name: &str,
        plan: &ManagedPlan,
    ) -> Result<ServerPlaces, ManagedError> {
        let places = ServerPlaces {
            cluster: plan.data.join(name),
            wal: plan.log.join(format!("{name}-wal")),
            output: plan.data.join(format!("{name}.log")),
            account: self.account.clone(),
        };
        places.make_inner(plan)?;
        Ok(places)
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
            directory: self.cluster.clone(),
            output: self.output.clone(),
            account: self
                .account
                .as_ref()
                .map(|account| (account.uid, account.gid)),
            end_signal: signals.in_order,
            kill_signal: signals.at_once,
            patience: KILL_MAX,
            starts_others: false,
        }
    }

    fn make_inner(&self, plan: &ManagedPlan) -> Result<(), ManagedError> {
        for (outer, inner) in [(&plan.data, &self.cluster), (&plan.log, &self.wal)] {
            fs::create_dir(inner).map_err(ManagedError::system(inner.display().to_string()))?;
            self.hand_over(outer, inner)?;
        }
        Ok(())
    }

    /// Lets the server's account enter `outer`, and own `inner`.
    fn hand_over(&self, outer: &Path, inner: &Path) -> Result<(), ManagedError> {
        let shown = inner.display().to_string();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        mode(inner, 0o700).map_err(ManagedError::system(shown.clone()))?;
        let Some(account) = &self.account else {
            return Ok(());
        };
        let ours = [Some(outer), outer.parent()].into_iter().flatten();
        let handed = ours
            .map(|folder| mode(folder, 0o711))
            .find(std::io::Result::is_err)
            .unwrap_or(Ok(()))
            .and_then(|()| chown(inner, Some(account.uid), Some(account.gid)));
        handed.map_err(ManagedError::system(shown))?;
        let closed = inner
            .ancestors()
            .skip(3)
            .find(|folder| !is_open_to(folder, account));
        closed.map_or(Ok(()), |folder| {
            Err(ManagedError::Unusable(format!(
                "{}: the account {} cannot enter it, and a database server does not run as root: \
                 allow it (chmod o+x), name another directory, or run redolab as another user",
                folder.display(),
                account.name
            )))
        })
    }
}

/// Whether an account that is neither the owner nor of the group may enter a folder, or is one of
/// these.
fn is_open_to(folder: &Path, account: &Account) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(found) = fs::metadata(folder) else {
        return false;
    };
    let bit = if found.uid() == account.uid {
        0o100
    } else if found.gid() == account.gid {
        0o010
    } else {
        0o001
    };
    found.mode() & bit != 0
}
