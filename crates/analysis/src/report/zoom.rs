//! What the script needs to redraw a series in a stretch of its time: the geometry of the drawing
//! and every point, as JSON of numbers alone.
//!
//! Invariants: nothing of a run's text gets in here, so there is nothing to escape; without the
//! script the drawing stands as it is. The script has no third party in it and fetches nothing.

use super::chart::{Chart, Frame};
use super::scale::ScaleKind;
use std::fmt::Write;

/// The script; the page joins it with another and names both by one hash.
#[cfg(test)]
pub(super) const SCRIPT: &str = include_str!("zoom.js");

/// Points of a workload's series when the page shows one workload: three hours of seconds.
const POINTS_OF_ONE: usize = 12_000;
/// Points of all series of a page together, when it shows several.
const POINTS_IN_ALL: usize = 5_000;
/// A series of fewer points shows all of them without a script.
const WORTH: usize = 120;

/// Points of each of `series` on one page.
pub(super) fn points_each(series: usize) -> usize {
    match series {
        0 | 1 => POINTS_OF_ONE,
        n => POINTS_IN_ALL / n,
    }
}

/// A series at full resolution.
pub(super) struct Full {
    /// Middles of the intervals, seconds; the end of a row where it ends.
    pub(super) at: Vec<f64>,
    /// A value for each, in the order of the chart's lines.
    pub(super) lines: Vec<Vec<f64>>,
}

/// The data of a chart; `None` where zooming would show nothing more.
pub(super) fn json(chart: &Chart<'_>, full: &Full) -> Option<String> {
    if full.at.len() < WORTH {
        return None;
    }
    let f = chart.frame();
    let mut out = String::with_capacity(8 * full.at.len() * (full.lines.len() + 1));
    geometry(chart, &f, &mut out);
    // Times as whole milliseconds after the one before: short, and exact enough.
    out.push_str(",\"t\":[");
    let mut before = 0_i64;
    for (i, at) in full.at.iter().enumerate() {
        let ms = if at.is_finite() {
            (at * 1e3).round() as i64
        } else {
            before
        };
        let comma = if i > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{}", ms - before);
        before = ms;
    }
    out.push_str("],\"v\":[");
    for (i, line) in full.lines.iter().enumerate() {
        out.push_str(if i > 0 { ",[" } else { "[" });
        for (k, value) in line.iter().enumerate() {
            if k > 0 {
                out.push(',');
            }
            // An empty place is no number: the line is parted there.
            if value.is_finite() && *value > 0.0 {
                out.push_str(&short(*value));
            } else {
                out.push('0');
            }
        }
        out.push(']');
    }
    out.push_str("]}");
    Some(out)
}

fn geometry(chart: &Chart<'_>, f: &Frame, out: &mut String) {
    let is_log = chart.y.kind == ScaleKind::Log;
    let (low, high) = f.y.domain();
    let (from, to) = f.x.domain();
    let _ = write!(
        out,
        "{{\"x\":[{:.1},{:.1},{from:.3},{to:.3}],\"y\":[{:.1},{:.1},{low:.6},{high:.6},{}],\"m\":[",
        f.left,
        f.right,
        f.bottom,
        f.top,
        u8::from(is_log)
    );
    for (i, (at, _)) in chart.marks.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{at:.3}");
    }
    out.push(']');
}

/// Three significant digits in as few characters as they take.
fn short(value: f64) -> String {
    let exponent = value.log10().floor() as i32 - 2;
    if exponent <= 0 {
        let text = format!("{value:.*}", exponent.unsigned_abs().min(6) as usize);
        return if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        };
    }
    let mantissa = (value / 10f64.powi(exponent)).round();
    if exponent >= 2 {
        format!("{mantissa}e{exponent}")
    } else {
        format!("{:.0}", mantissa * 10f64.powi(exponent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_keep_three_digits() {
        for (value, text) in [
            (0.5, "0.5"),
            (1.0, "1"),
            (12.34, "12.3"),
            (987.0, "987"),
            (1234.0, "1230"),
            (123_456.0, "123e3"),
            (9_999_999.0, "1000e4"),
        ] {
            assert_eq!(short(value), text);
            let back: f64 = short(value).parse().expect("a number");
            assert!((back / value - 1.0).abs() < 0.006, "{value} {back}");
        }
    }
}
