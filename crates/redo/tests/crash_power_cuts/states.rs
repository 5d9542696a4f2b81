//! Crash states of a disk: what a power cut may leave of the log's files when every write since
//! the last flush was kept, lost or torn, each by itself.
//!
//! Invariant: everything that was logged before the last flush is there; of what came after,
//! any 512-byte sector may be; nothing that came after the crash is.

use crate::requests::Event;
use measure::workload::split_mix;
use std::path::Path;

const SECTOR: usize = 512;

/// Where a part of a file lies on the disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub logical: u64,
    pub physical: u64,
    pub len: u64,
}

/// A file of the log: its bytes, and where they lie.
#[derive(Clone)]
pub struct Mapped {
    pub name: String,
    pub size: u64,
    /// Of its extents, which may reach beyond its size.
    pub bytes: Vec<u8>,
    pub extents: Vec<Extent>,
}

/// A piece of a write in one file.
struct Piece<'a> {
    file: usize,
    at: usize,
    data: &'a [u8],
}

/// Walks through the crash states of a log of events.
pub struct States<'a> {
    events: &'a [Event],
    /// Everything before `flushed` is in it.
    durable: Vec<Mapped>,
    flushed: usize,
}

impl<'a> States<'a> {
    /// From the files as they were, durably, when the log of events began.
    pub fn new(files: Vec<Mapped>, events: &'a [Event]) -> States<'a> {
        States {
            events,
            durable: files,
            flushed: 0,
        }
    }

    /// The files after a crash before event `at`, which must not go back; and how many writes
    /// to them were under way.
    pub fn after(&mut self, at: usize, state: &mut u64) -> (Vec<Mapped>, usize) {
        let is_flush = |event: &Event| matches!(event, Event::Flush);
        let flush = self.events[..at].iter().rposition(is_flush).unwrap_or(0);
        let settled = &self.events[self.flushed..flush.max(self.flushed)];
        for event in settled {
            for piece in pieces(&self.durable, event) {
                let to = piece.at..piece.at + piece.data.len();
                self.durable[piece.file].bytes[to].copy_from_slice(piece.data);
            }
        }
        self.flushed = flush.max(self.flushed);
        let mut files = self.durable.clone();
        let mut under_way = 0;
        // All lost, all kept, or each by its own chance.
        let fate = split_mix(state) % 6;
        for event in &self.events[self.flushed..at] {
            let pieces = pieces(&self.durable, event);
            under_way += usize::from(!pieces.is_empty());
            let own = if fate < 2 { fate } else { split_mix(state) % 3 };
            for piece in pieces {
                keep(&mut files, &piece, own, state);
            }
        }
        (files, under_way)
    }
}

/// Keeps nothing (0), all (1), or any sectors (2) of a piece.
fn keep(files: &mut [Mapped], piece: &Piece, fate: u64, state: &mut u64) {
    for (number, sector) in piece.data.chunks(SECTOR).enumerate() {
        let kept = match fate {
            0 => false,
            1 => true,
            _ => split_mix(state).is_multiple_of(2),
        };
        if kept {
            let at = piece.at + number * SECTOR;
            files[piece.file].bytes[at..at + sector.len()].copy_from_slice(sector);
        }
    }
}

/// What a write is to the files.
fn pieces<'e>(files: &[Mapped], event: &'e Event) -> Vec<Piece<'e>> {
    let Event::Write { at, data } = event else {
        return Vec::new();
    };
    let (begin, end) = (*at, *at + data.len() as u64);
    let mut pieces = Vec::new();
    for (file, mapped) in files.iter().enumerate() {
        for extent in &mapped.extents {
            let from = begin.max(extent.physical);
            let to = end.min(extent.physical + extent.len);
            if from < to {
                pieces.push(Piece {
                    file,
                    at: (extent.logical + from - extent.physical) as usize,
                    data: &data[(from - begin) as usize..(to - begin) as usize],
                });
            }
        }
    }
    pieces
}

/// Writes the files into a directory.
pub fn put(directory: &Path, files: &[Mapped]) -> std::io::Result<()> {
    for file in files {
        let bytes = &file.bytes[..(file.size as usize).min(file.bytes.len())];
        std::fs::write(directory.join(&file.name), bytes)?;
    }
    Ok(())
}

/// Reads what `filefrag -v -b512` prints of one file: its size in bytes, and its extents. `None`
/// for one that has none, or whose blocks were never written.
pub fn extents(text: &str) -> Option<(u64, Vec<Extent>)> {
    let size = text.lines().find_map(|line| {
        let (_, rest) = line.strip_prefix("File size of ")?.split_once(" is ")?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    })?;
    let mut extents = Vec::new();
    for line in text.lines() {
        let fields = line.split([':', '.']).map(str::trim);
        let fields: Vec<&str> = fields.filter(|f| !f.is_empty()).collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        // Number, first and last logical, first and last physical, length.
        let all = [0, 1, 2, 3, 4, 5].map(number);
        if let [
            Some(_),
            Some(logical),
            Some(_),
            Some(physical),
            Some(_),
            Some(len),
        ] = all
        {
            if line.contains("unwritten") {
                return None;
            }
            let sector = SECTOR as u64;
            extents.push(Extent {
                logical: logical * sector,
                physical: physical * sector,
                len: len * sector,
            });
        }
    }
    (!extents.is_empty()).then_some((size, extents))
}

#[test]
fn extents_are_read_and_states_keep_what_was_flushed() {
    let text = "Filesystem type is: ef53\n\
        File size of a is 524288 (1024 blocks of 512 bytes)\n \
        ext:     logical_offset:        physical_offset: length:   expected: flags:\n   \
        0:        0..    1015:      17408..     18423:   1016:             last,eof\n   \
        1:     1016..    1023:      32768..     32775:      8:      18424: last,eof\n\
        a: 2 extents found\n";
    let (size, extents) = extents(text).expect("two");
    assert_eq!(size, 524_288);
    assert_eq!(extents.len(), 2);
    let second = Extent {
        logical: 1016 * 512,
        physical: 32768 * 512,
        len: 4096,
    };
    assert_eq!(extents[1], second);
    let file = Mapped {
        name: "a".to_owned(),
        size,
        bytes: vec![0; 524_288],
        extents,
    };
    let write = |sector: u64, value| Event::Write {
        at: sector * 512,
        data: vec![value; 1024],
    };
    let events = [
        write(17408, 1),
        Event::Flush,
        write(17409, 2),
        write(1, 9),
        write(32767, 3),
    ];
    let mut seen = [[false; 2]; 4];
    for seed in 0..200_u64 {
        let mut state = seed;
        let mut states = States::new(vec![file.clone()], &events);
        let (files, under_way) = states.after(5, &mut state);
        assert_eq!(under_way, 2);
        let sector = |at: usize| files[0].bytes[at * 512];
        assert_eq!(sector(0), 1, "flushed");
        for (at, old, new, slot) in [(1, 1, 2, 0), (2, 0, 2, 1), (1016, 0, 3, 2)] {
            assert!([old, new].contains(&sector(at)));
            seen[slot][usize::from(sector(at) == new)] = true;
        }
        let (files, under_way) = States::new(vec![file.clone()], &events).after(1, &mut state);
        assert_eq!(under_way, 1);
        seen[3][usize::from(files[0].bytes[0] == 1)] = true;
    }
    assert_eq!(seen, [[true; 2]; 4], "kept and lost, each");
}
