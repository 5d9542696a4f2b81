//! redolab's own log: every log writer that the library knows is a variant, with commits that wait,
//! with many under way, or with tasks that await them.

use super::{Class, Opened, Peer, Place, Step, Task, blocking};
use crate::AnyError;
use redo::CommitPost;
use redo::{CommitMode, Log, LogFileSync, LogWriter, Options, Shape};
use std::sync::Arc;
use std::time::Instant;

pub const AUTO: Peer = Peer {
    name: "redolab:auto",
    class: Class::Own,
    package: "redolab-redo",
    settings: "Options::default(): the back end that its probe finds, log buffer of 16 MiB; three \
               log files of 128 MiB, written before the load; COMMIT WRITE WAIT IMMEDIATE; a checkpoint \
               after each log switch",
    open: Some(open),
};

pub const INLINE: Peer = Peer {
    name: "redolab:inline",
    settings: "the same with committing threads that write for all",
    ..AUTO
};

pub const LGWR: Peer = Peer {
    name: "redolab:lgwr",
    settings: "the same with a dedicated log writer",
    ..AUTO
};

pub const WORKERS: Peer = Peer {
    name: "redolab:workers=2",
    settings: "the same with a dedicated log writer and two workers",
    ..AUTO
};

pub const ADAPTIVE: Peer = Peer {
    name: "redolab:adaptive",
    settings: "the same with a log writer that adapts between one and many workers",
    ..AUTO
};

pub const TASKS: Peer = Peer {
    name: "redolab:auto+tasks",
    settings: "the same with committers that are tasks of tokio on two threads, each of which awaits \
               its commit",
    ..INLINE
};

/// How a variant runs the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    pub writer: LogWriter,
    pub learn: LogFileSync,
    /// Commits that each committer keeps under way.
    pub under_way: u32,
    /// Committers are tasks, not threads.
    pub tasks: bool,
}

/// The mode of a variant: a log writer, then how foregrounds learn and how many commits each keeps
/// under way where that is not post/wait and one (`lgwr`, `inline+polling`, `inline+async=1024`);
/// `+tasks` makes the committers tasks that await their commits.
pub fn mode(variant: &str) -> Result<Mode, AnyError> {
    let mut parts = variant.split('+');
    let writer: LogWriter = parts.next().unwrap_or("").parse()?;
    let mut mode = Mode {
        writer,
        learn: writer.usual_log_file_sync(),
        under_way: 1,
        tasks: false,
    };
    for part in parts {
        match part.split_once('=') {
            Some(("async", count)) => match count.parse() {
                Ok(count) if (1..=1 << 20).contains(&count) => mode.under_way = count,
                _ => return Err(format!("async={count}: use 1 to {}", 1 << 20).into()),
            },
            _ if part == "tasks" => mode.tasks = true,
            _ => mode.learn = part.parse()?,
        }
    }
    if mode.tasks && mode.under_way > 1 {
        return Err(
            "a task has one commit under way: use more tasks, or `async` without them".into(),
        );
    }
    Ok(mode)
}

fn open(place: &Place) -> Result<Opened, AnyError> {
    let mode = mode(place.variant)?;
    let shape = Shape::default().file_bytes(128 << 20);
    Log::builder(place.directory).shape(shape).create()?;
    let options = Options::default()
        .log_writer(mode.writer)
        .log_file_sync(mode.learn);
    let log = Arc::new(Log::builder(place.directory).options(options).open()?.0);
    let committer = |_| match mode.under_way {
        1 => waiting(&log),
        under_way => asynchronous(&log, under_way),
    };
    let (threads, tasks) = match mode.tasks {
        true => (0, place.threads),
        false => (place.threads, 0),
    };
    let steps = (0..threads).map(committer).collect();
    let tasks = (0..tasks).map(|_| task(&log)).collect();
    let checkpointed = Arc::clone(&log);
    let mut last = log.durable().log_seq;
    let housekeeping = Box::new(move || {
        let durable = checkpointed.durable();
        if durable.log_seq > last {
            last = durable.log_seq;
            checkpointed.checkpoint(durable)?;
        }
        Ok(())
    });
    Ok(Opened {
        steps,
        tasks,
        in_flight: mode.under_way,
        housekeeping: Some(housekeeping),
        log: Box::new(log),
    })
}

fn waiting(log: &Log) -> Step {
    let mut session = log.session();
    blocking(move |record| {
        session.append(&[record])?;
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
        Ok(())
    })
}

/// Awaits each of its commits.
fn task(log: &Log) -> Task {
    let mut session = log.session();
    Box::new(move |mut tape| {
        Box::pin(async move {
            while !tape.is_over() {
                let record = tape.next_record();
                let since = Instant::now();
                let ticket = match session.append(&[record]) {
                    Ok(_) => session.commit_async(CommitPost::Immediate),
                    Err(refused) => Err(refused),
                };
                let done = match ticket {
                    Ok(ticket) => ticket.await,
                    Err(refused) => Err(refused),
                };
                if let Err(error) = done {
                    return (tape, Err(error.into()));
                }
                tape.acknowledged(since);
            }
            (tape, Ok(()))
        })
    })
}

/// Fills its queue, then takes what is durable.
fn asynchronous(log: &Log, in_flight: u32) -> Step {
    let mut session = log.session();
    let mut completions = log.completions(in_flight as usize);
    Box::new(move |tape| {
        while completions.len() < completions.capacity() {
            let record = tape.next_record();
            let since = Instant::now();
            session.append(&[record])?;
            let ticket = session.commit_async(CommitPost::Immediate)?;
            let pushed = completions.push(ticket, since);
            pushed.map_err(|_| "the queue has room, and takes no ticket")?;
        }
        completions.wait();
        while let Some(done) = completions.take() {
            done.outcome?;
            tape.acknowledged(done.tag);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_log_writers_and_commits_under_way() {
        let (plain, learn) = (LogWriter::Lgwr, LogFileSync::PostWait);
        assert!(mode("lgwr+tasks").expect("known").tasks);
        for (variant, writer, learn, under_way) in [
            ("lgwr", plain, learn, 1),
            ("inline+async=1024", LogWriter::Inline, learn, 1024),
            ("lgwr+polling", plain, LogFileSync::Polling, 1),
            ("lgwr+adaptive+async=4", plain, LogFileSync::Adaptive, 4),
        ] {
            let found = mode(variant).expect("known");
            let wanted = Mode {
                writer,
                learn,
                under_way,
                tasks: false,
            };
            assert_eq!(found, wanted, "{variant}");
        }
        for wrong in [
            "",
            "fast",
            "lgwr+async=0",
            "lgwr+async=many",
            "+async=4",
            "lgwr+asking",
            "lgwr+tasks+async=4",
        ] {
            assert!(mode(wrong).is_err(), "{wrong}");
        }
    }
}
