//! The line of each second while a log is watched. What was seen is [`analysis::account::watched`].

use crate::watch::WatchedSecond;
use measure::units::MB_BYTES;

/// The heading of the lines of seconds.
#[must_use]
pub fn live_heading() -> String {
    "   time s  log writes/s      MB/s   mean ms    p99 ms    max ms  flush mean ms".to_owned()
}

/// What was seen in a second.
#[must_use]
pub fn live_line(second: &WatchedSecond) -> String {
    let per_second = |count: f64| count / second.seconds.max(1e-9);
    let ms = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ns / 1e6));
    let write = &second.write;
    let some = (write.count() > 0).then_some(write);
    let flush = (second.flush.count() > 0).then(|| second.flush.mean());
    format!(
        "{:>9.0}  {:>12.0}  {:>8.2}  {:>8}  {:>8}  {:>8}  {:>13}",
        second.at_s,
        per_second(write.count() as f64),
        per_second(second.bytes as f64 / MB_BYTES),
        ms(some.map(measure::Histogram::mean)),
        ms(some
            .and_then(|write| write.quantile(0.99))
            .map(|ns| ns as f64)),
        ms(some.map(|write| write.max() as f64)),
        ms(flush),
    )
}
