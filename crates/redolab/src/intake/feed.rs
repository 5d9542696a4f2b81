//! Feeding one file to an import, in chunks.

pub use super::failed::Failed;

use super::find::Input;
use super::parallel;
use super::unpack::Unpacked;
use super::waiting::Waiting;
use crate::signals::Interrupt;
use evidence::{Import, Options, Reading};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// A file that was read and is not part of the import yet.
#[derive(Debug)]
pub struct FedFile {
    reading: Reading,
    /// Why it was read only up to a damage.
    cut: Option<String>,
    /// Bytes that it gave, unpacked.
    given: u64,
}

/// Reads a file into the import.
///
/// # Errors
/// See [`Failed`].
pub fn file(
    input: &Input,
    import: &mut Import,
    max_unpacked: u64,
    interrupt: &Interrupt,
    samples: &mut dyn Write,
) -> Result<(), Failed> {
    let options = import.options().clone();
    let fed = begin(input, &options, max_unpacked, interrupt, samples)?;
    finish(fed, input, import, samples)
}

/// Reads a file; [`finish`] makes it part of the import.
///
/// # Errors
/// See [`Failed`].
pub fn begin(
    input: &Input,
    options: &Options,
    max_unpacked: u64,
    interrupt: &Interrupt,
    samples: &mut dyn Write,
) -> Result<FedFile, Failed> {
    let name = input.path.display().to_string();
    let open = |e: io::Error| Failed::Open(format!("{name}: {e}"));
    let raw: Box<dyn Read> = if name == "-" {
        Box::new(Waiting::stdin(interrupt).map_err(open)?)
    } else {
        let kind = std::fs::metadata(&input.path).map_err(open)?.file_type();
        if kind.is_fifo() || kind.is_char_device() {
            Box::new(Waiting::stream(&input.path, interrupt).map_err(open)?)
        } else if kind.is_block_device() || kind.is_socket() {
            return Err(Failed::Open(format!(
                "{name}: is a device or socket, not a file"
            )));
        } else {
            Box::new(crate::input::open(&input.path).map_err(open)?)
        }
    };
    let begun = Unpacked::new(raw, max_unpacked);
    if interrupt.requested() {
        return Err(Failed::Interrupted);
    }
    let mut unpacked = begun.map_err(open)?;
    let mut reading = Reading::open(options, &name, unpacked.packing());
    let outcome = pump(&mut unpacked, &mut reading, interrupt, samples);
    if interrupt.requested() && matches!(outcome, Err(Failed::Cut(_))) {
        return Err(Failed::Interrupted);
    }
    if let Err(Failed::Cut(why)) = &outcome {
        reading.cut(format!("read up to here only: {why}"));
    }
    let cut = match outcome {
        Ok(()) => None,
        Err(Failed::Cut(why)) => Some(why),
        Err(other) => return Err(other),
    };
    Ok(FedFile {
        reading,
        cut,
        given: unpacked.given(),
    })
}

/// Makes a file that was read part of the import.
///
/// # Errors
/// See [`Failed`].
pub fn finish(
    fed: FedFile,
    input: &Input,
    import: &mut Import,
    samples: &mut dyn Write,
) -> Result<(), Failed> {
    let name = input.path.display().to_string();
    let (rest, ended) = import.close(fed.reading);
    let cut = fed.cut;
    match (ended, cut) {
        (Ok(()), None) => samples.write_all(&rest).map_err(Failed::Samples),
        (Ok(()), Some(why)) => {
            samples.write_all(&rest).map_err(Failed::Samples)?;
            Err(Failed::Cut(format!("{name}: {why}")))
        }
        // Not that it is no evidence, but why nobody can say so.
        (Err(_), Some(why)) if input.named || fed.given == 0 => Err(Failed::Open(format!(
            "{name}: {why}; nothing was found in the part before"
        ))),
        (Err(refusal), _) => Err(Failed::Refused(refusal)),
    }
}

fn pump(
    from: &mut Unpacked,
    to: &mut Reading,
    interrupt: &Interrupt,
    samples: &mut dyn Write,
) -> Result<(), Failed> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        if to.is_scannable() {
            return parallel::pump(from, to, interrupt, samples);
        }
        if interrupt.requested() {
            return Err(Failed::Interrupted);
        }
        let n = match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(Failed::Cut(e.to_string())),
        };
        to.feed(&chunk[..n]).map_err(Failed::Refused)?;
        samples
            .write_all(&to.take_samples())
            .map_err(Failed::Samples)?;
    }
}
