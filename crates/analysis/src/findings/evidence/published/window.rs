//! A volume and a rate imply a window, which is compared with the stated one, in both unit systems.

use crate::findings::Caution;
use crate::findings::catalogue;
use crate::findings::evidence::view::{Tables, duration, lines, place};
use crate::findings::note::Note;
use measure::imported::Table;
use measure::printed;

/// What a report's own bookkeeping may differ by.
const SLACK: f64 = 0.05;

pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    for id in ["iostat_by_function", "iostat_by_filetype"] {
        tables.of(id).for_each(|table| judge(tables, table, notes));
    }
    load_average(tables, notes);
}

/// The window that was stated last above the table, else the first of the file.
fn stated<'a>(tables: &Tables<'a>, table: &Table) -> Option<&'a Table> {
    let own = || tables.of("stated_window").filter(|t| t.file == table.file);
    let above = own()
        .filter(|t| t.line <= table.line)
        .max_by_key(|t| t.line);
    above.or_else(|| own().next())
}

fn judge(tables: &Tables<'_>, table: &Table, notes: &mut Vec<Note>) {
    let Some(window) = stated(tables, table).and_then(|t| lines(t).next()) else {
        return;
    };
    let Some(seconds) = window.number("seconds").filter(|s| *s > 0.0) else {
        return;
    };
    // The largest volume has the smallest rounding.
    let rows = lines(table).filter(|l| l.number("implied_window_s").is_some());
    let best = rows.max_by(|a, b| {
        let of = |l: &crate::findings::evidence::view::Line<'_>| {
            l.number("write_data_bytes").unwrap_or(0.0)
        };
        of(a).total_cmp(&of(b))
    });
    let Some(row) = best else { return };
    let (binary, decimal) = (
        row.number("implied_window_s"),
        row.number("implied_window_decimal_s"),
    );
    let (Some(binary), Some(decimal)) = (binary, decimal) else {
        return;
    };
    let (volume, rate) = (row.text("write_data"), row.text("write_data_per_s"));
    let rounding = |text: &str| printed::number(text).map(|n| n.half_digit() / n.value.max(1e-12));
    let (Some(a), Some(b)) = (rounding(volume), rounding(rate)) else {
        return;
    };
    let slack = a + b + SLACK;
    let fits = |implied: f64| (implied / seconds - 1.0).abs() <= slack;
    if slack > 0.5 || fits(binary) || fits(decimal) {
        return;
    }
    let claim = format!(
        "{} wrote {volume} at {rate} per second: that takes {} in units of 1024 and {} in units of 1000, \
         not the {} that {} states (`{}`)",
        row.text("name"),
        duration(binary),
        duration(decimal),
        duration(seconds),
        place(window.table()),
        window.text("words"),
    );
    notes.push(
        Note::of(&catalogue::EVIDENCE_WINDOW, Caution, claim)
            .number("stated_s", seconds)
            .number("implied_s", binary)
            .number("implied_decimal_s", decimal)
            .rule(format!(
                "volume / rate within {:.1} % of the window",
                100.0 * slack
            )),
    );
}

fn load_average(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    for said in tables.lines("stated_load_average") {
        let file = &said.table().file;
        let cpu = tables.lines("host_cpu").find(|l| &l.table().file == file);
        let (Some(pct), Some(cpu)) = (said.number("pct"), cpu) else {
            continue;
        };
        let Some(load) = cpu
            .number("load_average_begin")
            .filter(|l| (l - pct).abs() <= 1.0)
        else {
            continue;
        };
        let busy = 100.0 - cpu.number("cpu_idle_pct").unwrap_or(0.0);
        let claim = format!(
            "a load average of {load} is a number of runnable processes, not {pct} %: the same \
             table has the processors {busy:.1} % busy (100 - idle)"
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_LOAD_AVERAGE, Caution, claim)
                .number("load_average", load)
                .number("cpu_busy_pct", busy),
        );
    }
}
