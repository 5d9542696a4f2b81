//! What was joined, as rows and tables of a run.

use super::cell::EventWaits as Waits;
use super::header::{self, HeaderFact, civil};
use super::mark::Call;
use super::merge::{Merge, TracedProcess};
use crate::gathered::{Ended, Gathered};
use crate::origin::{SourcedCell, add_sourced};
use crate::tables::row;
use crate::tables::{column, key_of};
use crate::{Sink, tally};
use measure::WaitEvent;
use measure::imported::{Cell, Column, Series, Severity, Table};
use measure::run::{RedoFigures, Row};

/// Gives a file's rows, tables and series; with their distributions, if they are kept and there are
/// few.
pub fn give(
    merge: Merge,
    (file, keeps): (&str, bool),
    sink: &mut Sink,
    out: &mut Gathered,
) -> Ended {
    judge(&merge, sink);
    let mut cells: Vec<(usize, usize, &Waits)> = merge
        .cells
        .iter()
        .map(|((process, event), slot)| (*process, *event, &merge.slots[*slot]))
        .collect();
    cells.sort_by_key(|(process, event, waits)| {
        (*process, std::cmp::Reverse(waits.tally.sum_ns()), *event)
    });
    let mut events = events_table(file);
    let mut buckets = buckets_table(file);
    let mut calls = calls_table(file);
    let mut errors = errors_table(file);
    for (index, process) in merge.processes.iter().enumerate() {
        let own: Vec<(&str, &Waits)> = cells
            .iter()
            .filter(|(p, _, _)| *p == index)
            .map(|(_, event, waits)| (merge.events[*event].as_str(), *waits))
            .collect();
        let listed = merge.listed.iter().any(|l| l.process == index);
        let called: u64 = process.calls.iter().map(|(count, _, _)| count).sum();
        let failed: u64 = process.errors.values().map(|(count, _)| count).sum();
        let called = called + failed;
        if own.is_empty() && !listed && process.ends + called == 0 {
            continue;
        }
        out.yielded += process.ends + called;
        let name = name(&merge, process, file);
        let at = out.rows.len();
        let kept = out.series.iter().filter(|s| s.distribution.is_some());
        let keeps = keeps && kept.count() < tally::DISTRIBUTIONS_MAX;
        out.rows.push(process_row(
            &name,
            process,
            &own,
            (at, keeps),
            &mut out.series,
        ));
        let all = (1, merge.lines.max(1));
        call_lines(&name, process, all, &mut calls);
        error_lines(&name, process, &mut errors);
        for (event, waits) in own {
            add_sourced(&mut events, "", all, event_line(&name, event, waits));
            if waits.track.is_some() {
                bucket_lines(&name, event, waits, all, &mut buckets);
            }
        }
    }
    let listings = listings(&merge, file);
    out.yielded += merge.waits + merge.listed.len() as u64;
    let tables = [events, buckets, calls, errors].into_iter().chain(listings);
    out.tables.extend(tables.filter(|t| !t.rows.is_empty()));
    Ended {
        lines: merge.lines,
        facts: merge.facts,
    }
}

/// What the whole file makes doubtful.
fn judge(merge: &Merge, sink: &mut Sink) {
    let is_told = merge.release.is_some() || merge.is_modern || merge.is_unit_stated;
    if merge.waits > 0 && !is_told {
        sink.notes
            .add(Severity::Error, "trace.unit_unknown", None, None, || {
                "no header names the release, and nothing that only newer releases write is there: \
             elapsed times are taken as microseconds (9i and later); of an 8i trace they would be \
             centiseconds; state the unit with --ela-unit"
                    .to_owned()
            });
    }
    if merge.release.is_some_and(|r| r < 9) && !merge.is_unit_stated {
        sink.notes
            .add(Severity::Note, "trace.centiseconds", None, None, || {
                "elapsed times of this release are centiseconds: what took under 10 ms is 0 here"
                    .to_owned()
            });
    }
    if merge.slots.iter().any(|s| s.tally.is_spread_unknown()) {
        sink.notes.add(
            Severity::Warning,
            "import.no_percentiles",
            None,
            None,
            || {
                format!(
                    "over {} distributions: further ones have exact figures and no percentiles",
                    tally::DISTRIBUTIONS_MAX
                )
            },
        );
    }
    let wanted = sink.samples.event().map(str::to_owned);
    if let Some(event) = wanted.filter(|_| sink.samples.count() == 0) {
        sink.notes
            .add(Severity::Error, "trace.no_samples", None, None, || {
                let known: Vec<&str> = merge.events.iter().take(8).map(String::as_str).collect();
                format!(
                    "no wait is named `{event}`; there are: {}",
                    known.join(", ")
                )
            });
    }
}

/// What a process is called: its name and number, or the file. A trace without headers has numbers
/// alone; `ps` beside it names them.
fn name(merge: &Merge, process: &TracedProcess, file: &str) -> String {
    let listed = || merge.listed_names.get(process.pid.as_ref()?);
    match (process.name.as_ref().or_else(listed), process.pid) {
        (Some(name), Some(pid)) => format!("{name} ({pid})"),
        (Some(name), None) => name.clone(),
        (None, Some(pid)) => format!("pid {pid}"),
        (None, None) => file.to_owned(),
    }
}

fn process_row(
    name: &str,
    process: &TracedProcess,
    own: &[(&str, &Waits)],
    (at, keeps): (usize, bool),
    series: &mut Vec<Series>,
) -> Row {
    let mut row = row(name);
    for (event, waits) in own {
        let mut key = key_of(event);
        while row.waits.contains_key(&key) {
            key.push('_');
        }
        row.waits.insert(key.clone(), waits.tally.stats());
        if let Some(track) = &waits.track {
            row.curves.insert(key.clone(), waits.tally.curve());
            let (axis, width, points) = track.best();
            series.push(Series {
                row: at,
                event: key,
                axis,
                width,
                points,
                distribution: waits.tally.distribution().filter(|_| keeps).map(Box::new),
            });
        }
    }
    let sync = row
        .wait(WaitEvent::LogFileSync)
        .map(|s| (s.count, s.mean_ns));
    row.log_file_sync_ms = sync.map(|(_, mean_ns)| mean_ns / 1e6);
    if process.ends > 0 {
        row.commits = Some(process.commits);
    }
    if let Some(us) = process
        .tims
        .map(|(first, last)| last - first)
        .filter(|us| *us > 0)
    {
        rates(
            &mut row,
            process,
            own,
            sync.map_or(0, |(count, _)| count),
            us,
        );
    }
    row
}

/// What a process did a second, over the time that its `tim`s span.
fn rates(row: &mut Row, process: &TracedProcess, own: &[(&str, &Waits)], syncs: u64, us: u64) {
    let seconds = us as f64 / 1e6;
    row.elapsed_ns = Some(us.saturating_mul(1000));
    row.elapsed_s = Some(seconds);
    row.commit_throughput_tps = (process.ends > 0).then(|| process.commits as f64 / seconds);
    row.redo_synch_writes_iops = (syncs > 0).then(|| syncs as f64 / seconds);
    let writes = WaitEvent::LogFileParallelWrite.name();
    if let Some((_, waits)) = own.iter().find(|(event, _)| *event == writes) {
        let blocks = waits.track.as_ref().map_or(0, |t| t.blocks);
        row.redo = Some(RedoFigures {
            redo_writes_iops: Some(waits.tally.count() as f64 / seconds),
            redo_blocks_per_s: Some(blocks as f64 / seconds),
            ..RedoFigures::default()
        });
    }
}

fn events_table(file: &str) -> Table {
    let columns = [
        ("process", "Process"),
        ("event", "Event"),
        ("waits", "Waits"),
        ("total_us", "Total us"),
        ("mean_us", "Mean us"),
        ("min_us", "Min us"),
        ("max_us", "Max us"),
    ];
    table("wait_events", "Waits by event", file, &columns)
}

fn table(id: &str, title: &str, file: &str, columns: &[(&str, &str)]) -> Table {
    let columns: Vec<Column> = columns.iter().map(|(k, h)| column(k, h)).collect();
    Table {
        id: id.to_owned(),
        title: title.to_owned(),
        file: file.to_owned(),
        columns,
        ..Table::default()
    }
}

fn event_line(name: &str, event: &str, waits: &Waits) -> Vec<SourcedCell> {
    let stats = waits.tally.stats();
    // Traces tell microseconds at the finest, so the sum is whole.
    let total = u64::try_from(waits.tally.sum_ns() / 1000).unwrap_or(u64::MAX);
    let of_event =
        |cell, formula| SourcedCell::derived(cell, formula, vec!["process".into(), "event".into()]);
    vec![
        label(name),
        label(event),
        of_event(Cell::Count(stats.count), "count of WAIT lines"),
        of_event(Cell::Count(total), "sum of ela of WAIT lines in us"),
        SourcedCell::computed(
            Some(stats.mean_ns / 1e3),
            "a / b",
            vec!["total_us".into(), "waits".into()],
        ),
        of_event(
            Cell::Count(stats.min_ns / 1000),
            "smallest ela of WAIT lines in us",
        ),
        of_event(
            Cell::Count(stats.max_ns / 1000),
            "largest ela of WAIT lines in us",
        ),
    ]
}

/// Text as it is: names of processes and events are keys, and are not cut.
fn label(text: &str) -> SourcedCell {
    SourcedCell {
        cell: Cell::Text(text.to_owned()),
        ..SourcedCell::default()
    }
}

fn buckets_table(file: &str) -> Table {
    let columns = [
        ("process", "Process"),
        ("event", "Event"),
        ("wait_time_milli", "WAIT_TIME_MILLI"),
        ("wait_count", "WAIT_COUNT"),
    ];
    let title = "Event histogram: waits under so many ms that are not in the bucket before";
    table("event_histogram", title, file, &columns)
}

fn bucket_lines(name: &str, event: &str, waits: &Waits, lines: (u64, u64), table: &mut Table) {
    let buckets = waits.tally.ms_buckets();
    let last = buckets.iter().rposition(|n| *n > 0).unwrap_or(0);
    for (index, count) in buckets.iter().enumerate().take(last + 1) {
        let bound = Cell::Count(1 << index);
        let inputs = vec!["process".into(), "event".into(), "wait_time_milli".into()];
        let formula = "count of WAIT lines with ela under c ms and not in the bucket before";
        let cells = vec![
            label(name),
            label(event),
            SourcedCell::derived(bound, "bound of the bucket, in ms", Vec::new()),
            SourcedCell::derived(Cell::Count(*count), formula, inputs),
        ];
        add_sourced(table, "", lines, cells);
    }
}

fn calls_table(file: &str) -> Table {
    let columns = [
        ("process", "Process"),
        ("call", "Call"),
        ("calls", "Calls"),
        ("elapsed_us", "Elapsed us"),
        ("cpu_us", "CPU us"),
    ];
    table(
        "calls",
        "Database calls, recursive ones included",
        file,
        &columns,
    )
}

fn call_lines(name: &str, process: &TracedProcess, lines: (u64, u64), table: &mut Table) {
    let us = |ns: u128| Cell::Count(u64::try_from(ns / 1000).unwrap_or(u64::MAX));
    let of_call =
        |cell, formula| SourcedCell::derived(cell, formula, vec!["process".into(), "call".into()]);
    for (call, call_name) in Call::ALL {
        let (count, elapsed, cpu) = process.calls[call as usize];
        if count > 0 {
            let cells = vec![
                label(name),
                label(call_name),
                of_call(Cell::Count(count), "count of lines of the call"),
                of_call(us(elapsed), "sum of e of the call in us"),
                of_call(us(cpu), "sum of c of the call in us"),
            ];
            add_sourced(table, "", lines, cells);
        }
    }
}

fn errors_table(file: &str) -> Table {
    let columns = [
        ("process", "Process"),
        ("record", "Record"),
        ("error", "Error"),
        ("count", "Count"),
        ("first_line", "First line"),
    ];
    table("errors", "Calls and statements that failed", file, &columns)
}

fn error_lines(name: &str, process: &TracedProcess, table: &mut Table) {
    for (error, (count, line)) in &process.errors {
        let number = error.number.map(|n| label(&format!("ORA-{n:05}")));
        let inputs = vec!["process".into(), "record".into(), "error".into()];
        let cells = vec![
            label(name),
            label(error.record()),
            number.unwrap_or_default(),
            SourcedCell::derived(Cell::Count(*count), "count of such records", inputs),
            line_number(*line),
        ];
        add_sourced(table, "", (*line, *line), cells);
    }
}

fn line_number(line: u64) -> SourcedCell {
    SourcedCell::derived(Cell::Count(line), "number of the line", Vec::new())
}

/// The reason that the log writer gave in the line above for the switch that `text` reports, and
/// the cell of the rate: both lines are one switch.
fn reason_of<'a>(
    text: &str,
    process: &str,
    line: u64,
    modes: &'a mut Table,
) -> Option<(&'a mut String, &'a mut Cell)> {
    if !text.starts_with(header::SWITCHED) {
        return None;
    }
    let [of, at, Cell::Text(reason), rate, ..] = modes.rows.last_mut()?.as_mut_slice() else {
        return None;
    };
    let is_above = matches!(at, Cell::Count(at) if *at + 1 == line);
    let is_own = matches!(of, Cell::Text(of) if of == process);
    let is_reason = reason.starts_with(header::REASON);
    (is_above && is_own && is_reason).then_some((reason, rate))
}

/// The tables of [`listings`].
fn empty_listings(file: &str) -> [Table; 3] {
    let lead = [("process", "Process"), ("line", "Line")];
    let with = |more: &[(&'static str, &'static str)]| [&lead[..], more].concat();
    let writes = table(
        "log_write_warnings",
        "Log writes over 500 ms, as the log writer warned",
        file,
        &with(&[
            ("elapsed_ms", "Elapsed ms"),
            ("size_kb", "Size KB"),
            ("stamp_above", "Stamp above"),
            ("stamp_below", "Stamp below"),
        ]),
    );
    let broadcasts = table(
        "broadcast_warnings",
        "Broadcasts of the SCN that took long (no disk writes)",
        file,
        &with(&[("wait_ms", "Wait ms")]),
    );
    let modes = table(
        "adaptive_sync",
        "Switches of adaptive log file sync (post/wait, polling) and log writers (one, workers)",
        file,
        &with(&[
            ("switch", "Switch"),
            ("rate_per_s", "Redo synch writes per s"),
            ("stamp_above", "Stamp above"),
            ("stamp_below", "Stamp below"),
        ]),
    );
    [writes, broadcasts, modes]
}

/// Slow writes, slow broadcasts, and switches of the way foregrounds learn of their redo.
fn listings(merge: &Merge, file: &str) -> [Table; 3] {
    let [mut writes, mut broadcasts, mut modes] = empty_listings(file);
    for listed in &merge.listed {
        let name = name(merge, &merge.processes[listed.process], file);
        let mut lines = (listed.line, listed.line);
        let in_line = |cell, formula| SourcedCell::derived(cell, formula, vec!["line".into()]);
        // Neither a warning nor a switch has a time of its own; the trace has stamps near to them.
        let stamp = |at: Option<i64>, formula| {
            let cell = at.map_or(Cell::Blank, |at| Cell::Text(civil(at)));
            in_line(cell, formula)
        };
        let stamps = [
            stamp(listed.above, "stamp above the line"),
            stamp(listed.below, "stamp below the line"),
        ];
        let (into, more) = match &listed.said {
            HeaderFact::SlowWrite(ms, kb) => {
                let kb = kb.map_or(Cell::Blank, Cell::Count);
                let mut more = vec![
                    in_line(Cell::Count(*ms), "time in the line, in ms"),
                    in_line(kb, "size in the line, in KB"),
                ];
                more.extend(stamps);
                (&mut writes, more)
            }
            HeaderFact::SlowBroadcast(ms) => {
                let ms = in_line(Cell::Count(*ms), "time in the line, in ms");
                (&mut broadcasts, vec![ms])
            }
            HeaderFact::AdaptiveMode(text) => {
                let rate = listed
                    .rate
                    .map_or(Cell::Blank, |(rate, _)| Cell::Count(rate));
                let rate = in_line(rate, "rate in the last line, per second");
                let last = listed.rate.map_or(listed.line, |(_, line)| line);
                let above = reason_of(text, &name, listed.line, &mut modes);
                if let Some((reason, rate_cell)) = above {
                    *reason = format!("{reason}; {text}");
                    *rate_cell = rate.cell;
                    if let Some(origin) = modes.origins.last_mut() {
                        origin.lines.1 = last;
                    }
                    continue;
                }
                let text = in_line(Cell::Text(text.clone()), "text of the lines");
                lines.1 = last;
                let mut more = vec![text, rate];
                more.extend(stamps);
                (&mut modes, more)
            }
            _ => continue,
        };
        let lead = [label(&name), line_number(listed.line)];
        let cells = lead.into_iter().chain(more).collect();
        add_sourced(into, "", lines, cells);
    }
    [writes, broadcasts, modes]
}
