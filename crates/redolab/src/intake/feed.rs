//! Feeding one file to an import, in chunks.

pub use super::failed::Failed;

use super::find::Input;
use super::parallel;
use super::redacted::{RedactedReader, learn_file};
use super::unpack::Unpacked;
use super::waiting::Waiting;
use crate::signals::Interrupt;
use evidence::redact::Redactor;
use evidence::{Import, Options, Reading};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// How files are read.
#[derive(Debug)]
pub struct Feeding<'a> {
    /// Bytes of a compressed file after decompression, at most.
    pub max_unpacked: u64,
    /// Whether the user asked to stop.
    pub interrupt: &'a Interrupt,
    /// What replaces names and statements, where they are to be replaced.
    pub redactor: Option<Redactor>,
}

impl Feeding<'_> {
    /// The name of a file as results show it.
    pub fn shown(&mut self, input: &Input) -> String {
        let path = input.path.display().to_string();
        match &mut self.redactor {
            Some(redactor) if redactor.redaction().names => redactor.file(&path),
            _ => path,
        }
    }

    /// Opens and unpacks a file.
    ///
    /// # Errors
    /// See [`Failed`].
    pub fn open(&mut self, input: &Input) -> Result<Unpacked, Failed> {
        let name = self.shown(input);
        let interrupt = self.interrupt;
        let open = |e: io::Error| Failed::Open(format!("{name}: {e}"));
        let raw: Box<dyn Read> = if input.path.as_os_str() == "-" {
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
        let begun = Unpacked::new(raw, self.max_unpacked);
        if interrupt.requested() {
            return Err(Failed::Interrupted);
        }
        begun.map_err(open)
    }
}

/// A file that was read and is not part of the import yet.
#[derive(Debug)]
pub struct FedFile {
    /// Its name, as results show it.
    name: String,
    reading: Reading,
    /// Why it was read only up to a damage.
    cut: Option<String>,
    /// Bytes that it gave, unpacked.
    given: u64,
}

/// Learns the names of files, before any of them is given on. Files that cannot be read are left
/// to the reading that follows, which reports why.
///
/// # Errors
/// Standard input or a pipe, which can be read only once, or an interruption.
pub fn learn(inputs: &[Input], feeding: &mut Feeding<'_>) -> Result<(), Failed> {
    for input in inputs {
        let kind = std::fs::metadata(&input.path).map(|found| found.is_file());
        if input.path.as_os_str() == "-" || kind.is_ok_and(|is_file| !is_file) {
            return Err(Failed::Open(
                "--redact names: files are read twice, to learn the names first; standard input \
                 and pipes can be read only once: write them to a file"
                    .to_owned(),
            ));
        }
        let unpacked = match feeding.open(input) {
            Ok(unpacked) => unpacked,
            Err(Failed::Interrupted) => return Err(Failed::Interrupted),
            Err(_) => continue,
        };
        let Some(redactor) = &mut feeding.redactor else {
            return Ok(());
        };
        let path = input.path.display().to_string();
        learn_file(unpacked, &path, redactor, feeding.interrupt)?;
    }
    Ok(())
}

/// Reads a file into the import.
///
/// # Errors
/// See [`Failed`].
pub fn file(
    input: &Input,
    import: &mut Import,
    feeding: &mut Feeding<'_>,
    samples: &mut dyn Write,
) -> Result<(), Failed> {
    let options = import.options().clone();
    let fed = begin(input, &options, feeding, samples)?;
    finish(fed, input, import, samples)
}

/// Reads a file; [`finish`] makes it part of the import.
///
/// # Errors
/// See [`Failed`].
pub fn begin(
    input: &Input,
    options: &Options,
    feeding: &mut Feeding<'_>,
    samples: &mut dyn Write,
) -> Result<FedFile, Failed> {
    let interrupt = feeding.interrupt;
    let name = feeding.shown(input);
    let mut unpacked = feeding.open(input)?;
    let mut reading = Reading::open(options, &name, unpacked.packing());
    let outcome = match &mut feeding.redactor {
        Some(redactor) => {
            let mut redacted = RedactedReader::new(&mut unpacked, redactor);
            pump(&mut redacted, &mut reading, interrupt, samples)
        }
        None => pump(&mut unpacked, &mut reading, interrupt, samples),
    };
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
        name,
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
    let name = fed.name;
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
    from: &mut dyn Read,
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
