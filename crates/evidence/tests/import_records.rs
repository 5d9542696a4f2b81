//! Records of traces beside waits: errors, calls on LOBs, warnings of the log writer with the time
//! stamps around them. All texts are made up in the layout of such traces.

use evidence::{Import, Options, Outcome, trace};
use measure::imported::{Cell, Table};

fn import(text: &str) -> Outcome {
    let mut import = Import::new(Options::default());
    let mut reading = import.open("f.trc", "");
    reading.feed(text.as_bytes()).expect("a trace");
    import.close(reading).1.expect("a trace");
    import.finish()
}

/// As `redolab import` reads a long file: in blocks that other threads scan.
fn import_in_blocks(blocks: &[&str]) -> Outcome {
    let mut import = Import::new(Options::default());
    let mut reading = import.open("f.trc", "");
    let head = "*** SESSION ID:(1.2) 2024-05-06 07:00:00.000\n".repeat(6000);
    reading.feed(head.as_bytes()).expect("a trace");
    assert!(reading.is_scannable());
    for text in blocks {
        let (mut block, mut scanned) = (Vec::new(), trace::Scanned::default());
        reading.cut_block(text.as_bytes(), &mut block);
        trace::scan(&block, &mut scanned);
        reading.absorb(&block, &mut scanned);
    }
    import.close(reading).1.expect("a trace");
    import.finish()
}

fn table<'a>(outcome: &'a Outcome, id: &str) -> &'a Table {
    let found = outcome.imported.tables.iter().find(|t| t.id == id);
    found.unwrap_or_else(|| panic!("no table {id}"))
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[test]
fn errors_and_calls_on_lobs_are_counted() {
    let outcome = import(
        "*** SESSION ID:(9.1) 2024-05-06 07:08:09.000\n\
         PARSE ERROR #5:len=24 dep=0 uid=90 oct=3 lid=90 tim=100 err=942\n\
         select 1 from no_such_tb\n\
         EXEC #4:c=10,e=20,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=150\n\
         ERROR #4:err=1555 tim=160\n\
         ERROR #6:err=1555 tim=190\n\
         LOBREAD: type=PERSISTENT LOB,bytes=8132,c=70,e=300,p=1,cr=2,cu=0,tim=200\n\
         LOBWRITE: c=5,e=11,p=0,cr=1,cu=4,tim=220\n\
         UNMAP #3:c=0,e=7,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4,tim=230\n",
    );
    let errors = &table(&outcome, "errors").rows;
    let row = |record: &str, error: &str, count, line| {
        let counts = [Cell::Count(count), Cell::Count(line)];
        [text("f.trc"), text(record), text(error)]
            .into_iter()
            .chain(counts)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        *errors,
        [
            row("ERROR", "ORA-01555", 2, 5),
            row("PARSE ERROR", "ORA-00942", 1, 2),
        ]
    );
    let calls = &table(&outcome, "calls").rows;
    let call = |name: &str, count, elapsed, cpu| {
        let counts = [count, elapsed, cpu].map(Cell::Count);
        let names = [text("f.trc"), text(name)];
        names.into_iter().chain(counts).collect::<Vec<_>>()
    };
    assert_eq!(
        *calls,
        [
            call("EXEC", 1, 20, 10),
            call("UNMAP", 1, 7, 0),
            call("LOB", 2, 311, 75),
        ]
    );
}

#[test]
fn a_trace_of_errors_alone_is_evidence() {
    let outcome = import("*** SESSION ID:(9.1) 2024-05-06 07:08:09.000\nERROR #4:err=60 tim=1\n");
    assert_eq!(table(&outcome, "errors").rows[0][2], text("ORA-00060"));
}

#[test]
fn a_warning_has_the_stamps_around_it() {
    let warning = "Warning: log write elapsed time 640ms, size 12KB\n";
    let first = "*** 2024-02-29 23:59:58.250\n";
    let second = "*** 2024-03-01T00:00:03.000007+02:00\n";
    let outcome = import(&format!(
        "{warning}{first}{warning}{warning}{second}{warning}"
    ));
    let (a, b) = (
        text("2024-02-29 23:59:58.250"),
        text("2024-03-01 00:00:03.000007"),
    );
    let table = table(&outcome, "log_write_warnings");
    assert_eq!(table.columns[4].key, "stamp_above");
    assert_eq!(table.columns[5].key, "stamp_below");
    let stamps: Vec<&[Cell]> = table.rows.iter().map(|r| &r[4..]).collect();
    assert_eq!(
        stamps,
        [
            &[Cell::Blank, a.clone()],
            &[a.clone(), b.clone()],
            &[a, b.clone()],
            &[b, Cell::Blank],
        ]
    );
}

/// Where processes take turns a block is joined by its groups: a warning in it, and one that waits
/// for the stamp of a later block, have the stamps of their own process.
#[test]
fn stamps_belong_to_the_process_of_the_warning() {
    let turns = |from: u32| -> String {
        let turn = |n: u32| {
            format!(
                "*** [ Unix process pid: {} ]\nWAIT #0: nam='log file parallel write' ela= 90 files=1 \
                 blocks=2 requests=1 obj#=-1 tim={}\n",
                40 + n % 2,
                from + n
            )
        };
        (0..80).map(turn).collect()
    };
    let warned = format!(
        "{}*** [ Unix process pid: 41 ]\n*** 2024-05-06 08:00:00.000\n\
         Warning: log write elapsed time 505ms, size 4KB\n\
         *** [ Unix process pid: 40 ]\n*** 2024-05-06 08:00:01.000\n\
         *** [ Unix process pid: 41 ]\n*** 2024-05-06 08:00:05.000\n\
         Warning: log write elapsed time 506ms, size 4KB\n",
        turns(1000)
    );
    let later = format!(
        "{}*** [ Unix process pid: 40 ]\n*** 2024-05-06 09:00:00.000\n\
         *** [ Unix process pid: 41 ]\n*** 2024-05-06 09:00:02.000\n*** 2024-05-06 09:00:03.000\n",
        turns(3000)
    );
    let outcome = import_in_blocks(&[&turns(100), &warned, &later]);
    let rows = &table(&outcome, "log_write_warnings").rows;
    for (row, above, below) in [
        (
            &rows[0],
            "2024-05-06 08:00:00.000",
            "2024-05-06 08:00:05.000",
        ),
        (
            &rows[1],
            "2024-05-06 08:00:05.000",
            "2024-05-06 09:00:02.000",
        ),
    ] {
        assert_eq!(row[0], text("pid 41"));
        assert_eq!([&row[4], &row[5]], [&text(above), &text(below)]);
    }
}

/// A trace of several processes without their headers has their numbers alone; a listing of `ps`
/// above or below it has the names.
#[test]
fn ps_names_the_processes_of_a_trace() {
    let trace = "*** [ Unix process pid: 127312 ]\nWAIT #0: nam='log file parallel write' ela= 90 files=1 \
                 blocks=2 requests=1 obj#=-1 tim=100\n*** [ Unix process pid: 127322 ]\n\
                 WAIT #0: nam='log file parallel write' ela= 95 files=1 blocks=2 requests=1 obj#=-1 \
                 tim=200\n*** [ Unix process pid: 4 ]\nWAIT #0: nam='log file sync' ela= 95 obj#=-1 tim=300\n";
    let ps = "oracle   127312      1  0 10:23 ?        00:00:01 ora_lg00_IVYEXDB1\n 127322 ora_lg03_IVYEXDB1\n\
              oracle 4 1 0 10:23 ? 00:00:00 oracleORCL (LOCAL=NO)\n";
    for text in [format!("{ps}{trace}"), format!("{trace}{ps}")] {
        let outcome = import_in_blocks(&[&text]);
        let names: Vec<&str> = outcome.rows.iter().map(|r| r.workload.as_str()).collect();
        assert_eq!(names, ["LG00 (127312)", "LG03 (127322)", "pid 4"]);
    }
    let names = import_in_blocks(&[trace]).rows;
    assert_eq!(names[0].workload, "pid 127312", "nothing names it");
}
