//! How a run's log was written: the probe's figures, and what was done without.

use super::cells::{grouped, ns_as_ms};
use super::table::{Style, draw};
use measure::run::{ProbeRow, Run};
use measure::words::sanitize;

/// What the log lies on, and what was asked for and done without; with `verbose` also what the
/// probe found before the log was opened. Empty where there is none of it.
#[must_use]
pub fn text(run: &Run, style: Style, verbose: bool) -> String {
    let mut text = String::new();
    let Some(log) = run.target.redo_log() else {
        return text;
    };
    if verbose && !log.probe.is_empty() {
        text.push_str("\nProbe at open (durable writes, one at a time):\n");
        let headings = [
            "Sync method",
            "Engine",
            "Bytes",
            "Writes",
            "p50 ms",
            "Mean ms",
        ];
        let lines = log.probe.iter().filter(|r| r.writes > 0).map(line);
        text.push_str(&draw(&headings, lines.collect(), 2, style));
        for row in &log.probe {
            if let Some(refused) = row.refused.as_deref().filter(|_| row.writes == 0) {
                text.push_str(&format!(
                    "Not measured: {} with {}, {} bytes: {}\n",
                    sanitize::line(&row.sync_method),
                    sanitize::line(&row.io),
                    row.write_bytes,
                    sanitize::line(refused)
                ));
            }
        }
        text.push_str(&format!(
            "Chosen: {} with {}\n",
            sanitize::line(&log.sync_method),
            sanitize::line(log.io.as_deref().unwrap_or("-"))
        ));
    }
    if let Some(stripe) = &log.stripe {
        text.push_str(&format!("\nStripe of {stripe}:\n"));
        for directory in &stripe.directories {
            text.push_str(&format!("  {}\n", sanitize::line(directory)));
        }
    }
    text.push_str(&super::members::text(log, style));
    text.push_str(&super::ring::text(run));
    for fallback in &log.fallbacks {
        text.push_str(&format!("Done without: {}\n", sanitize::line(fallback)));
    }
    text
}

fn line(row: &ProbeRow) -> Vec<String> {
    let missing = || "-".to_owned();
    vec![
        sanitize::line(&row.sync_method),
        sanitize::line(&row.io),
        grouped(row.write_bytes),
        grouped(row.writes),
        row.p50_ns.map_or_else(missing, |ns| ns_as_ms(ns as f64)),
        row.mean_ns.map_or_else(missing, ns_as_ms),
    ]
}
