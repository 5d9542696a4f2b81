//! Event histograms as bars: a bar a bucket, its length the logarithm of the count.

use super::figure::{Figure, Numbers};
use super::svg::{Anchor, Svg, width};
use super::topic::Topic;
use crate::format;

/// Most buckets that are drawn.
const BUCKETS_MAX: usize = 40;
const ROW: f64 = 17.0;
const TOP: f64 = 22.0;
const WIDTH: f64 = 460.0;

/// An event histogram.
pub(super) struct Buckets {
    /// Unique in the page.
    pub(super) id: String,
    pub(super) title: String,
    /// `(exclusive upper bound in ns, waits)`, ascending.
    pub(super) counts: Vec<(f64, u64)>,
}

impl Buckets {
    /// Buckets between the first and the last that have waits.
    fn used(&self) -> &[(f64, u64)] {
        let used = |(_, n): &(f64, u64)| *n > 0;
        let first = self.counts.iter().position(used).unwrap_or(0);
        let end = self.counts.iter().rposition(used).map_or(0, |i| i + 1);
        let end = end.min(first + BUCKETS_MAX);
        self.counts.get(first..end).unwrap_or_default()
    }

    pub(super) fn figure(&self, tags: String) -> Figure {
        let total: u64 = self.used().iter().map(|b| b.1).fold(0, u64::saturating_add);
        let pct = |n: u64| format::percent(100.0 * n as f64 / total.max(1) as f64);
        let line = |(bound, n): &(f64, u64)| vec![under(*bound), format::count(*n), pct(*n)];
        Figure {
            id: self.id.clone(),
            topic: Topic::Buckets,
            of: String::new(),
            caption: self.title.clone(),
            tags,
            how: "Each bar counts the waits between the bound of the previous bar and its own bound. The scale is in powers of ten: a bar half as long means far fewer waits. An average does not show a second peak further down.".to_owned(),
            drawing: self.svg(&pct),
            table: Numbers {
                head: ["Under", "Waits", "Share"].map(str::to_owned).to_vec(),
                lines: self.used().iter().map(line).collect(),
                note: String::new(),
            },
            is_wide: false,
            second: String::new(),
            zoom: None,
        }
    }

    fn svg(&self, pct: &dyn Fn(u64) -> String) -> String {
        let used = self.used();
        let most = used.iter().map(|b| b.1).max().unwrap_or(0);
        if most == 0 {
            return String::new();
        }
        let notes: Vec<String> = used
            .iter()
            .map(|(_, n)| format!("{} · {}", format::count(*n), pct(*n)))
            .collect();
        let labels: Vec<String> = used.iter().map(|(bound, _)| under(*bound)).collect();
        let widest = |all: &[String]| all.iter().map(|t| width(t)).fold(0.0, f64::max);
        let left = widest(&labels).max(width("under")) + 12.0;
        let right = WIDTH - widest(&notes) - 8.0;
        // A single wait is to be seen: decades begin at a third.
        let decades = (most as f64).log10() + 0.5;
        let place = |n: u64| left + (right - left) * ((n as f64).log10() + 0.5) / decades;
        let size = (WIDTH, TOP + ROW * used.len() as f64 + 6.0);
        let desc = format!(
            "{} buckets; most waits, {}, under {}.",
            used.len(),
            format::count(most),
            used.iter()
                .find(|b| b.1 == most)
                .map_or_else(String::new, |b| under(b.0))
        );
        let mut svg = Svg::open(&self.id, size, "chart", &self.title, &desc);
        svg.text("yl", (left - 8.0, 12.0), Anchor::End, "under");
        svg.text("yl", (left, 12.0), Anchor::Start, "waits, by powers of ten");
        let bottom = TOP + ROW * used.len() as f64;
        for decade in (0..=19).take_while(|d| f64::from(*d) <= decades - 0.5) {
            let at = place(10_u64.saturating_pow(decade));
            svg.line("grid", (at, TOP - 3.0), (at, bottom));
        }
        svg.group("c0");
        for (i, (_, n)) in used.iter().enumerate().filter(|(_, b)| b.1 > 0) {
            let y = TOP + ROW * i as f64;
            svg.rect("seg", (left, y), (place(*n) - left, ROW - 4.0));
        }
        svg.end();
        for (i, ((_, n), (label, note))) in used.iter().zip(labels.iter().zip(&notes)).enumerate() {
            let y = TOP + ROW * i as f64 + 10.0;
            svg.text("tk", (left - 8.0, y), Anchor::End, label);
            let (at, note) = match *n {
                0 => (left, "0"),
                n => (place(n), note.as_str()),
            };
            svg.text("lb", (at + 6.0, y), Anchor::Start, note);
        }
        svg.close()
    }
}

/// A bound as histograms of microseconds or milliseconds name it.
fn under(bound_ns: f64) -> String {
    let (value, unit) = match bound_ns {
        v if v < 1e6 => (v / 1e3, "µs"),
        v if v < 1e9 && (v / 1e6).fract() == 0.0 => (v / 1e6, "ms"),
        v if v < 1e7 => (v / 1e3, "µs"),
        v if v < 1e9 => (v / 1e6, "ms"),
        v => (v / 1e9, "s"),
    };
    if value.fract() == 0.0 && value < 1e9 {
        format!("{} {unit}", format::count(value as u64))
    } else {
        format!("{} {unit}", format::digits(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_read_as_their_views_name_them() {
        for (ns, text) in [
            (1e3, "1 µs"),
            (512e3, "512 µs"),
            (1e6, "1 ms"),
            (1.024e6, "1,024 µs"),
            (16e6, "16 ms"),
            (16.384e6, "16.4 ms"),
        ] {
            assert_eq!(under(ns), text);
        }
    }

    #[test]
    fn empty_ends_are_left_out_and_nothing_is_nothing() {
        let mut all = Buckets {
            id: "b".to_owned(),
            title: String::new(),
            counts: vec![(1e6, 0), (2e6, 5), (4e6, 0), (8e6, u64::MAX), (16e6, 0)],
        };
        assert_eq!(all.used().len(), 3);
        assert!(all.figure(String::new()).drawing.contains("<svg"));
        all.counts.clear();
        assert_eq!(all.figure(String::new()).drawing, "");
    }
}
