//! Pieces of SVG. Presentation is by class alone, so that one style sheet serves light, dark and
//! print, and the page needs no style attribute.
//!
//! Invariant: every number is finite and rounded to a tenth of a unit; every text is escaped here.

use super::escape::esc;
use std::fmt::Write;

/// An SVG in the making, in units of its view box.
#[derive(Debug)]
pub struct Svg {
    out: String,
}

/// Where a text is anchored.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// At its first character.
    Start,
    /// In its middle.
    Middle,
    /// At its last character.
    End,
}

fn n(value: f64) -> f64 {
    if value.is_finite() {
        (value * 10.0).round() / 10.0
    } else {
        0.0
    }
}

impl Svg {
    /// Opens an image with its accessible name and description. `id` is unique in the page.
    #[must_use]
    pub fn open(id: &str, size: (f64, f64), class: &str, title: &str, desc: &str) -> Svg {
        let mut out = String::with_capacity(8192);
        let _ = write!(
            out,
            "<svg class=\"{class}\" viewBox=\"0 0 {} {}\" role=\"img\" \
             aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title>\
             <desc id=\"{id}-d\">{}</desc>",
            n(size.0),
            n(size.1),
            esc(title),
            esc(desc),
        );
        Svg { out }
    }

    /// The finished image.
    #[must_use]
    pub fn close(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }

    /// Opens a group of a class.
    pub fn group(&mut self, class: &str) {
        let _ = write!(self.out, "<g class=\"{class}\">");
    }

    /// Closes it.
    pub fn end(&mut self) {
        self.out.push_str("</g>");
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, a: (f64, f64), b: (f64, f64)) {
        let _ = write!(
            self.out,
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            n(a.0),
            n(a.1),
            n(b.0),
            n(b.1)
        );
    }

    /// A rectangle, by its upper left corner.
    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        let _ = write!(
            self.out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            n(at.0),
            n(at.1),
            n(size.0.max(0.0)),
            n(size.1.max(0.0))
        );
    }

    /// Horizontal bars of one height, each by its left end, middle and length: one element.
    pub fn runs(&mut self, class: &str, height: f64, runs: &[(f64, f64, f64)]) {
        if runs.is_empty() {
            return;
        }
        let mut d = String::with_capacity(12 * runs.len());
        for (x, y, length) in runs {
            let _ = write!(d, "M{} {}h{}", n(*x), n(*y), n(*length));
        }
        let height = n(height);
        let _ = write!(
            self.out,
            "<path class=\"{class}\" stroke-width=\"{height}\" d=\"{d}\"/>"
        );
    }

    /// Round dots of one size: one element.
    pub fn dots(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.is_empty() {
            return;
        }
        let mut d = String::with_capacity(14 * points.len());
        for (x, y) in points {
            let _ = write!(d, "M{} {}h0", n(*x), n(*y));
        }
        let _ = write!(self.out, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    /// A line of text.
    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.out,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            n(at.0),
            n(at.1),
            esc(text)
        );
    }

    /// A line through `points`; a point that is not finite parts it. A point between two such
    /// parts is a dot, so that nothing that was measured is invisible.
    pub fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let is_point = |p: &(f64, f64)| p.0.is_finite() && p.1.is_finite();
        let mut d = String::new();
        for part in points.split(|p| !is_point(p)) {
            for (i, (x, y)) in part.iter().enumerate() {
                let command = if i == 0 { 'M' } else { 'L' };
                let _ = write!(d, "{command}{} {}", n(*x), n(*y));
            }
            if part.len() == 1 {
                d.push_str("h0");
            }
        }
        if !d.is_empty() {
            let _ = write!(self.out, "<path class=\"{class}\" d=\"{d}\"/>");
        }
    }

    /// One of six marker shapes, so that series can be distinguished without colour.
    pub fn marker(&mut self, shape: usize, at: (f64, f64)) {
        let (x, y) = (n(at.0), n(at.1));
        let d = match shape % 6 {
            0 => format!("M{x} {y}m-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0Z"),
            1 => format!("M{x} {y}m-3.1 -3.1h6.2v6.2h-6.2Z"),
            2 => format!("M{x} {y}m0 -4.1l4 7h-8Z"),
            3 => format!("M{x} {y}m0 -4.3l4.3 4.3l-4.3 4.3l-4.3 -4.3Z"),
            4 => format!("M{x} {y}m0 4.1l4 -7h-8Z"),
            _ => format!("M{x} {y}m-1.3 -4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7Z"),
        };
        let _ = write!(self.out, "<path class=\"mk\" d=\"{d}\"/>");
    }
}

/// Width of `text` in the chart's type, in units of the view box: an estimate on the safe side.
#[must_use]
pub fn width(text: &str) -> f64 {
    6.3 * text.chars().count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_numbers_are_finite() {
        let mut svg = Svg::open("x", (10.0, f64::NAN), "chart", "<b>", "\"d\"");
        svg.text("t", (f64::INFINITY, 1.26), Anchor::End, "</svg><script>");
        svg.path("p", &[(0.0, 0.0), (1.0, f64::NAN), (2.0, 2.0)]);
        let out = svg.close();
        assert!(!out.contains("<script") && !out.contains("NaN") && !out.contains("inf"));
        assert!(out.contains("M0 0h0M2 2h0") && out.contains("y=\"1.3\""));
        assert_eq!(out.matches("<svg").count(), out.matches("</svg>").count());
    }
}
