//! A run as one self-contained HTML file: no script, nothing fetched, light, dark and print.
//!
//! Invariants: every text of a run passes [`escape::esc`]; the content security policy allows
//! the one style sheet by its hash and nothing else; no element has a style or handler
//! attribute; the origin of figures stands on every table and plot.
//!
//! What it must not know: where the file goes; how anything was measured.

mod bars;
mod chart;
pub mod escape;
mod figures;
mod imported;
mod judged;
mod scale;
mod series;
mod svg;
mod tables;
mod target;
mod ticks;
mod trust;
mod workers;

use escape::esc;
use measure::run::{Origin, Run};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");

/// Most entries of a list that are shown; the rest is counted.
const MAX_ENTRIES: usize = 200;

/// The report of a run.
#[must_use]
pub fn html(run: &Run) -> String {
    let sections = match &run.imported {
        Some(evidence) => {
            let mut sections = imported::sections(run, evidence);
            sections.extend([trust::validity(run), target::command(run)]);
            sections
        }
        None => measured(run),
    };
    let mut out = String::with_capacity(256 * 1024);
    out.push_str(&head(run));
    out.push_str("<body>\n");
    out.push_str(&judged::banner(run));
    out.push_str("<main>\n");
    for section in sections.iter().filter(|s| !s.is_empty()) {
        out.push_str(section);
        out.push('\n');
    }
    out.push_str("</main>\n");
    out.push_str(&footer(run));
    out.push_str("</body>\n</html>\n");
    out
}

fn measured(run: &Run) -> Vec<String> {
    vec![
        judged::reasons(run),
        judged::scope(run),
        target::stack(run),
        target::floor(run),
        target::probe(run),
        tables::rows(run),
        figures::load(run),
        figures::percentiles(run),
        figures::commit_path(run),
        tables::waits(run),
        workers::workers(run),
        series::series(run),
        trust::validity(run),
        target::environment(run),
        target::command(run),
    ]
}

fn head(run: &Run) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'sha256-{}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>redolab: {}</title>\n<style>{STYLE}</style>\n</head>\n",
        base64(&Sha256::digest(STYLE.as_bytes())),
        esc(&title(run)),
    )
}

fn title(run: &Run) -> String {
    if run.target.path.is_empty() {
        run.run_id.clone()
    } else {
        format!("{} ({})", run.target.path, run.run_id)
    }
}

fn footer(run: &Run) -> String {
    format!(
        "<footer>redolab {} · schema {} · run {} · {}. Units: 1 kB = 1024 B, 1 MB = 1024 kB, as in \
         study 003. Percentiles come from merged histograms and are not given from fewer than ten \
         samples beyond them; counts, sums, minima and maxima are exact.</footer>\n",
        esc(&run.redolab_version),
        esc(&run.schema),
        esc(&run.run_id),
        esc(&run.created),
    )
}

/// The standard alphabet of RFC 4648, as a policy's hash wants it.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |w, b| (w << 8) | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let index = (word >> (18 - 6 * i)) as usize & 63;
            out.push(if i <= chunk.len() {
                char::from(ALPHABET[index])
            } else {
                '='
            });
        }
    }
    out
}

/// Where figures come from, as a label for tables and plots.
fn origin_tag(run: &Run) -> String {
    let (word, class) = match run.origin {
        Origin::Measured => ("measured", "tag"),
        Origin::Simulated => ("simulated", "tag loud"),
        Origin::Imported => ("imported", "tag loud"),
    };
    let doubt = if run.validity.valid {
        ""
    } else {
        " <span class=\"tag loud\">run invalid</span>"
    };
    format!("<span class=\"{class}\">{word}</span>{doubt}")
}

/// Heading, how to read it, content; nothing where there is no content.
fn section(heading: &str, how: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    let how = if how.is_empty() {
        String::new()
    } else {
        format!("<p class=\"how\">{how}</p>\n")
    };
    format!("<section>\n<h2>{heading}</h2>\n{how}{content}\n</section>")
}

/// A list of at most [`MAX_ENTRIES`] of what `entry` makes, and how many more there are.
fn entries<T>(items: &[T], entry: impl Fn(&T) -> String) -> String {
    let mut out: String = items.iter().take(MAX_ENTRIES).map(entry).collect();
    if items.len() > MAX_ENTRIES {
        out.push_str(&format!("<li>and {} more</li>", items.len() - MAX_ENTRIES));
    }
    out
}

/// `<dt>`/`<dd>` pairs of what is known.
fn pairs(items: &[(&str, Option<String>)]) -> String {
    let known: String = items
        .iter()
        .filter_map(|(k, v)| Some((k, v.as_ref().filter(|v| !v.is_empty())?)))
        .map(|(k, v)| format!("<dt>{k}</dt><dd>{}</dd>", esc(v)))
        .collect();
    if known.is_empty() {
        known
    } else {
        format!("<dl class=\"kv\">{known}</dl>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_the_standard_writes_it() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
