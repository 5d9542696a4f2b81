//! A trace in one block, taken wait by wait, is the oracle: cut anywhere, scanned and sorted apart,
//! it has to give the same. `REDOLAB_IMPORT_SEED` draws other traces.

use crate::trace::{Scanned, TraceReader, scan};
use crate::{Gathered, Notes, Options, Sink, sink::Samples};
use measure::imported::{Diagnostic, Series, Table};
use measure::run::Row;
use measure::workload::split_mix;

/// Everything that a trace gives.
#[derive(Debug, PartialEq)]
struct Given {
    rows: Vec<Row>,
    tables: Vec<Table>,
    series: Vec<Series>,
    diagnostics: Vec<Diagnostic>,
    facts: Vec<(String, String)>,
    lines: u64,
    samples: Vec<u8>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        split_mix(&mut self.0) % n
    }
}

fn given(reader: TraceReader, mut sink: Sink) -> Given {
    let mut out = Gathered::default();
    let ended = reader.end(&mut sink, &mut out);
    Given {
        rows: out.rows,
        tables: out.tables,
        series: out.series,
        samples: sink.samples.take(),
        diagnostics: sink.notes.into_diagnostics(),
        facts: ended.facts,
        lines: ended.lines,
    }
}

fn sink(samples_of: Option<&str>) -> Sink {
    Sink {
        notes: Notes::new("f"),
        samples: Samples::of(samples_of),
    }
}

fn in_order(text: &[u8], samples_of: Option<&str>) -> Given {
    let mut reader = TraceReader::new(&Options::default(), "f");
    let mut sink = sink(samples_of);
    reader.feed(text, &mut sink);
    given(reader, sink)
}

/// In chunks of 1 to `longest` bytes, and how many blocks were taken by groups.
fn in_blocks(
    text: &[u8],
    longest: u64,
    samples_of: Option<&str>,
    random: &mut Random,
) -> (Given, u64) {
    let mut reader = TraceReader::new(&Options::default(), "f");
    let mut sink = sink(samples_of);
    let (mut block, mut scanned) = (Vec::new(), Scanned::default());
    let mut rest = text;
    while !rest.is_empty() {
        let (chunk, more) = rest.split_at(rest.len().min(1 + random.below(longest) as usize));
        rest = more;
        reader.cut(chunk, &mut block);
        scan(&block, &mut scanned);
        reader.absorb(&block, &mut scanned, &mut sink);
    }
    let grouped = reader.merge.grouped;
    (given(reader, sink), grouped)
}

/// What a drawn trace is made of.
struct Shape {
    lines: u64,
    processes: u64,
    events: u64,
    /// One in so many lines is neither a wait nor a change of the process; 0 for none.
    odd: u64,
}

fn draw(shape: &Shape, random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    if random.below(2) == 0 {
        text.push_str(
            "Oracle Database 19c Release 19.0.0.0.0\nUnix process pid: 100, image: o@h (LG00)\n",
        );
    }
    for n in 0..shape.lines {
        if random.below(3) == 0 {
            let pid = 100 + random.below(shape.processes);
            match random.below(40) {
                0 => text.push_str(&format!("Unix process pid: {pid}, image: o@h (P{n})\n")),
                1 => text.push_str(&format!("*** [ Unix process pid: {pid} ]\r\n")),
                _ => text.push_str(&format!("*** [ Unix process pid: {pid} ]\n")),
            }
        }
        if shape.odd > 0 && random.below(shape.odd) == 0 {
            text.push_str(&odd(n, random));
        }
        text.push_str(&wait(n, shape.events, random));
    }
    text.into_bytes()
}

fn wait(n: u64, events: u64, random: &mut Random) -> String {
    let ela = match random.below(50) {
        0 => random.below(u64::MAX),
        1..5 => random.below(3_000_000),
        _ => random.below(900),
    };
    let event = match random.below(events) {
        0 => "log file sync".to_owned(),
        1 => "log file parallel write".to_owned(),
        other => format!("event {other}"),
    };
    let tim = match random.below(20) {
        0 => String::new(),
        1 => format!(" tim={}", random.below(u64::MAX)),
        _ => format!(" tim={}", 1_000_000 + n * 700),
    };
    format!(
        "WAIT #1: nam='{event}' ela= {ela} files=1 blocks={}{tim}\n",
        n % 60
    )
}

/// A line of each other kind.
fn odd(n: u64, random: &mut Random) -> String {
    let sql = "PARSING IN CURSOR #3 len=9 dep=0 uid=1 oct=3 lid=1 tim=1 hv=1 ad='1'\nselect 1\n";
    match random.below(15) {
        0..4 => format!("*** 2013-08-26 14:{:02}:23.035\n", random.below(60)),
        4 => "XCTEND rlbk=0, rd_only=0, tim=1\n".to_owned(),
        5 => "XCTEND rlbk=1, rd_only=0, tim=1\n".to_owned(),
        6 => format!("EXEC #3:c={n},e=44,p=0,cr=1,cu=3,mis=0,r=1,dep=0,og=1,plh=7,tim=1\n"),
        7 => format!("{sql}END OF STMT\n"),
        8 => sql.to_owned(),
        9 => format!("Warning: log write elapsed time {n}ms, size 4KB\n"),
        10 => "kcrfw_alfs_update_mode: post->poll long#=5 sync#=10\n".to_owned(),
        11 => "WAIT #1: nam='log file sync' ela= -7 tim=5\n".to_owned(),
        12 => "WAIT #1: nam='log file sync' ela= 7 tim=5WAIT #2: nam='event 2' ela= 8\n".to_owned(),
        13 => "*** TRACE CONTINUED FROM FILE /x ***\n".to_owned(),
        _ if random.below(20) == 0 => "Oracle8i Enterprise Edition Release 8.1.7.4.0\n".to_owned(),
        _ => "System name:\tLinux\n".to_owned(),
    }
}

fn compare(name: &str, shape: &Shape, longest: u64, seed: u64) -> u64 {
    let mut random = Random(seed);
    let text = draw(shape, &mut random);
    let want = in_order(&text, None);
    let (found, grouped) = in_blocks(&text, longest, None, &mut random);
    assert_eq!(found, want, "{name}, REDOLAB_IMPORT_SEED={seed}");
    grouped
}

fn seed() -> u64 {
    let given = std::env::var("REDOLAB_IMPORT_SEED");
    let seed = given.map_or(20_261_120, |s| {
        s.parse().expect("REDOLAB_IMPORT_SEED is a number")
    });
    println!("REDOLAB_IMPORT_SEED={seed}");
    seed
}

#[test]
fn blocks_give_what_the_whole_gives() {
    let seed = seed();
    let mut grouped = 0;
    for round in 0..24_u64 {
        let shape = Shape {
            lines: 1_500,
            processes: 2 + round * 3,
            events: 1 + round % 7,
            odd: [0, 5, 60][round as usize % 3],
        };
        grouped += compare("drawn", &shape, 40_000, seed + round);
    }
    assert!(grouped > 50, "{grouped} blocks were taken by groups");
}

/// Each bound, with blocks before it that are sorted, and behind it.
#[test]
fn blocks_that_meet_a_bound_give_what_the_whole_gives() {
    let shape = |lines, processes, events| Shape {
        lines,
        processes,
        events,
        odd: 0,
    };
    for (name, shape) in [
        ("processes", shape(16_000, 6_000, 2)),
        ("events", shape(12_000, 40, 30_000)),
        ("pairs", shape(24_000, 200, 400)),
        ("tracks and distributions", shape(130_000, 440, 1)),
    ] {
        let grouped = compare(name, &shape, 200_000, seed());
        assert!(grouped > 0, "{name}");
    }
}

#[test]
fn values_one_by_one_stay_in_order() {
    let mut random = Random(seed());
    let shape = Shape {
        lines: 3_000,
        processes: 30,
        events: 3,
        odd: 20,
    };
    let text = draw(&shape, &mut random);
    let event = Some("log file sync");
    let (found, _) = in_blocks(&text, 50_000, event, &mut random);
    let want = in_order(&text, event);
    assert!(!want.samples.is_empty());
    assert_eq!(found, want);
}
