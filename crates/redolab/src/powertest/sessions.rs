//! Sessions that commit unique records through the embedded log, and the checkpoint behind them.
//!
//! Invariants: an acknowledgement is queued only when the commit has returned and its redo is
//! durable; the checkpoint moves only to a position that the server has released.

use super::PowerTestError;
use super::acks::{AckQueue, AckRequests};
use super::messages::{PowerAck, PowerRequest};
use super::order::{PlantedWriterBug, StopFlags};
use super::records::{TestId, hash, record};
use redo::{CommitMode, Log, Rba, Session};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often the checkpoint is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// What all sessions share.
pub(super) struct SessionPlan {
    pub(super) log: Arc<Log>,
    pub(super) test: TestId,
    pub(super) payload_bytes: usize,
    pub(super) queue: Arc<AckQueue>,
    pub(super) stop: Arc<StopFlags>,
    pub(super) planted: PlantedWriterBug,
}

/// Commits as session number `number` until it is stopped.
pub(super) fn run(plan: &SessionPlan, number: u32) -> Result<(), PowerTestError> {
    let mut session = plan.log.session();
    let mut payload = vec![0; plan.payload_bytes];
    for sequence in 0.. {
        if plan.stop.is_asked() || !plan.stop.may_commit() {
            break;
        }
        record(&mut payload, plan.test, number, sequence);
        let rba = session.append(&[&payload])?;
        let ack = PowerAck {
            stream: 0,
            session: number,
            sequence,
            at: plan.log.geometry().stream_block(rba).unwrap_or(u64::MAX),
            offset: u32::from(rba.offset),
            length: payload.len() as u32,
            hash: hash(&payload),
            after: 0,
        };
        if !commit(plan, &mut session, ack)? {
            break;
        }
    }
    Ok(())
}

/// Commits and acknowledges; false where nobody takes the acknowledgement any more.
fn commit(
    plan: &SessionPlan,
    session: &mut Session,
    ack: PowerAck,
) -> Result<bool, PowerTestError> {
    let acknowledge = || {
        plan.queue.number();
        plan.queue.push(ack.session as usize, ack)
    };
    if plan.planted == PlantedWriterBug::AcknowledgeBeforeCommit {
        let taken = acknowledge();
        session.commit(CommitMode::WAIT_IMMEDIATE)?;
        return Ok(taken);
    }
    let commit = session.commit(CommitMode::WAIT_IMMEDIATE)?;
    // A commit that waits and returns is durable; one that is not was not acknowledged.
    Ok(commit.durable && acknowledge())
}

/// Moves the checkpoint so that log files can be used again: with `groups` of them, when redo
/// reaches a log, up to where redo was when it reached the log that is `groups` - 2 before. So as
/// much as possible stays to be asked for.
pub(super) fn move_checkpoint(
    log: &Log,
    requests: &AckRequests,
    stop: &StopFlags,
) -> Result<(), PowerTestError> {
    let geometry = *log.geometry();
    let kept = geometry.groups.saturating_sub(2) as usize;
    let mut reached: VecDeque<Rba> = VecDeque::new();
    let mut last = log.durable().log_seq;
    while !stop.is_over() {
        std::thread::sleep(LOOK);
        let durable = log.durable();
        if durable.log_seq <= last {
            continue;
        }
        last = durable.log_seq;
        reached.push_back(durable);
        if reached.len() <= kept {
            continue;
        }
        let Some(upto) = reached.pop_front() else {
            continue;
        };
        let request = PowerRequest::Release {
            stream: 0,
            at: geometry.stream_block(upto).unwrap_or(0),
            offset: u32::from(upto.offset),
        };
        // Without the server's answer the redo stays. Sessions that wait for room would wait for
        // ever, so the log is closed; that it could not write what is left is expected.
        if requests.ask(request).is_err() {
            stop.ask();
            let _ = log.close();
            return Ok(());
        }
        log.checkpoint(upto)?;
        stop.switches.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
