//! Simulated foregrounds: each is a small machine whose steps are those that a thread could be
//! stopped between: reserve, copy one block's piece, register a commit, look whether it is
//! durable. In some histories they commit by tickets, in the queue that the engine uses.

use super::env::Env;
use super::oracle::Appended;
use super::plan::Plan;
use super::tasks::Tasks;
use crate::buffer::{LogBuffer, Reservation, Source};
use crate::control::Position;
use crate::format::{RECORD_HEADER_BYTES, encode_record_header};
use crate::tickets::{CommitRequest, Tickets, durable_batches};
use measure::workload::split_mix;

/// A foreground.
pub(super) struct Session {
    phase: Phase,
    /// The batch and number of its last record.
    last: Option<(u64, usize)>,
    /// Commits whose outcome is reported later, with the numbers of their last records.
    tickets: Tickets<usize>,
    tasks: Tasks,
}

#[derive(Default)]
enum Phase {
    #[default]
    Idle,
    /// Waits for room for this record, header included.
    Blocked(Vec<u8>),
    Filling {
        reservation: Reservation,
        bytes: Vec<u8>,
        done: u32,
        number: usize,
    },
    Waiting {
        batch: u64,
        number: usize,
        posts: bool,
    },
    Refused,
}

impl Session {
    pub(super) fn new(plan: &Plan) -> Session {
        Session {
            phase: Phase::Idle,
            last: None,
            tickets: Tickets::new(plan.tickets),
            tasks: Tasks::default(),
        }
    }

    /// Tickets outstanding.
    pub(super) fn tickets(&self) -> usize {
        self.tickets.len()
    }

    /// Between reserving and the last byte.
    pub(super) fn is_filling(&self) -> bool {
        matches!(self.phase, Phase::Filling { .. })
    }

    /// Somebody wants redo written: a commit waits, or room is needed.
    pub(super) fn posts(&self) -> bool {
        matches!(
            self.phase,
            Phase::Waiting { posts: true, .. } | Phase::Blocked(_)
        ) || self.tickets.wanted()
            || self.tasks.posts()
    }

    /// The batch behind the last that it waits for.
    pub(super) fn waits_for(&self) -> Option<u64> {
        match self.phase {
            Phase::Waiting { batch, .. } => Some(batch + 1),
            _ => None,
        }
        .max(self.tickets.waits_for())
        .max(self.tasks.waits_for())
    }

    /// Takes what is known of its tickets.
    fn tell(&mut self, buffer: &LogBuffer, poisoned: bool, env: &mut Env) {
        let durable = durable_batches(buffer, env.planted);
        self.tickets.decide(!poisoned, durable);
        while let Some((number, durable)) = self.tickets.take() {
            if durable.is_some() {
                env.coverage.tickets_durable += 1;
                env.acknowledge(number);
            } else {
                env.coverage.tickets_refused += 1;
            }
        }
    }

    /// One step. `closing`: nothing new is begun.
    pub(super) fn step(
        &mut self,
        buffer: &LogBuffer,
        poisoned: bool,
        closing: bool,
        env: &mut Env,
    ) {
        if self.tickets.len() > 0 {
            self.tell(buffer, poisoned, env);
        }
        if env.plan.cancels {
            self.tasks.step(buffer, poisoned, env);
        }
        self.phase = match std::mem::take(&mut self.phase) {
            Phase::Idle if poisoned || closing => Phase::Idle,
            Phase::Idle => self.idle(buffer, env),
            Phase::Blocked(_) if poisoned || closing => Phase::Idle,
            Phase::Blocked(bytes) => reserve(buffer, bytes, env),
            Phase::Filling {
                reservation,
                bytes,
                done,
                number,
            } => self.fill(buffer, reservation, bytes, done, number),
            Phase::Waiting { batch, number, .. } if buffer.published() > batch => {
                env.acknowledge(number);
                Phase::Idle
            }
            Phase::Waiting { .. } if poisoned => {
                env.coverage.refused += 1;
                Phase::Refused
            }
            waiting @ (Phase::Waiting { .. } | Phase::Refused) => waiting,
        };
    }

    fn idle(&mut self, buffer: &LogBuffer, env: &mut Env) -> Phase {
        if let Some((batch, number)) = self.last
            && env.rng.chance(env.plan.commits, 16)
        {
            self.last = None;
            if buffer.published() > batch {
                env.acknowledge(number);
            } else if !env.rng.chance(env.plan.nowait, 16) {
                let posts = env.plan.batch == 0 || !env.rng.chance(env.plan.batch, 16);
                env.coverage.commits_wait_batch += u64::from(!posts);
                buffer.register(batch);
                if env.plan.cancels && self.tasks.has_room() && env.rng.chance(1, 2) {
                    self.tasks.begin(buffer, batch, number, posts);
                    return Phase::Idle;
                }
                if self.tickets.len() >= env.plan.tickets {
                    return Phase::Waiting {
                        batch,
                        number,
                        posts,
                    };
                }
                let ticket = CommitRequest {
                    through: batch + 1,
                    immediate: posts,
                };
                self.tickets.push(ticket, number).expect("room for one");
            } else {
                env.coverage.commits_nowait += 1;
            }
            return Phase::Idle;
        }
        let most = env.plan.max_record - RECORD_HEADER_BYTES as u64;
        let len = match env.rng.below(4) {
            0 => most,
            1 => env.rng.below(17).min(most),
            _ => env.rng.below(most + 1),
        };
        let mut bytes = encode_record_header(len as u32).to_vec();
        while (bytes.len() as u64) < len + RECORD_HEADER_BYTES as u64 {
            bytes.extend_from_slice(&split_mix(&mut env.rng.0).to_le_bytes());
        }
        bytes.truncate(RECORD_HEADER_BYTES + len as usize);
        reserve(buffer, bytes, env)
    }

    fn fill(
        &mut self,
        buffer: &LogBuffer,
        reservation: Reservation,
        bytes: Vec<u8>,
        done: u32,
        number: usize,
    ) -> Phase {
        let mut source = Source::new(&bytes[done as usize..], &[]);
        let done = done + buffer.fill_block(&reservation, done, &mut source);
        if done < reservation.len {
            return Phase::Filling {
                reservation,
                bytes,
                done,
                number,
            };
        }
        self.last = Some((reservation.batch, number));
        Phase::Idle
    }
}

fn reserve(buffer: &LogBuffer, bytes: Vec<u8>, env: &mut Env) -> Phase {
    let len = bytes.len() as u32;
    let Ok(reservation) = buffer.reserve(len) else {
        env.coverage.buffer_full += 1;
        return Phase::Blocked(bytes);
    };
    let geometry = &env.plan.geometry;
    let payload = geometry.payload();
    let place = |offset: u32| Position {
        block: reservation.start + u64::from(offset / payload),
        offset: (offset % payload) as u16,
    };
    let (begin, end) = (place(reservation.offset), place(reservation.end()));
    env.coverage.spanning_records += u64::from(end.block > begin.block && end.offset > 0);
    let appended = Appended {
        rba: geometry.rba(begin.block, begin.offset.into()),
        payload: bytes[RECORD_HEADER_BYTES..].to_vec(),
        begin,
        end,
    };
    match env.oracle.append(appended) {
        Ok(number) => Phase::Filling {
            reservation,
            bytes,
            done: 0,
            number,
        },
        Err(what) => {
            env.violated(format!("buffer protocol: {what}"));
            Phase::Refused
        }
    }
}
