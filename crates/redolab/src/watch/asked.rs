//! The server of a watched log, asked at both ends of the watched time while events are taken: what
//! it counted, how it is set, and how many sessions it had.
//!
//! Invariant: a server that does not answer ends nothing; what it did not answer is unknown.

use super::server::{ServerGrown, ServerTally};
use super::tally::WatchTally;
use super::watching::{SETTLED_NS, Watching, mono_ns};
use crate::experiment::Failure;
use drivers::collect::ReadServer;
use measure::driver::DriverError;
use measure::run::{ScopedSetting, WatchedFacts};
use std::collections::BTreeSet;
use std::time::Duration;

/// How often it is looked whether the server has answered.
const ANSWER: Duration = Duration::from_millis(2);

/// What a server answered.
type Reading = Result<ServerTally, DriverError>;

/// What the server has counted so far, while events are taken; `None` where no server is asked.
pub(super) fn counted(
    server: &mut Option<Box<dyn ReadServer>>,
    watching: &mut Watching,
    tally: &mut WatchTally,
) -> Result<Option<Reading>, Failure> {
    let Some(mut asked) = server.take() else {
        return Ok(None);
    };
    let thread = std::thread::Builder::new().name("asking".to_owned());
    let reading = thread.spawn(move || {
        let read = ServerTally::read(&mut *asked);
        (asked, read)
    });
    let reading = reading.map_err(Failure::system("starting the thread that asks the server"))?;
    while !reading.is_finished() {
        std::thread::sleep(ANSWER);
        watching.drain(mono_ns().saturating_sub(SETTLED_NS), tally)?;
    }
    let Ok((asked, read)) = reading.join() else {
        return Ok(None);
    };
    *server = Some(asked);
    Ok(Some(read))
}

/// What the server counted between two readings, and why that is unknown. `facts` take over how it
/// is set.
pub(super) fn grown(
    before: Option<Reading>,
    after: Option<Reading>,
    facts: &mut WatchedFacts,
) -> (ServerGrown, Option<String>) {
    if let Some(Ok(before)) = &before {
        facts.settings.clone_from(&before.settings);
        facts.scoped_settings.clone_from(&before.scoped);
    }
    if let Some(Ok(after)) = &after {
        let scoped = after
            .scoped
            .iter()
            .cloned()
            .chain(facts.scoped_settings.drain(..));
        let scoped: BTreeSet<ScopedSetting> = scoped.collect();
        facts.scoped_settings = scoped.into_iter().collect();
        let changed = after.settings.iter().filter(|(name, value)| {
            let before = facts.settings.get(*name);
            before.is_none_or(|before| before != *value)
        });
        facts.changed_settings = changed.map(|(n, v)| (n.clone(), v.clone())).collect();
    }
    let Some((before, after)) = before.zip(after) else {
        return (ServerGrown::default(), None);
    };
    let both = before.and_then(|before| Ok(after?.since(&before)));
    match both {
        Ok(grown) => (grown, None),
        Err(error) => (
            ServerGrown::default(),
            Some(format!("The server's own counts are unknown: {error}")),
        ),
    }
}

/// Sessions of a server, as processes below its own and by its own count.
pub(super) struct SessionCount {
    /// Its processes that are no sessions.
    others: u64,
    /// At one time, at most.
    pub(super) most: Option<u64>,
}

impl SessionCount {
    pub(super) fn of(reading: Option<&Reading>, watching: &Watching) -> SessionCount {
        let most = reading.and_then(|reading| reading.as_ref().ok()?.sessions);
        let processes = watching.subject.processes().len() as u64;
        SessionCount {
            others: processes.saturating_sub(most.unwrap_or(0)),
            most,
        }
    }

    pub(super) fn look(&mut self, watching: &Watching) {
        if let Some(most) = &mut self.most {
            let processes = watching.subject.processes().len() as u64;
            *most = processes.saturating_sub(self.others).max(*most);
        }
    }

    pub(super) fn add(&mut self, reading: Option<&Reading>) {
        let now = reading.and_then(|reading| reading.as_ref().ok()?.sessions);
        self.most = self.most.zip(now).map(|(most, now)| most.max(now));
    }
}
