//! A figure as an SVG file of its own, for a ticket, a slide or a document.
//!
//! Invariants: the file needs nothing else: its colours are written out, because many programs
//! that show SVG know no variables; it is light, with a ground of its own; what it shows and where
//! that comes from is in it.

use super::escape::esc;
use super::figure::Figure;
use measure::run::Run;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Height of the lines above the drawing, and the space around it.
const HEAD: f64 = 46.0;
const MARGIN: f64 = 14.0;
/// Space between two drawings.
const GAP: f64 = 24.0;
const STYLE: &str = include_str!("style.css");
const FONT: &str = "system-ui,Roboto,Helvetica,Arial,Liberation Sans,DejaVu Sans,sans-serif";

/// Where the figures of a run come from, in a line.
pub(super) fn source(run: &Run) -> String {
    let invalid = if run.validity.valid {
        ""
    } else {
        " · INVALID"
    };
    let path = match run.target.path.as_str() {
        "" => String::new(),
        path => format!(" · {path}"),
    };
    let host = match run.environment.hostname.as_str() {
        "" => String::new(),
        host => format!(" · {host}"),
    };
    format!(
        "{}{invalid}{path}{host} · redolab run {}",
        run.origin, run.run_id
    )
}

/// The file of a figure of a page.
pub(super) fn svg(figure: &Figure, source: &str) -> String {
    file(&figure.caption, source, &[&figure.drawing, &figure.second])
}

/// A file of drawings beside each other, below their caption and a line on where they come from.
#[must_use]
pub fn file(caption: &str, source: &str, drawings: &[&str]) -> String {
    let parts: Vec<Part<'_>> = drawings.iter().filter_map(|d| Part::of(d)).collect();
    let gaps = GAP * parts.len().saturating_sub(1) as f64;
    let width = parts.iter().map(|p| p.width).sum::<f64>() + gaps + 2.0 * MARGIN;
    let tallest = parts.iter().map(|p| p.height).fold(0.0, f64::max);
    let height = tallest + HEAD + 2.0 * MARGIN;
    let mut out = String::with_capacity(8192);
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FONT}\" font-size=\"11\"><title>{}</title><style>{}</style><rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>",
        esc(caption),
        style(),
    );
    let _ = write!(
        out,
        "<text class=\"caption\" x=\"{MARGIN}\" y=\"26\">{}</text><text class=\"source\" x=\"{MARGIN}\" y=\"43\">{}</text>",
        esc(caption),
        esc(source),
    );
    let mut x = MARGIN;
    for part in parts {
        let y = HEAD + MARGIN;
        let _ = write!(
            out,
            "<g transform=\"translate({x} {y})\">{}</g>",
            part.inner
        );
        x += part.width + GAP;
    }
    out.push_str("</svg>\n");
    out
}

/// A drawing of the page: its size and what is inside.
struct Part<'a> {
    width: f64,
    height: f64,
    inner: &'a str,
}

impl Part<'_> {
    fn of(drawing: &str) -> Option<Part<'_>> {
        let (_, view) = drawing.split_once("viewBox=\"0 0 ")?;
        let (size, _) = view.split_once('"')?;
        let (width, height) = size.split_once(' ')?;
        let inner = drawing.split_once("</desc>")?.1.strip_suffix("</svg>")?;
        Some(Part {
            width: width.parse().ok()?,
            height: height.parse().ok()?,
            inner,
        })
    }
}

/// The light colours of the page by their names.
fn palette() -> BTreeMap<&'static str, &'static str> {
    let first = STYLE.split('}').next().unwrap_or_default();
    let pairs = first.split([';', '{']);
    pairs
        .filter_map(|pair| pair.trim().strip_prefix("--")?.split_once(':'))
        .collect()
}

/// The rules of drawings with their colours written out.
fn style() -> String {
    let colours = palette();
    let colour = |name: &str| colours.get(name).copied().unwrap_or("#000");
    let mut out = format!(
        ".ground{{fill:{}}}text{{fill:{}}}.tk,.yl,.xl,.source{{fill:{}}}.lb,.caption{{fill:{}}}.caption{{font-size:14px;font-weight:600}}.dim{{fill:{}}}.grid{{stroke:{}}}.axis{{stroke:{}}}.mark{{stroke:{};stroke-dasharray:2 3}}.rug{{stroke:{};stroke-width:1}}.need{{stroke:{};stroke-width:1.5;stroke-dasharray:6 3}}.needed{{fill:{};font-weight:600}}.ln{{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}}.thin{{stroke-width:1.3}}.mk{{stroke:{};stroke-width:1}}.lead{{stroke-width:.8;opacity:.55}}.dash .ln{{stroke-dasharray:5 4}}.dot{{fill:none;stroke-width:3.2;stroke-linecap:round}}.ht{{fill:none}}.top .ln{{stroke-width:1}}.mu .ln{{stroke-width:1.4}}.mu0 .ln{{stroke-dasharray:1 3}}.mu1 .ln{{stroke-dasharray:5 3}}.mu2 .ln{{stroke-dasharray:7 3 1.5 3}}",
        colour("bg"),
        colour("ink2"),
        colour("ink3"),
        colour("ink"),
        colour("ink3"),
        colour("grid"),
        colour("mu"),
        colour("rule"),
        colour("k1"),
        colour("no"),
        colour("no"),
        colour("bg"),
    );
    for level in 0..8 {
        let _ = write!(out, ".h{level}{{stroke:{}}}", colour(&format!("h{level}")));
    }
    let mut classes: Vec<(String, String)> =
        (0..7).map(|k| (format!("c{k}"), format!("k{k}"))).collect();
    let named = [
        ("p0", "mu"),
        ("p1", "k0"),
        ("p2", "k1"),
        ("p3", "k4"),
        ("mu", "mu"),
        ("top", "ink"),
    ];
    classes.extend(named.map(|(class, name)| (class.to_owned(), name.to_owned())));
    for (class, name) in classes {
        let value = colour(&name);
        let _ = write!(
            out,
            ".{class} .ln,.{class} .lead,.{class} .dot,.dot.{class}{{stroke:{value}}}.{class} .mk,.{class} .bar{{fill:{value}}}"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_written_out() {
        let style = style();
        assert!(style.contains(".c0 .ln") && style.contains("#0072b2"));
        assert!(
            !style.contains("var(") && !style.contains("#000}"),
            "{style}"
        );
        assert_eq!(palette().get("bg"), Some(&"#fff"));
    }

    #[test]
    fn a_drawing_gives_its_size_and_content() {
        let drawing = "<svg class=\"chart\" viewBox=\"0 0 460 264\"><title>a</title><desc>b</desc><g></g></svg>";
        let part = Part::of(drawing).expect("a drawing");
        assert_eq!(
            (part.width, part.height, part.inner),
            (460.0, 264.0, "<g></g>")
        );
        assert!(Part::of("<p>none</p>").is_none());
    }
}
