//! What a planned target turns out to be on this machine.

use super::identified::not_a_directory;
use super::managed::ManagedServer;
use super::place::LogPlace;
use crate::experiment::Failure;
use crate::experiment::plan::{MeasurementPlan, PlannedTarget};
use measure::driver::{Driver, DriverKind, OpenedTarget};
use std::sync::Arc;

/// What a planned target turned out to be.
pub(crate) enum Identified {
    /// The null device.
    Null,
    /// A place for a log.
    Path(Box<LogPlace>),
    /// A server that will be made.
    Server(Box<ManagedServer>),
    /// What others made, behind its driver.
    Opened {
        /// Its address without a password.
        shown: String,
        /// The driver.
        driver: Arc<dyn Driver>,
    },
}

impl Identified {
    /// Looks at what is planned, and refuses what cannot be measured there. `drivers` are those
    /// that there are.
    ///
    /// # Errors
    /// Whatever makes it no target, with what to do.
    pub(crate) fn of(
        planned: &PlannedTarget,
        plan: &MeasurementPlan,
        drivers: &[DriverKind],
    ) -> Result<Identified, Failure> {
        match planned {
            PlannedTarget::Null => Ok(Identified::Null),
            PlannedTarget::Path {
                path,
                destroy,
                more,
            } => {
                let mut target = LogPlace::at(path, destroy.as_deref())?;
                target.add(more, &plan.log)?;
                if plan.log.nodes > 1 && target.is_device() {
                    return Err(not_a_directory(&target));
                }
                if !plan.rows.is_empty() {
                    target.check_log(&plan.log, &plan.rows)?;
                }
                Ok(Identified::Path(Box::new(target)))
            }
            PlannedTarget::Driver { name, address } => opened(name, &address.0, plan, drivers),
            PlannedTarget::Managed(planned) => {
                let kind = kind_of(&planned.driver, drivers)?;
                refuse_options(&planned.driver, plan, false)?;
                let server = ManagedServer::of(planned, kind)?;
                Ok(Identified::Server(Box::new(server)))
            }
        }
    }

    /// The place for a log, where it is one.
    pub(crate) fn path(&self) -> Option<&LogPlace> {
        match self {
            Identified::Path(target) => Some(target),
            _ => None,
        }
    }

    /// The server that is to be made, where it is one.
    pub(crate) fn server(&self) -> Option<&ManagedServer> {
        match self {
            Identified::Server(server) => Some(server),
            _ => None,
        }
    }

    /// The place whose device is measured, as far as there is one.
    pub(crate) fn device(&self) -> Option<&LogPlace> {
        match self {
            Identified::Path(target) => Some(target),
            Identified::Server(server) => Some(&server.log),
            Identified::Null | Identified::Opened { .. } => None,
        }
    }
}

/// The driver that `name` names.
fn kind_of<'a>(name: &str, drivers: &'a [DriverKind]) -> Result<&'a DriverKind, Failure> {
    drivers
        .iter()
        .find(|kind| kind.is_called(name))
        .ok_or_else(|| {
            let known: Vec<&str> = drivers.iter().map(|kind| kind.name).collect();
            Failure::Unusable(format!(
                "there is no driver `{name}`; there are: {}",
                known.join(", ")
            ))
        })
}

/// Refuses options that need what a driver does not know.
fn refuse_options(name: &str, plan: &MeasurementPlan, is_open: bool) -> Result<(), Failure> {
    let refused = [
        (
            plan.max_write_bytes.is_some() && is_open,
            "--max-write",
            "redolab counts the writes of the processes that it starts, and a server that exists \
             already is none of them. Limit the load instead (fewer rows, --time, --commits, \
             --soak), or measure a private server (--driver NAME --on DIR)",
        ),
        (plan.events, "--events", "log writes are not observed there"),
        (
            plan.rows.is_empty() && is_open,
            "probe",
            "the device is not known",
        ),
    ];
    match refused.iter().find(|(asked, ..)| *asked) {
        None => Ok(()),
        Some((_, option, why)) => Err(Failure::Unusable(format!(
            "{option} is not possible with the driver {name}: {why}"
        ))),
    }
}

fn opened(
    name: &str,
    address: &str,
    plan: &MeasurementPlan,
    drivers: &[DriverKind],
) -> Result<Identified, Failure> {
    let kind = kind_of(name, drivers)?;
    refuse_options(name, plan, true)?;
    let opened = (kind.open)(address)?;
    opened.check()?;
    let OpenedTarget { driver, shown } = opened;
    let driver = Arc::from(driver);
    Ok(Identified::Opened { shown, driver })
}
