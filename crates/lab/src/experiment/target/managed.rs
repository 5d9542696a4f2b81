//! A server that is made for an experiment: on the devices of its data and of its redo, each in a
//! work folder, and removed after it.
//!
//! Invariant: the server has ended before its folders are removed, also where the process is
//! interrupted or panics; a folder that a killed process leaves names the server's directories in
//! its journal. What it must not know: which database it is.

use super::LoadTarget;
use super::place::LogPlace;
use crate::budget::Budget;
use crate::cleanup::{self, WorkFolder};
use crate::experiment::Failure;
use crate::experiment::console::{Console, ConsolePhase};
use crate::experiment::guard::limits::make_watched;
use crate::experiment::measure::row::Spec;
use crate::experiment::plan::{LogPlan, ManagedServerPlan, MeasurementPlan};
use crate::safety::PlannedWrites;
use measure::driver::{Driver, DriverError, DriverKind, HeldFolder};
use measure::driver::{ManagedFolders, ManagedKind, ManagedPlan};
use measure::words::sanitize;
use measure::workload::Workload;
use std::path::PathBuf;
use std::sync::Arc;

/// Names of the server's directories in work folders.
const DATA: &str = "server-data";
const LOG: &str = "server-log";

/// A server that will be made.
pub(crate) struct ManagedServer {
    /// How the driver makes servers.
    pub(crate) kind: ManagedKind,
    /// The place of its redo, which is what is measured.
    pub(crate) log: LogPlace,
    /// The place of its data, where that is another one.
    data: Option<LogPlace>,
    plan: ManagedServerPlan,
}

impl ManagedServer {
    /// Whether the server that will be made can run a workload.
    ///
    /// # Errors
    /// Why not, and which workloads it can run.
    pub(crate) fn accepts(&self, workload: &Workload) -> Result<(), DriverError> {
        (self.kind.accepts)(workload, &self.plan.settings)
    }

    /// Looks at the places of a planned server.
    ///
    /// # Errors
    /// A driver that makes no servers, or a place where none can be made.
    pub(crate) fn of(
        planned: &ManagedServerPlan,
        kind: &DriverKind,
    ) -> Result<ManagedServer, Failure> {
        let managed = kind.managed.ok_or_else(|| {
            Failure::Unusable(format!(
                "the driver {} makes no servers: name an existing one with --url {}",
                kind.name, kind.address
            ))
        })?;
        if !managed.products.contains(&planned.driver.as_str()) {
            return Err(Failure::Unusable(format!(
                "redolab makes private servers of {}, not of {driver}: use --driver {}, or name an \
                 existing server with --url {driver}://USER@HOST:PORT/DATABASE",
                managed.products.join(", "),
                kind.name,
                driver = planned.driver
            )));
        }
        let at = |path: &PathBuf| {
            let target = LogPlace::at(path, None)?;
            if target.is_device() {
                return Err(Failure::Unusable(format!(
                    "{}: a database server keeps its files in directories; name a directory",
                    path.display()
                )));
            }
            Ok(target)
        };
        let is_apart = planned.data != planned.log;
        Ok(ManagedServer {
            kind: managed,
            log: at(&planned.log)?,
            data: is_apart.then(|| at(&planned.data)).transpose()?,
            plan: planned.clone(),
        })
    }

    /// The server as results show it.
    pub(crate) fn shown(&self) -> String {
        let log = self.log.path().display();
        let driver = &self.plan.driver;
        let mut shown = match &self.data {
            None => format!("{log} ({driver}"),
            Some(data) => format!("{log} ({driver}, data at {}", data.path().display()),
        };
        for (name, value) in &self.plan.settings {
            shown.push_str(&format!(", {name}={value}"));
        }
        shown.push(')');
        shown
    }

    /// Says what will be made and where, and refuses what would endanger the machine. Returns a
    /// warning for the run where the user insisted.
    ///
    /// # Errors
    /// The refusal, with what to do.
    pub(crate) fn announce(
        &self,
        plan: &MeasurementPlan,
        lines: &[String],
        console: &dyn Console,
    ) -> Result<Option<String>, Failure> {
        let [data, log] = (self.kind.footprint_bytes)(&self.order());
        let shown = sanitize::line(&self.shown());
        console.say(&format!(
            "Will make a server of its own, run it and remove it: {shown}."
        ));
        let writes = |bytes| PlannedWrites {
            footprint_bytes: bytes,
            write_bytes: bytes,
            max_write_bytes: plan.max_write_bytes,
            is_server: true,
            ..PlannedWrites::default()
        };
        match &self.data {
            None => self.log.announce(&writes(data + log), lines, plan, console),
            Some(apart) => {
                let first = apart.announce(&writes(data), &[], plan, console)?;
                let second = self.log.announce(&writes(log), lines, plan, console)?;
                Ok(second.or(first))
            }
        }
    }

    /// Bytes that making it writes at most, by estimate.
    pub(crate) fn making_bytes(&self) -> u64 {
        (self.kind.making_bytes)(&self.order())
    }

    fn order(&self) -> ManagedPlan {
        ManagedPlan {
            programs: self.plan.programs.clone(),
            settings: self.plan.settings.clone(),
            interrupted: Arc::default(),
        }
    }

    /// Makes and starts the server, ready for `rows`. `folders` has the work folder at the place of
    /// its redo.
    ///
    /// # Errors
    /// Of making it.
    pub(crate) fn make(
        &self,
        mut folders: Vec<WorkFolder>,
        rows: &[Spec],
        budget: &Arc<Budget>,
        console: &dyn Console,
    ) -> Result<(LoadTarget, Vec<WorkFolder>), Failure> {
        let counted = budget.count_children();
        counted.map_err(Failure::system(
            "--max-write: counting what a server writes",
        ))?;
        if let Some(data) = &self.data {
            folders.extend(data.site(&LogPlan::default(), console)?.into_folders());
        }
        // The last one is that of the data.
        let server = ManagedFolders {
            data: tree(&folders[folders.len() - 1], DATA)?,
            log: tree(&folders[0], LOG)?,
        };
        let mut order = self.order();
        let phase = ConsolePhase::begin(console, "the server", 0);
        let made = make_watched(budget, console.interrupt(), |stop| {
            order.interrupted = stop;
            (self.kind.make)(&order, &server)
        })?;
        let opened = made.map_err(|error| match console.interrupt().requested() {
            true => Failure::Interrupted,
            false => error.into(),
        })?;
        opened.check()?;
        phase.done("started");
        let driver: Arc<dyn Driver> = Arc::from(opened.driver);
        let ended = Arc::downgrade(&driver);
        cleanup::before_all(move || {
            if let Some(driver) = ended.upgrade() {
                // Its folders are removed next, however it ends.
                let _ = driver.close();
            }
        });
        // The cluster was made without flushes: what is measured begins after them.
        self.log.settle(console)?;
        Ok((LoadTarget::behind(driver, rows, budget)?, folders))
    }
}

/// Makes a directory of the server in a work folder.
fn tree(folder: &WorkFolder, name: &str) -> Result<HeldFolder, Failure> {
    let made = folder.make_tree(name);
    let made = made.map_err(Failure::system("making the directories of a server"))?;
    Ok(HeldFolder {
        held: made.descriptor(),
        path: made.path().to_owned(),
    })
}
