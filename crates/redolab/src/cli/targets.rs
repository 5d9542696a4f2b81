//! What is measured: a path, or a server by its address.

use super::CommandError;
use super::common::SafetyArgs;
use super::members::{MemberArgs, MembersChoice};
use super::values::{NodesChoice, StripeChoice};
use crate::experiment::plan::{
    LogPlan, ManagedServerPlan, NamedTarget, PlannedTarget, StripePlan, TargetAddress,
};
use clap::Args;
use measure::driver::DriverKind;
use measure::words::sanitize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

impl SafetyArgs {
    /// The target that `path` names: a path, or the address of a server.
    ///
    /// # Errors
    /// A server that is to be destroyed; several devices, where one target is measured.
    pub(crate) fn target(&self, path: &Path) -> Result<PlannedTarget, CommandError> {
        let destroy = match self.destroy.as_slice() {
            [] => None,
            [_] if address(path).is_some() => {
                let why =
                    "--destroy takes the path of a raw block device; a server has no such path";
                return Err(CommandError::usage(why));
            }
            [one] => Some(one.clone()),
            _ => {
                let why =
                    "--destroy: one target is measured, so give --destroy once, with its path";
                return Err(CommandError::usage(why));
            }
        };
        Ok(planned(path, destroy))
    }

    /// The same of one of several targets: each raw device has a `--destroy` of its own.
    pub(crate) fn target_of_several(&self, path: &Path) -> PlannedTarget {
        let repeated = self.destroy.iter().find(|named| *named == path);
        planned(path, repeated.cloned())
    }

    /// Refuses a `--destroy` that repeats the path of no target.
    ///
    /// # Errors
    /// The device, and what to do.
    pub(crate) fn check_destroyed(&self, targets: &[NamedTarget]) -> Result<(), CommandError> {
        let is_target = |named: &&PathBuf| {
            targets.iter().any(|target| match &target.target {
                PlannedTarget::Path { path, .. } => path == *named,
                _ => false,
            })
        };
        match self.destroy.iter().find(|named| !is_target(named)) {
            None => Ok(()),
            Some(other) => Err(CommandError::usage(format!(
                "--destroy {}: no --on names this path; repeat the path of each raw device as --on \
                 has it",
                sanitize::line(&other.display().to_string())
            ))),
        }
    }
}

/// What `path` names: a path, which may be destroyed where `destroy` repeats it, or the address of
/// a server.
fn planned(path: &Path, destroy: Option<PathBuf>) -> PlannedTarget {
    match address(path) {
        None => PlannedTarget::Path {
            path: path.to_owned(),
            destroy,
            more: Vec::new(),
        },
        Some((scheme, address)) => PlannedTarget::Driver {
            name: scheme.to_owned(),
            address: TargetAddress(address.to_owned()),
        },
    }
}

/// Scheme and text of a path that is an address.
fn address(path: &Path) -> Option<(&str, &str)> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (!scheme.is_empty() && scheme.chars().all(is_scheme)).then_some((scheme, text))
}

/// Several directories in place of one path.
#[derive(Debug, Args)]
#[command(next_help_heading = "The log")]
pub(crate) struct PlacesArgs {
    /// Put the log in a stripe over several directories, which are on different devices, instead of
    /// one: fine:PATH1,PATH2 (pieces of 128 KiB) or coarse:PATH1,PATH2 (pieces of 1 MiB). The floor
    /// is that of the first directory
    #[arg(
        long,
        value_name = "WIDTH:PATHS",
        group = "several",
        conflicts_with_all = ["path", "destroy", "driver"]
    )]
    stripe: Option<StripeChoice>,
    /// Put the log in several directories, which are on different devices: mirror:PATH1,PATH2 (a
    /// commit waits for all), race:PATH1,PATH2 (a commit waits for the first, as with smart flash
    /// logging), mirror:(race:A,B),(race:C,D), ring:DISK,RING (RING is a small file that holds what
    /// the disk does not have yet, --ring-size) or failover:DISK,RING (the ring is written only
    /// when the disk does not answer in time, --failover-delay). The floor is that of the first
    /// directory
    #[arg(
        long,
        value_name = "KIND:PATHS",
        group = "several",
        conflicts_with_all = ["path", "destroy", "driver", "stripe"]
    )]
    members: Option<MembersChoice>,
    #[command(flatten)]
    of_members: MemberArgs,
}

impl PlacesArgs {
    /// The directories that were named, as a target; `None` where none were.
    pub(crate) fn target(&self) -> Option<PlannedTarget> {
        let stripe = self.stripe.as_ref().map(|stripe| &stripe.directories);
        let members = self.members.as_ref().map(|members| &members.directories);
        over(stripe.or(members)?)
    }

    /// The log of `plan` over these directories.
    ///
    /// # Errors
    /// An option of members that changes nothing here, or is not possible.
    pub(crate) fn log(&self, plan: LogPlan) -> Result<LogPlan, CommandError> {
        let (members, options) = (self.members.as_ref(), &self.of_members);
        options.check(members.into_iter(), self.stripe.is_some())?;
        let stripe = self.stripe.as_ref().map(|stripe| StripePlan {
            width: stripe.width,
            directories: u32::try_from(stripe.directories.len()).unwrap_or(u32::MAX),
            same_device: options.same_device(),
        });
        Ok(LogPlan {
            stripe,
            members: members.map(|members| options.plan(members)).transpose()?,
            ..plan
        })
    }
}

impl MembersChoice {
    /// The directories as a target.
    pub(crate) fn target(&self) -> Option<PlannedTarget> {
        over(&self.directories)
    }
}

impl NodesChoice {
    /// The directories of the logs as a target; `None` where all lie below one.
    pub(crate) fn target(&self) -> Option<PlannedTarget> {
        over(&self.directories)
    }
}

/// Directories as one target; `None` where there are none.
fn over(directories: &[PathBuf]) -> Option<PlannedTarget> {
    let (first, more) = directories.split_first()?;
    Some(PlannedTarget::Path {
        path: first.clone(),
        destroy: None,
        more: more.to_vec(),
    })
}

/// What one target is: a path, several directories, several logs, or a server.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// A directory on the device (log files are made in a folder of redolab's own and removed at
    /// the end) [default: .]
    ///
    /// Or a raw block device, which is overwritten and needs --destroy; or the address of a
    /// database server: postgres://user@host/database, mariadb://user@host/database.
    #[arg(value_name = "PATH", group = "path")]
    place: Option<PathBuf>,
    /// The same as PATH
    #[arg(long, value_name = "PATH", group = "path", help_heading = "Target")]
    on: Option<PathBuf>,
    #[command(flatten)]
    places: PlacesArgs,
    /// Number of redo logs that are measured together, or the directory of each (/u01,/u02)
    /// [default: 1]
    ///
    /// Each log has its own log writer and --jobs sessions. A row has the sums of all logs, and a
    /// table has the figures of each.
    #[arg(
        long,
        value_name = "N|PATHS",
        help_heading = "The log",
        conflicts_with_all = ["stripe", "members", "destroy", "driver", "events"]
    )]
    nodes: Option<NodesChoice>,
    #[command(flatten)]
    driver: DriverArgs,
}

impl TargetArgs {
    /// The target.
    ///
    /// # Errors
    /// As of [`SafetyArgs::target`]; a path beside the directories of several logs.
    pub(crate) fn planned(&self, safety: &SafetyArgs) -> Result<PlannedTarget, CommandError> {
        let named = self.place.as_deref().or(self.on.as_deref());
        let of_nodes = self.nodes.as_ref().and_then(NodesChoice::target);
        if named.is_some() && of_nodes.is_some() {
            return Err(CommandError::usage(
                "--nodes names the directory of each log; omit PATH, or use a number of logs",
            ));
        }
        match self.places.target().or(of_nodes) {
            Some(directories) => Ok(directories),
            None => (self.driver).target(safety, named.unwrap_or(Path::new("."))),
        }
    }

    /// The log of `plan` over these directories.
    ///
    /// # Errors
    /// As of [`PlacesArgs::log`].
    pub(crate) fn log(&self, plan: LogPlan) -> Result<LogPlan, CommandError> {
        self.places.log(LogPlan {
            nodes: self.nodes(),
            ..plan
        })
    }

    /// Number of logs that are measured together.
    pub(crate) fn nodes(&self) -> u32 {
        self.nodes.as_ref().map_or(1, |nodes| nodes.count)
    }

    /// A directory of each log was named.
    pub(crate) fn names_nodes(&self) -> bool {
        self.nodes
            .as_ref()
            .is_some_and(|n| !n.directories.is_empty())
    }
}

/// A server that redolab makes, uses and removes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Database")]
pub(crate) struct ServerArgs {
    /// Measure a private server on the target's directory: postgres or mariadb
    ///
    /// It is made for the run, in place of redolab's own log, and removed at the end. With --url:
    /// the existing server at this address.
    #[arg(long, value_name = "NAME", conflicts_with = "destroy")]
    driver: Option<String>,
    /// Directory of the server's programs [default: those that are installed]
    #[arg(long, value_name = "DIR", requires = "driver")]
    server_bin: Option<PathBuf>,
    /// A setting of the private server, such as wal_sync_method=open_datasync (PostgreSQL) or
    /// innodb_flush_log_at_trx_commit=2 (MariaDB)
    #[arg(long, value_name = "NAME=VALUE", requires = "driver", value_parser = setting)]
    server_setting: Vec<(String, String)>,
}

/// A server in place of a path.
#[derive(Debug, Args)]
#[command(next_help_heading = "Database")]
pub(crate) struct DriverArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The address of an existing server, such as postgres://user@host:5432/database
    #[arg(
        long,
        value_name = "URL",
        requires = "driver",
        conflicts_with_all = ["path", "data", "wal", "server_bin", "server_setting"]
    )]
    url: Option<String>,
    /// Directory for the data of the private server [default: the target]
    #[arg(long, value_name = "DIR", requires = "driver")]
    data: Option<PathBuf>,
    /// Directory for the redo of the private server, whose device is measured [default: the target]
    #[arg(long, value_name = "DIR", requires = "driver", conflicts_with = "path")]
    wal: Option<PathBuf>,
}

impl ServerArgs {
    /// A driver was named for all targets.
    pub(crate) fn names_driver(&self) -> bool {
        self.driver.is_some()
    }

    /// The private server at a path that a user wrote, where one is asked for.
    ///
    /// # Errors
    /// A setting that is none.
    pub(crate) fn at(&self, path: &Path) -> Result<Option<ManagedServerPlan>, CommandError> {
        let driver = self.driver.as_ref();
        driver.map(|driver| self.made_by(driver, path)).transpose()
    }

    /// As [`ServerArgs::at`]; also where the name of a driver precedes the path: `postgres:/u01`.
    ///
    /// # Errors
    /// As of [`ServerArgs::at`].
    pub(crate) fn at_either(
        &self,
        path: &Path,
        drivers: &[DriverKind],
    ) -> Result<Option<ManagedServerPlan>, CommandError> {
        let named = path.to_str().and_then(|text| text.split_once(':'));
        let named = named.filter(|(name, rest)| {
            !rest.starts_with("//") && drivers.iter().any(|kind| kind.is_called(name))
        });
        match named {
            Some((name, rest)) => self.made_by(name, Path::new(rest)).map(Some),
            None if address(path).is_some() => Ok(None),
            None => self.at(path),
        }
    }

    /// Settings may follow the path: `PATH?name=value&name=value`.
    fn made_by(&self, driver: &str, path: &Path) -> Result<ManagedServerPlan, CommandError> {
        let mut settings: BTreeMap<String, String> = self.server_setting.iter().cloned().collect();
        let (path, more) = match path.to_str().and_then(|text| text.split_once('?')) {
            Some((path, more)) => (Path::new(path), more),
            None => (path, ""),
        };
        for text in more.split('&').filter(|text| !text.is_empty()) {
            settings.extend([setting(text).map_err(CommandError::usage)?]);
        }
        Ok(ManagedServerPlan {
            driver: driver.to_owned(),
            data: path.to_owned(),
            log: path.to_owned(),
            programs: self.server_bin.clone(),
            settings,
        })
    }
}

/// A setting as `name=value`.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    let is_name = |name: &str| {
        let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        !name.is_empty() && !name.starts_with('-') && name.chars().all(inside)
    };
    match text.split_once('=') {
        Some((name, value)) if is_name(name) => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!(
            "`{}` is not a setting: write NAME=VALUE, such as wal_sync_method=fdatasync",
            sanitize::line(text)
        )),
    }
}

impl DriverArgs {
    /// The server that was named or is to be made; else what `path` names.
    ///
    /// # Errors
    /// As of [`SafetyArgs::target`].
    pub(crate) fn target(
        &self,
        safety: &SafetyArgs,
        path: &Path,
    ) -> Result<PlannedTarget, CommandError> {
        if let (Some(name), Some(address)) = (&self.server.driver, &self.url) {
            return Ok(PlannedTarget::Driver {
                name: name.clone(),
                address: TargetAddress(address.clone()),
            });
        }
        match self.server.at(path)? {
            Some(planned) => Ok(PlannedTarget::Managed(ManagedServerPlan {
                data: self.data.clone().unwrap_or_else(|| planned.data.clone()),
                log: self.wal.clone().unwrap_or_else(|| planned.log.clone()),
                ..planned
            })),
            None => safety.target(path),
        }
    }
}
