//! What a canary saw, for people: each stall with its evidence as it happens, and the summary.
//!
//! Invariant: what was not available is left out or shown as a dash, never as zero.

use super::lines::wrap;
use super::section;
use super::table::Style;
use crate::watch::canary::{CanaryReport, Stall, StallClass, StallEvidence};
use analysis::account::{AccountColumn, AccountTable, Shown, figure, label};
use measure::run::WaitStats;
use measure::words::{self, sanitize};

/// Lines of a stall are not wider.
const WIDTH: usize = 80;
/// Stalls that the table lists.
const LISTED: usize = 50;
const NONE: &str = "–";

fn ms(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    match ms < 99.95 {
        true => format!("{ms:.1}"),
        false => words::count(ms.round() as u64),
    }
}

fn or_dash<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), show)
}

/// One stall with its evidence.
#[must_use]
pub fn stall(stall: &Stall) -> String {
    let mut text = String::new();
    let evidence = &stall.evidence;
    let first = format!(
        "{:.1} s: stall of {} ms, {}: {}.",
        stall.at_ns as f64 / 1e9,
        ms(evidence.duration_ns),
        stall.class.word(),
        stall.reason
    );
    wrap(&mut text, "", &first, WIDTH);
    for line in [parts(evidence), device(evidence), machine(evidence)] {
        wrap(&mut text, "    ", &line, WIDTH);
    }
    // Printed as lines, which end by themselves.
    text.truncate(text.trim_end().len());
    text
}

/// Its parts, and where the canary was.
fn parts(evidence: &StallEvidence) -> String {
    let mut line = format!(
        "late {} ms, write {} ms, fsync {} ms; without a processor {}, heartbeat overdue {} ms",
        ms(evidence.late_ns),
        ms(evidence.write_ns),
        ms(evidence.fsync_ns),
        or_dash(evidence.run_delay_ns, |ns| format!("{} ms", ms(ns))),
        ms(evidence.heartbeat_late_ns)
    );
    let one = |waited: &crate::watch::canary::WaitedIn| {
        let function = sanitize::line(&waited.function);
        format!("{function} ({} of {})", waited.samples, evidence.samples)
    };
    let waited: Vec<String> = evidence.waited_in.iter().take(3).map(one).collect();
    if !waited.is_empty() {
        line.push_str(&format!("; waited in {}", waited.join(", ")));
    }
    line
}

fn device(evidence: &StallEvidence) -> String {
    let in_flight = evidence.in_flight_most.zip(evidence.in_flight_samples);
    format!(
        "device: busy {}, wrote {}, requests in flight {}, none completed for up to {}",
        or_dash(evidence.device_busy_ns, |ns| format!("{} ms", ms(ns))),
        or_dash(evidence.device_written_bytes, words::bytes),
        or_dash(in_flight, |(most, samples)| {
            format!("up to {most} ({samples} of {} samples)", evidence.samples)
        }),
        or_dash(evidence.no_completion_ns, |ns| format!("{} ms", ms(ns)))
    )
}

fn machine(evidence: &StallEvidence) -> String {
    let pressure = |ns: Option<u64>| or_dash(ns, |ns| format!("{} ms", ms(ns)));
    format!(
        "machine: dirty {}, writeback {}; pressure of I/O {}, processors {}, memory {}",
        or_dash(evidence.dirty_bytes, words::bytes),
        or_dash(evidence.writeback_bytes, words::bytes),
        pressure(evidence.pressure_io_ns),
        pressure(evidence.pressure_cpu_ns),
        pressure(evidence.pressure_memory_ns)
    )
}

/// The summary.
#[must_use]
pub fn text(report: &CanaryReport, style: Style) -> String {
    let mut text = String::new();
    let device = report.device.as_deref().unwrap_or("unknown device");
    let line = format!(
        "Canary on {} ({}): {} in {:.0} s{}, origin: measured",
        sanitize::line(&report.path),
        sanitize::line(device),
        words::plural(report.probes, "probe"),
        report.elapsed_ns as f64 / 1e9,
        if report.interrupted {
            ", interrupted"
        } else {
            ""
        }
    );
    wrap(&mut text, "", &line, style.width);
    text.push('\n');
    text.push_str(&times(report, style));
    text.push('\n');
    if report.probes == 0 {
        text.push_str("No probe was made, so nothing is known about stalls.\n");
    } else if report.stalls_by_class.all() == 0 {
        text.push_str("No stalls.\n");
    } else {
        text.push_str(&classes(report, style));
        text.push('\n');
        text.push_str(&stalls(report, style));
    }
    if let Some(why) = &report.ended_by {
        let why = sanitize::line(why);
        wrap(
            &mut text,
            "",
            &format!("A probe failed: {why}."),
            style.width,
        );
    }
    for what in &report.not_available {
        wrap(
            &mut text,
            "",
            &format!("Not available here: {what}."),
            style.width,
        );
    }
    text
}

fn drawn<T>(
    of: impl IntoIterator<Item = T>,
    columns: &[AccountColumn<'_, T>],
    style: Style,
) -> String {
    let table = AccountTable::of(of, columns);
    table.map_or_else(String::new, |table| section::table(&table, LISTED, style))
}

fn times(report: &CanaryReport, style: Style) -> String {
    let columns: [AccountColumn<'_, (&str, &WaitStats)>; 7] = [
        (label("ms"), &|(name, _)| Shown::text(name)),
        (figure("Mean", ""), &|(_, of)| in_ms(Shown::mean(of))),
        (figure("p50", ""), &|(_, of)| in_ms(Shown::ns(of.p50_ns))),
        (figure("p90", ""), &|(_, of)| in_ms(Shown::ns(of.p90_ns))),
        (figure("p99", ""), &|(_, of)| in_ms(Shown::ns(of.p99_ns))),
        (figure("p99.9", ""), &|(_, of)| in_ms(Shown::ns(of.p999_ns))),
        (figure("Maximum", ""), &|(_, of)| in_ms(Shown::longest(of))),
    ];
    let both = [
        ("write and fsync", &report.write_and_fsync),
        ("late begin", &report.late),
    ];
    drawn(both, &columns, style)
}

/// A time in a table of milliseconds.
fn in_ms(time: Shown) -> Shown {
    match time {
        Shown::Ns(ns) => Shown::Number(ns / 1e6),
        other => other,
    }
}

fn classes(report: &CanaryReport, style: Style) -> String {
    let columns: [AccountColumn<'_, StallClass>; 2] = [
        (label("Class"), &|class| Shown::text(class.word())),
        (figure("Stalls", ""), &|class| {
            report.stalls_by_class.of(*class).into()
        }),
    ];
    drawn(StallClass::ALL, &columns, style)
}

fn stalls(report: &CanaryReport, style: Style) -> String {
    let ns = |ns: Option<u64>| Shown::ns(ns);
    let columns: [AccountColumn<'_, &Stall>; 9] = [
        (label("Class"), &|of| Shown::text(of.class.word())),
        (figure("At", "s"), &|of| Shown::Ns(of.at_ns as f64)),
        (figure("Stall", "ms"), &|of| {
            ns(Some(of.evidence.duration_ns))
        }),
        (figure("Write", "ms"), &|of| ns(Some(of.evidence.write_ns))),
        (figure("Fsync", "ms"), &|of| ns(Some(of.evidence.fsync_ns))),
        (figure("No CPU", "ms"), &|of| ns(of.evidence.run_delay_ns)),
        (figure("Heartbeat late", "ms"), &|of| {
            ns(Some(of.evidence.heartbeat_late_ns))
        }),
        (figure("Device busy", "ms"), &|of| {
            ns(of.evidence.device_busy_ns)
        }),
        (figure("Writeback", ""), &|of| {
            of.evidence.writeback_bytes.map(Shown::Bytes).into()
        }),
    ];
    let mut text = drawn(report.stalls.iter().take(LISTED), &columns, style);
    let more = report.stalls_by_class.all().saturating_sub(LISTED as u64);
    if more > 0 {
        text.push_str(&format!(
            "{} more; --format json has the first 1,000 with all evidence.\n",
            words::plural(more, "stall")
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::canary::{SCHEMA, StallCounts};

    fn report() -> CanaryReport {
        let evidence = StallEvidence {
            duration_ns: 1_234_000_000,
            fsync_ns: 1_230_000_000,
            samples: 240,
            waited_in: vec![crate::watch::canary::WaitedIn {
                function: "jbd2_log_wait_commit".to_owned(),
                samples: 239,
            }],
            device_busy_ns: Some(1_229_000_000),
            device_written_bytes: Some(20_480),
            in_flight_most: Some(2),
            in_flight_samples: Some(240),
            no_completion_ns: Some(3_000_000),
            writeback_bytes: Some(0),
            ..StallEvidence::default()
        };
        let (class, reason) = evidence.judged();
        let stall = Stall {
            probe: 7,
            at_ns: 12_340_000_000,
            limit_ns: 20_000_000,
            class,
            reason,
            evidence,
        };
        let stats = measure::Histogram::new().stats();
        CanaryReport {
            schema: SCHEMA,
            redolab_version: "0",
            started: String::new(),
            path: "/u01/\u{1b}[31mlog".to_owned(),
            device: None,
            rate_per_s: 10,
            stall_over_ns: None,
            elapsed_ns: 60_000_000_000,
            interrupted: false,
            ended_by: None,
            probes: 600,
            write_and_fsync: stats.clone(),
            late: stats,
            stalls_by_class: StallCounts {
                storage: 1,
                ..StallCounts::default()
            },
            stalls: vec![stall],
            stalls_left_out: 0,
            not_available: vec!["pressure of I/O (/proc/pressure/io)".to_owned()],
        }
    }

    #[test]
    fn a_stall_is_printed_with_its_evidence_in_80_columns() {
        let report = report();
        let text = stall(&report.stalls[0]);
        assert!(
            text.starts_with("12.3 s: stall of 1,234 ms, storage: the device"),
            "{text}"
        );
        for part in [
            "fsync 1,230 ms",
            "without a processor –",
            "jbd2_log_wait_commit (239 of 240)",
            "wrote 20 KiB",
            "up to 2 (240 of 240 samples)",
            "writeback 0 B",
            "pressure of I/O –",
        ] {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(part), "{part}: {text}");
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn the_summary_fits_80_columns_and_its_path_is_harmless() {
        let mut report = report();
        let narrow = Style::detect(true, Some(80));
        let shown = text(&report, narrow);
        assert!(!shown.contains('\u{1b}'), "{shown}");
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80),
            "{shown}"
        );
        assert!(
            shown.contains("Not available here: pressure of I/O"),
            "{shown}"
        );
        assert!(shown.contains("1,234"), "{shown}");
        report.stalls.clear();
        report.stalls_by_class = StallCounts::default();
        assert!(text(&report, narrow).contains("No stalls."));
    }
}
