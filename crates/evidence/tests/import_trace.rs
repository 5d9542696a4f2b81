//! Traces of every release and state of repair: what is read of them does not depend on how they
//! are cut into chunks, and a part never says more than the whole.

#[path = "../../../xtask/src/generate/trace.rs"]
mod generate;

use evidence::{Import, ImportRefusal, Options, Outcome};
use measure::imported::{Axis, Cell};
use proptest::prelude::*;

/// Imports one text, in chunks of `step` bytes.
fn import_in(text: &[u8], step: usize) -> Result<Outcome, ImportRefusal> {
    let mut import = Import::new(Options::default());
    let mut reading = import.open("f.trc", "");
    for chunk in text.chunks(step.max(1)) {
        reading.feed(chunk)?;
    }
    import.close(reading).1?;
    Ok(import.finish())
}

fn import(text: &str) -> Outcome {
    import_in(text.as_bytes(), usize::MAX).expect(text)
}

/// Waits and their sum in nanoseconds, of all rows.
fn totals(outcome: &Outcome) -> (u64, u64) {
    let all = || outcome.rows.iter().flat_map(|r| r.waits.values());
    (
        all().map(|w| w.count).sum(),
        all().map(|w| w.total_ns).sum(),
    )
}

fn ids(outcome: &Outcome) -> Vec<(String, Option<u64>, Option<u64>)> {
    let each = outcome.diagnostics.iter();
    each.map(|d| (d.id.clone(), d.line, d.column)).collect()
}

#[test]
fn the_lines_of_study_000_are_read() {
    let outcome = import(include_str!("../../../studies/000/lg03-lines.trc"));
    let write = &outcome.rows[0].waits["log_file_parallel_write"];
    assert_eq!(
        (write.count, write.total_ns, write.max_ns),
        (3, 1_335_000, 501_000)
    );
    assert_eq!((write.min_ns, write.over_1ms_pct), (368_000, 0.0));
    assert_eq!(outcome.rows[0].waits["lgwr_worker_group_idle"].count, 2);
    let series = &outcome.imported.series[0];
    assert_eq!(series.axis, Axis::Sequence, "these lines have no time");
    assert_eq!(
        series.points.iter().map(|p| p.blocks).collect::<Vec<_>>(),
        [58, 52, 54]
    );
    let worker = &outcome.imported.tables[0];
    assert_eq!(worker.id, "worker_latency");
    // The study's own script would have said 0 here: it looked at maxima above 1 ms only.
    assert_eq!(worker.rows[0][6], Cell::Real(0.501));
}

#[test]
fn a_worker_of_each_release() {
    let log_write = |p: &str| format!("WAIT #0: nam='log file parallel write' ela= 150 {p}\n");
    for (header, line, ns, label) in [
        (
            "Oracle8i Enterprise Edition Release 8.1.7.4.0 - Production\nUnix process pid: 7, image: oracle@h (LGWR)\n",
            log_write("p1=1 p2=4 p3=1"),
            1_500_000_000,
            "LGWR (7)",
        ),
        (
            "Oracle9i Enterprise Edition Release 9.2.0.1.0 - Production\nUnix process pid: 8, image: oracle@h (LGWR)\n",
            log_write("p1=1 p2=4 p3=1"),
            150_000,
            "LGWR (8)",
        ),
        (
            "Trace file /x/a_lg00_9.trc\nOracle Database 12c Enterprise Edition Release 12.1.0.1.0 - 64bit Production\nORACLE_HOME = /x\nUnix process pid: 9, image: oracle@h (LG00)\n",
            log_write("files=1 blocks=4 requests=1 obj#=-1 tim=1377520823034516"),
            150_000,
            "LG00 (9)",
        ),
        (
            "Trace file /x/a_lg01_9.trc\nOracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production\nVersion 19.14.2.0.0\nORACLE_HOME:    /x\nUnix process pid: 10, image: oracle@h (LG01)\n\n*** 2023-05-19T05:28:00.339263+02:00 (PDB(11))\n",
            log_write("files=1 blocks=4 requests=1 obj#=-1 tim=5793511830853"),
            150_000,
            "LG01 (10)",
        ),
        (
            "Trace file /x/free_lg01_9.trc\nOracle Database 23ai Free Release 23.0.0.0.0 - Develop, Learn, and Run for Free\nVersion 23.4.0.24.05\nUnix process pid: 11, NID: 402653, image: oracle@h (LG01)\n",
            log_write("files=1 blocks=4 requests=1 obj#=-1 tim=5793511830853"),
            150_000,
            "LG01 (11)",
        ),
    ] {
        let outcome = import(&format!("{header}{line}{line}"));
        assert_eq!(outcome.rows[0].workload, label);
        let write = &outcome.rows[0].waits["log_file_parallel_write"];
        assert_eq!((write.count, write.max_ns), (2, ns), "{header}");
        let blocks: u64 = outcome.imported.series[0]
            .points
            .iter()
            .map(|p| p.blocks)
            .sum();
        assert_eq!(blocks, 8, "{header}");
        let error = measure::imported::Severity::Error;
        assert!(
            !outcome.diagnostics.iter().any(|d| d.severity == error),
            "{header}"
        );
    }
}

#[test]
fn a_unit_that_nothing_tells_is_said() {
    let line = "WAIT #1: nam='log file sync' ela= 3 p1=1 p2=0 p3=0\n";
    let outcome = import(line);
    let told = outcome
        .diagnostics
        .iter()
        .any(|d| d.id == "trace.unit_unknown");
    assert!(told, "{:?}", outcome.diagnostics);
    let options = Options {
        ela_unit_ns: Some(10_000_000),
        ..Options::default()
    };
    let mut stated = Import::new(options);
    let mut reading = stated.open("f.trc", "");
    reading.feed(line.as_bytes()).expect("a trace");
    stated.close(reading).1.expect("a trace");
    let stated = stated.finish();
    assert_eq!((totals(&stated), ids(&stated)), ((1, 30_000_000), vec![]));
    let newer = import(&format!("{line}CLOSE #1:c=0,e=1,dep=0,type=0,tim=9\n"));
    assert_eq!(ids(&newer), []);
}

#[test]
fn text_that_looks_like_a_wait_is_no_wait() {
    let real = "WAIT #5: nam='log file sync' ela= 100 buffer#=1 sync scn=2 p3=0 obj#=-1 tim=10\n";
    let fake = "WAIT #1: nam='log file sync' ela= 7 buffer#=1 sync scn=2 p3=0 obj#=-1 tim=10\n";
    let statement = format!(
        "PARSING IN CURSOR #5 len={} dep=0 uid=1 oct=3 lid=1 tim=1 hv=1 ad='1' sqlid='a'\nselect '\n{fake}' from dual\nEND OF STMT\n",
        fake.len() + 20
    );
    let error = format!(
        "PARSE ERROR #5:len={} dep=0 uid=1 oct=3 lid=1 tim=2 err=942\nselect '\n{fake}' from x\n",
        "select '\n".len() + fake.len() + "' from x".len() + 1
    );
    let bind = format!("BINDS #5:\n Bind#0\n  oacdty=01 mxl=4000\n  value=\"a\n{fake}b\"\n");
    let action = format!(
        "*** ACTION NAME:({}) 2013-08-26 14:40:23.035\n",
        fake.trim_end()
    );
    for text in [statement, error, bind, action] {
        let whole = format!("{real}{text}{real}");
        for step in [1, 7, 64, usize::MAX] {
            let outcome = import_in(whole.as_bytes(), step).expect(&whole);
            assert_eq!(
                totals(&outcome),
                (2, 200_000),
                "in chunks of {step}:\n{whole}"
            );
        }
    }
}

#[test]
fn a_text_without_an_end_hides_no_waits() {
    let real = "WAIT #5: nam='log file sync' ela= 100 buffer#=1 sync scn=2 p3=0 obj#=-1 tim=10\n";
    for text in [
        "PARSING IN CURSOR #5 len=30 dep=0 uid=1 oct=3 lid=1 tim=1 hv=1 ad='1' sqlid='a'\nselect cut of\n",
        "PARSING IN CURSOR #5 len=30 dep=0 uid=1 oct=3 lid=1 ti\n",
        "PARSE ERROR #5:len=3000000 dep=0 uid=1 oct=3 lid=1 tim=2 err=942\nselect\n",
        "PARSE ERROR #5:len=67 dep=1 uid=112 oct=3 li\nselect 1\n",
        "BINDS #5:\n Bind#0\n  value=\"cut of\n",
    ] {
        let whole = format!("{text}{}", real.repeat(1000));
        let want = (1000, 1000 * 100_000);
        for step in [100, 1000, usize::MAX] {
            let outcome = import_in(whole.as_bytes(), step).expect(text);
            assert_eq!(totals(&outcome), want, "in chunks of {step}:\n{text}");
            assert!(!outcome.diagnostics.is_empty(), "{text}");
        }
    }
}

#[test]
fn glued_and_cut_lines_are_counted_and_said() {
    let text = "WAIT #1: nam='log file sync' ela= 10 tim=1\n\
        FETCH #1:c=4,e=4,p=0,cr=0,cu=0,mis=0,r=1,dep=1,og=1,plh=1,tim=2WAIT #1: nam='log file sync' ela= 20 tim=3\n\
        WAIT #1: nam='log file sync' ela= 30 tim=4WAIT #1: nam='log file sync' ela= 40 tim=5\n\
        WAIT #1: nam='log file sy\n\
        WAIT #1: nam='log file sync' ela= -5 tim=6\n\
        WAIT #1: nam='log file sync' ela= 99999999999999999999999 tim=6\n\
        \tWAIT #1: nam='log file sync' ela= 50 obj#=1 tim=7\n";
    for step in [1, 13, usize::MAX] {
        let outcome = import_in(text.as_bytes(), step).expect("reads");
        assert_eq!(totals(&outcome), (5, 150_000));
        let want = [
            ("trace.glued", 2, 64),
            ("trace.glued", 3, 43),
            ("trace.cut_line", 4, 26),
            ("trace.negative", 5, 35),
            ("trace.no_number", 6, 35),
        ];
        let want = want.map(|(id, line, column)| (id.to_owned(), Some(line), Some(column)));
        assert_eq!(ids(&outcome), want, "in chunks of {step}");
    }
}

#[test]
fn a_merged_trace_keeps_its_processes_apart() {
    let mut text = String::new();
    for round in 0..50 {
        for pid in [11, 22, 33] {
            text.push_str(&format!(
                "*** [ Unix process pid: {pid} ]\n*** 2013-08-26 14:40:{round:02}.000\n\
                 WAIT #1: nam='log file sync' ela= {} buffer#=1 obj#=-1\nXCTEND rlbk=0, rd_only=0, tim=1\n",
                pid * 10
            ));
        }
    }
    let outcome = import(&text);
    let rows: Vec<(&str, u64, u64)> = outcome
        .rows
        .iter()
        .map(|r| {
            (
                r.workload.as_str(),
                r.waits["log_file_sync"].total_ns,
                r.commits.expect("it ends transactions"),
            )
        })
        .collect();
    let want = [
        ("pid 11", 5_500_000, 50),
        ("pid 22", 11_000_000, 50),
        ("pid 33", 16_500_000, 50),
    ];
    assert_eq!(rows, want);
    let axes: Vec<Axis> = outcome.imported.series.iter().map(|s| s.axis).collect();
    assert_eq!(axes, [Axis::Time; 3], "the stamps tell the time");
}

#[test]
fn warnings_of_a_log_writer_are_listed() {
    let text = "*** 2014-03-12 10:00:00.000\nWarning: log write elapsed time 780ms, size 4KB\n\
        Warning: log write elapsed time 501ms, size 0KB\n\
        Warning: log write broadcast wait time 2331ms (SCN 0xbaca.55d1a9e)\n\
        kcrfw_alfs_update_mode: post->poll long#=5 sync#=10\nLog file sync switching to polling\n";
    let outcome = import(text);
    let sizes: Vec<(&str, usize)> = outcome
        .imported
        .tables
        .iter()
        .map(|t| (t.id.as_str(), t.rows.len()))
        .collect();
    let want = [
        ("log_write_warnings", 2),
        ("broadcast_warnings", 1),
        ("adaptive_sync", 1),
    ];
    assert_eq!(sizes, want);
    let both = "kcrfw_alfs_update_mode: post->poll long#=5 sync#=10; Log file sync switching to \
                polling";
    let switch = &outcome.imported.tables[2].rows[0][2];
    assert_eq!(
        *switch,
        Cell::Text(both.to_owned()),
        "two lines, one switch"
    );
    assert_eq!(outcome.imported.tables[0].rows[0][2], Cell::Count(780));
}

#[test]
fn a_switch_is_counted_once_and_a_size_is_not_invented() {
    let text = "Trace file /x.trc\nOracle Database 19c Release 19.0.0.0.0\nRelease:\t4.1.12\n\
        kcrfw_update_adaptive_sync_mode: post->poll long#=5 sync#=10\n\
        *** 2014-03-12 10:00:00.000\nLog file sync switching to polling\n\
        Log file sync switching to post/wait\nkcrfw_alfs_update_mode: poll->post\n\
        kcrfw_alfs_update_mode: post->poll\nLog file sync switching to polling\n\
        Warning: log write elapsed time 780ms\n";
    let outcome = import(text);
    let tables = &outcome.imported.tables;
    let table = |id: &str| tables.iter().find(|t| t.id == id).expect("the table");
    // Only two lines next to each other are known to be one switch.
    assert_eq!(table("adaptive_sync").rows.len(), 5);
    let warning = &table("log_write_warnings").rows[0];
    assert_eq!(warning[2..4], [Cell::Count(780), Cell::Blank]);
    let facts = &outcome.imported.sources[0].facts;
    let named = |name: &str| facts.iter().filter(|(n, _)| n == name).count();
    assert_eq!(
        [
            named("Oracle release"),
            named("System release"),
            named("Release")
        ],
        [1, 1, 0]
    );
}

#[test]
fn look_alikes_and_nothing_are_refused() {
    let refused = |text: &str| import_in(text.as_bytes(), 100).expect_err(text).to_string();
    for text in [
        "Trace file /x.trc\nOceanBase 4.2\nWAIT #1: nam='db file' ela= 1 tim=1\n",
        "2024-01-01 LOG:  duration: 3.1 ms  statement: select 1\n",
    ] {
        let why = refused(text);
        let is_named =
            why.contains("only resembles") || why.contains("which redolab does not read");
        assert!(is_named, "{text}: {why}");
    }
    let empty = "Trace file /x.trc\nOracle Database 19c Release 19.0.0.0.0\n";
    assert!(refused(empty).contains("looked for"), "{}", refused(empty));
    assert!(refused("").contains("empty"));
}

/// A line of a trace, sound or not.
fn any_line() -> impl Strategy<Value = String> {
    let event = prop::sample::select(vec![
        "log file parallel write",
        "log file sync",
        "LGWR worker group idle",
        "SQL*Net message to client",
        "rdbms ipc message",
    ]);
    let wait = (
        0_u64..5,
        event,
        0_u64..50_000_000,
        prop::option::of(1_u64..1 << 50),
    );
    let wait = wait.prop_map(|(cursor, event, ela, tim)| {
        let tim = tim.map_or(String::new(), |t| format!(" obj#=-1 tim={t}"));
        format!("WAIT #{cursor}: nam='{event}' ela= {ela} files=1 blocks=7{tim}\n")
    });
    let other = prop::sample::select(vec![
        "\n",
        "=====================\n",
        "PARSING IN CURSOR #3 len=30 dep=0 uid=1 oct=3 lid=1 tim=1 hv=1 ad='1' sqlid='a'\n",
        "END OF STMT\n",
        "PARSE ERROR #3:len=20 dep=0 uid=1 oct=3 lid=1 tim=1 err=942\n",
        "BINDS #3:\n Bind#0\n",
        "  value=\"abc\n",
        "  value=\"abc\"\n",
        "\"\n",
        "*** 2013-08-26 14:40:23.035\n",
        "*** [ Unix process pid: 7 ]\n",
        "*** [ Unix process pid: 8 ]\n",
        "XCTEND rlbk=0, rd_only=0, tim=5\n",
        "WAIT #1: nam='log file sync' ela= -1\n",
        "WAIT #1: nam='log fi",
        "EXEC #3:c=0,e=1,p=0,cr=0,cu=0,mis=0,r=0,dep=1,og=1,plh=1,tim=1",
        "\u{feff}\u{0}\r\n",
    ]);
    prop_oneof![3 => wait, 1 => other.prop_map(str::to_owned)]
}

fn any_trace() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec(any_line(), 1..60);
    lines.prop_map(|lines| {
        format!(
            "WAIT #0: nam='log file sync' ela= 1 obj#=1\n{}",
            lines.concat()
        )
    })
}

/// Every release, kind and defect: what was generated is what is found.
#[test]
fn generated_traces_give_their_known_answers() {
    let names: Vec<String> = generate::DEFECTS.iter().map(|d| (*d).to_owned()).collect();
    let mut defects: Vec<Vec<String>> = names.iter().map(|d| vec![d.clone()]).collect();
    defects.extend([Vec::new(), names]);
    for (seed, defects) in defects.into_iter().enumerate() {
        for (release, style) in generate::Style::ALL {
            for (processes, writers) in [(1, true), (1, false), (3, true), (3, false)] {
                let plan = generate::Plan {
                    seed: seed as u64,
                    waits: 250,
                    processes,
                    style,
                    writers,
                    defects: defects.clone(),
                };
                let mut text = Vec::new();
                let answers = generate::write(&plan, &mut text).expect("memory");
                let what = format!("release {release}, {plan:?}");
                let outcome = import_in(&text, 4096).expect(&what);
                check(&outcome, &answers, writers, &what);
                listed(&outcome, &answers, &what);
            }
        }
    }
}

/// Warnings and switches: how many, and the sum of the warnings' times.
fn listed(outcome: &Outcome, answers: &generate::Answers, what: &str) {
    let of = |id: &'static str| {
        let tables = outcome.imported.tables.iter().filter(move |t| t.id == id);
        tables.flat_map(|t| &t.rows)
    };
    let warned = of("log_write_warnings").filter_map(|row| match row.get(2) {
        Some(measure::imported::Cell::Count(ms)) => Some(*ms),
        _ => None,
    });
    let warned: Vec<u64> = warned.collect();
    let switches = of("adaptive_sync").count() as u64;
    let found = (warned.len() as u64, warned.iter().sum::<u64>(), switches);
    let wanted = (answers.warnings, answers.warned_ms, answers.switches);
    assert_eq!(found, wanted, "{what}");
}

/// Each release with everything that may be wrong: no part says more than the whole.
#[test]
fn cut_at_every_byte_a_trace_never_says_more() {
    let names: Vec<String> = generate::DEFECTS.iter().map(|d| (*d).to_owned()).collect();
    for (n, (release, style)) in generate::Style::ALL.into_iter().enumerate() {
        let plan = generate::Plan {
            seed: 77 + n as u64,
            waits: 6,
            processes: 2,
            style,
            writers: n % 2 == 0,
            defects: names.clone(),
        };
        let mut text = Vec::new();
        generate::write(&plan, &mut text).expect("memory");
        let all = totals(&import_in(&text, usize::MAX).expect("a trace"));
        for end in 0..text.len() {
            let Ok(part) = import_in(&text[..end], usize::MAX) else {
                continue;
            };
            let some = totals(&part);
            assert!(some.0 <= all.0 && some.1 <= all.1, "{release} cut at {end}");
        }
    }
}

fn check(outcome: &Outcome, answers: &generate::Answers, writers: bool, what: &str) {
    let key = if writers {
        "log_file_parallel_write"
    } else {
        "log_file_sync"
    };
    let found = outcome.rows.iter().filter(|r| r.waits.contains_key(key));
    let mut found: Vec<generate::Answer> = found
        .map(|row| {
            let stats = &row.waits[key];
            let over = |pct: f64| (pct * stats.count as f64 / 100.0).round() as u64;
            let at = outcome.rows.iter().position(|r| r == row);
            let series = outcome.imported.series.iter();
            let own = series.filter(|s| Some(s.row) == at && s.event == key);
            generate::Answer {
                pid: 0,
                waits: stats.count,
                total_ns: stats.total_ns,
                max_ns: stats.max_ns,
                over: [stats.over_1ms_pct, stats.over_10ms_pct, stats.over_20ms_pct].map(over),
                blocks: own.flat_map(|s| &s.points).map(|p| p.blocks).sum(),
                commits: row.commits.unwrap_or(0),
            }
        })
        .collect();
    let mut wanted: Vec<generate::Answer> = answers.processes.clone();
    wanted.iter_mut().for_each(|a| a.pid = 0);
    wanted.sort_by_key(|a| (a.total_ns, a.waits));
    found.sort_by_key(|a| (a.total_ns, a.waits));
    assert_eq!(found, wanted, "{what}");
}

fn cases() -> ProptestConfig {
    ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn chunks_change_nothing(text in any_trace(), step in 1_usize..200) {
        let whole = import_in(text.as_bytes(), usize::MAX).expect("one wait is there");
        let parts = import_in(text.as_bytes(), step).expect("one wait is there");
        prop_assert_eq!(&whole.rows, &parts.rows);
        prop_assert_eq!(&whole.imported.tables, &parts.imported.tables);
        prop_assert_eq!(&whole.imported.series, &parts.imported.series);
        prop_assert_eq!(&whole.diagnostics, &parts.diagnostics);
    }

    #[test]
    fn a_cut_file_never_says_more(text in any_trace(), at in 0.0_f64..1.0) {
        let whole = import_in(text.as_bytes(), usize::MAX).expect("one wait is there");
        let cut = (text.len() as f64 * at) as usize;
        let (count, sum) = import_in(&text.as_bytes()[..cut], 1000).map_or((0, 0), |o| totals(&o));
        let (all_count, all_sum) = totals(&whole);
        prop_assert!(count <= all_count && sum <= all_sum, "cut at {}", cut);
    }

    #[test]
    fn any_bytes_are_survived(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        step in 1_usize..300,
    ) {
        let _ = import_in(&bytes, step);
        let kind = Some(evidence::Kind::OracleTrace);
        let mut import = Import::new(Options { kind, ..Options::default() });
        let mut reading = import.open("f", "");
        for chunk in bytes.chunks(step) {
            reading.feed(chunk).expect("the kind is stated");
        }
        let _ = import.close(reading);
    }
}

/// Generated traces with bytes changed, lost, doubled and moved: read without a panic, and the same
/// in whatever chunks.
#[test]
fn mutated_traces_are_survived() {
    let names: Vec<String> = generate::DEFECTS.iter().map(|d| (*d).to_owned()).collect();
    let mut state = 20_261_120_u64;
    for round in 0..400_u64 {
        let mut random = |n: usize| measure::workload::split_mix(&mut state) as usize % n.max(1);
        let plan = generate::Plan {
            seed: round,
            waits: 40,
            processes: 1 + round % 3,
            style: generate::Style::ALL[round as usize % 5].1,
            writers: round % 2 == 0,
            defects: names.clone(),
        };
        let mut text = Vec::new();
        generate::write(&plan, &mut text).expect("memory");
        for _ in 0..1 + random(12) {
            let (at, len) = (random(text.len()), random(80));
            let end = (at + len).min(text.len());
            match random(5) {
                0 => text[at] = random(256) as u8,
                1 => drop(text.drain(at..end)),
                2 => {
                    let copy = text[at..end].to_vec();
                    let to = random(text.len());
                    text.splice(to..to, copy);
                }
                3 => text.insert(at, b"\n\"'=#\0"[random(6)]),
                _ => text.truncate(at.max(200).min(text.len())),
            }
        }
        let read =
            |step: usize| import_in(&text, step).map(|o| (o.rows, o.imported, o.diagnostics));
        assert_eq!(
            read(usize::MAX),
            read(1 + round as usize % 97),
            "round {round}"
        );
    }
}

/// A line of each kind of number that is none, and nesting without end, do no harm and are said.
#[test]
fn hostile_text_is_read_for_what_it_holds() {
    let wait = "WAIT #1: nam='log file sync' ela= 5 obj#=-1 tim=9\n";
    for (name, text) in [
        ("nul bytes", "\0".repeat(10_000) + "\n"),
        ("nesting", "(".repeat(100_000) + "\n"),
        (
            "a statement without an end",
            "PARSING IN CURSOR #1 len=99999999999 dep=0\n".to_owned(),
        ),
        (
            "a long name",
            format!("WAIT #1: nam='{}' ela= 5\n", "x".repeat(100_000)),
        ),
        (
            "numbers past 64 bits",
            "WAIT #1: nam='x' ela= 340282366920938463463374607431768211456\n".to_owned(),
        ),
        (
            "a stamp of no calendar",
            "*** 9999-99-99 99:99:99.999\n".to_owned(),
        ),
        (
            "a far time",
            "WAIT #1: nam='x' ela= 0 obj#=1 tim=18446744073709551615\n".to_owned(),
        ),
        (
            "an empty parse error",
            "PARSE ERROR #1:len=0\n\n".to_owned(),
        ),
    ] {
        // Enough behind it that a text without an end is given up.
        let whole = format!("{wait}{text}{}", wait.repeat(60_000));
        let outcome = import_in(whole.as_bytes(), 1 << 16).expect(name);
        let sync = &outcome.rows[0].waits["log_file_sync"];
        assert_eq!((sync.count, sync.max_ns), (60_001, 5_000), "{name}");
    }
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(wait.encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let outcome = import_in(&utf16, 3).expect("UTF-16 is read");
    assert_eq!(totals(&outcome), (1, 5_000));
}

#[test]
fn calls_without_waits_are_evidence_too() {
    let text = "EXEC #140463666059192:c=574,e=872,p=0,cr=4,cu=1,mis=0,r=0,dep=1,og=1,plh=1321678281,tim=600392557189\n\
        FETCH #140463666059192:c=4,e=4,p=0,cr=0,cu=0,mis=0,r=1,dep=1,og=1,plh=1321678281,tim=600392557217\n\
        STAT #1 (cr=0 pr=0 pw=0 str=1 time=29 us)'\nXCTEND rlbk=0, rd_only=0, tim=600392574302\n";
    let outcome = import(text);
    assert_eq!(outcome.rows[0].commits, Some(1));
    let calls = &outcome.imported.tables[0];
    assert_eq!((calls.id.as_str(), calls.rows.len()), ("calls", 2));
    assert_eq!(
        calls.rows[0][2..],
        [Cell::Count(1), Cell::Count(872), Cell::Count(574)]
    );
    assert_eq!(
        ids(&outcome),
        [("trace.bad_stat".to_owned(), Some(3), Some(1))]
    );
}

#[test]
fn a_warning_that_is_cut_is_no_short_write() {
    let text = "*** 2026-10-06 02:02:22.056\nWarning: log write elapsed time 1552ms, size 0KB\n\
        *** 2026-10-06 02:06:02.118\nWarning: log write elapsed time 15";
    let outcome = import(text);
    let writes = &outcome.imported.tables[0];
    assert_eq!(
        (writes.id.as_str(), writes.rows.len()),
        ("log_write_warnings", 1)
    );
    let cut = ("trace.not_whole".to_owned(), Some(4), Some(1));
    assert!(ids(&outcome).contains(&cut), "{:?}", outcome.diagnostics);
}
