//! Many small files: threads read them ahead, each one whole, and they become part of the import in
//! their order, so that the result is the same as that of one thread.
//!
//! A file that is long, or no plain file, is left to the caller: a long trace is read by several
//! threads of its own (`parallel`).

use super::feed::{self, Failed, FedFile, Feeding};
use super::find::Input;
use crate::signals::Interrupt;
use evidence::Options;
use std::io;
use std::sync::mpsc::{Receiver, sync_channel};

/// Bytes of a file that is read ahead.
const SMALL_BYTES: u64 = 16 << 20;
/// Files that a thread may have read before they are taken.
const AHEAD: usize = 2;
/// Threads at most.
const THREADS_MAX: usize = 8;

/// What became of reading a file ahead.
pub type ReadAhead = Result<FedFile, Failed>;

/// Hands each input to `each` in order, with what reading it ahead gave; `None` where the caller
/// reads it.
///
/// # Errors
/// The first error of `each`, which ends the reading.
pub fn each<E>(
    inputs: &[Input],
    options: &Options,
    max_unpacked: u64,
    interrupt: &Interrupt,
    mut each: impl FnMut(usize, &Input, Option<ReadAhead>) -> Result<(), E>,
) -> Result<(), E> {
    let small: Vec<bool> = inputs.iter().map(|i| is_small(i, options)).collect();
    let ahead: Vec<&Input> = inputs
        .iter()
        .zip(&small)
        .filter(|(_, s)| **s)
        .map(|(i, _)| i)
        .collect();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = match ahead.len() {
        0 | 1 => 0,
        files => processors.min(files).min(THREADS_MAX),
    };
    std::thread::scope(|scope| {
        let ahead = &ahead;
        let taken: Vec<Receiver<ReadAhead>> = (0..threads)
            .map(|thread| {
                let (give, take) = sync_channel(AHEAD);
                scope.spawn(move || {
                    let mut feeding = Feeding {
                        max_unpacked,
                        interrupt,
                        redactor: None,
                    };
                    for input in ahead.iter().skip(thread).step_by(threads) {
                        let read = feed::begin(input, options, &mut feeding, &mut io::sink());
                        if give.send(read).is_err() {
                            return;
                        }
                    }
                });
                take
            })
            .collect();
        let mut turn = 0;
        for (at, input) in inputs.iter().enumerate() {
            let is_ahead = threads > 0 && small.get(at) == Some(&true);
            let read = is_ahead.then(|| {
                let of = taken
                    .get(turn % threads.max(1))
                    .expect("a receiver for each thread");
                turn += 1;
                of.recv()
                    .expect("a thread gives back every file, or ends with a panic of its own")
            });
            each(at, input, read)?;
        }
        Ok(())
    })
}

/// Whether a file is read ahead. Values that are printed one by one come in the files' order.
fn is_small(input: &Input, options: &Options) -> bool {
    let plain = std::fs::metadata(&input.path).is_ok_and(|m| m.is_file() && m.len() <= SMALL_BYTES);
    plain && options.samples_of.is_none()
}
