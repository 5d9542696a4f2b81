//! Several logs as one target, each in a folder of its own, with one clock.

use super::{LoadTarget, Observers, Setup, asked_of, make_in, opened_bytes, options_of, place_of};
use crate::cleanup::WorkFolder;
use crate::experiment::Failure;
use drivers::embedded::{EmbeddedLog, EmbeddedNodes, null_layout};
use measure::RealClock;
use redo::engine::open;
use redo::{Layout, Log};
use std::sync::Arc;

/// Makes a log in each of `folders` and opens all.
///
/// # Errors
/// Of making and opening; `cancel` gives [`Failure::Interrupted`].
pub(super) fn in_folders(
    folders: &[WorkFolder],
    setup: Setup,
    progress: &dyn Fn(u64, u64),
    cancel: &dyn Fn() -> bool,
) -> Result<LoadTarget, Failure> {
    for (before, folder) in (0_u64..).zip(folders) {
        let report =
            |done: u64, all: u64| progress(before * all + done, folders.len() as u64 * all);
        make_in(folder, &setup, &report, cancel)?;
    }
    let groups = setup.log.shape.groups;
    let each = folders.iter().map(|folder| {
        let directory = folder.directory();
        (Layout::from(directory), open::unwritten(directory, groups))
    });
    let directories = folders.iter().map(place_of).collect();
    opened(each.collect(), directories, &setup)
}

/// Logs on null devices.
pub(super) fn null(setup: Setup) -> Result<LoadTarget, Failure> {
    let layout = |_| Ok((null_layout(&setup.log.shape, |device| device)?, None));
    let each = (0..setup.log.nodes).map(layout);
    let each = each.collect::<Result<Vec<_>, redo::Error>>()?;
    let directories = each.iter().map(|_| "null".to_owned()).collect();
    opened(each, directories, &setup)
}

/// Opens logs, each with the extents that its file system holds as unwritten.
fn opened(
    layouts: Vec<(Layout, Option<u64>)>,
    directories: Vec<String>,
    setup: &Setup,
) -> Result<LoadTarget, Failure> {
    let observers = Observers::new(setup);
    let clock = RealClock::new();
    let (mut logs, mut made_bytes) = (Vec::new(), setup.log.footprint_bytes());
    for (node, (layout, unwritten_extents)) in layouts.into_iter().enumerate() {
        let ways = options_of(node, setup, &observers).clock(clock);
        let (log, _) = Log::builder(layout).options(ways).open()?;
        made_bytes += opened_bytes(&log, setup);
        let mut asked = asked_of(setup);
        asked.unwritten_extents = unwritten_extents;
        let log = EmbeddedLog::start(log, asked);
        logs.push(log.map_err(Failure::system("starting the checkpoint thread"))?);
    }
    let Observers { recorder, meter } = observers;
    for log in &logs {
        meter.describe(log.log().geometry().block_bytes, log.sync_method());
    }
    Ok(LoadTarget {
        driver: Arc::new(EmbeddedNodes::new(logs, directories)),
        recorder,
        meter,
        storage: None,
        made_bytes,
    })
}
