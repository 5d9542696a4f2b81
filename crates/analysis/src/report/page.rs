//! The page: head with its policy, contents, sections, and the links between findings and figures.
//!
//! Invariants: ids are unique and our own words; the style sheet and the script are named in the
//! policy by the hashes of their very bytes; a section without content is left out everywhere.

use super::escape::esc;
use super::figure::Figure;
use super::links::Links;
use super::reasons;
use super::topic::Topic;
use super::zoom::SCRIPT;
use measure::judgement::Finding;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");

/// A page before it is text.
pub(super) struct Page<'a> {
    /// Of the window; escaped here.
    pub(super) title: String,
    /// Markup above the contents.
    pub(super) header: String,
    /// What was found, in the order in which it is shown.
    pub(super) findings: Vec<&'a Finding>,
    pub(super) sections: Vec<Section>,
    /// Markup at the end.
    pub(super) footer: String,
}

/// A part of the page.
pub(super) struct Section {
    /// Unique in the page, in our own words.
    pub(super) id: String,
    /// What it shows, where findings rest on it.
    pub(super) topic: Option<Topic>,
    /// The heading; escaped here.
    pub(super) heading: String,
    /// Markup of tags behind the heading.
    pub(super) tags: String,
    /// How to read it; escaped here.
    pub(super) how: String,
    pub(super) content: Content,
}

/// What a section holds.
pub(super) enum Content {
    /// Markup.
    Html(String),
    Figures(Vec<Figure>),
    /// Findings from the first place to before the last.
    Findings(std::ops::Range<usize>, &'static str),
}

impl Section {
    /// A section of figures; `None` without a drawing.
    pub(super) fn figures(id: &str, heading: &str, how: &str, all: Vec<Figure>) -> Option<Section> {
        all.iter().any(|f| !f.drawing.is_empty()).then(|| Section {
            id: id.to_owned(),
            topic: None,
            heading: heading.to_owned(),
            tags: String::new(),
            how: how.to_owned(),
            content: Content::Figures(all),
        })
    }

    /// A section of markup; `None` without any.
    pub(super) fn html(id: &str, heading: &str, how: &str, html: String) -> Option<Section> {
        (!html.is_empty()).then(|| Section {
            id: id.to_owned(),
            topic: None,
            heading: heading.to_owned(),
            tags: String::new(),
            how: how.to_owned(),
            content: Content::Html(html),
        })
    }

    /// The same, with tags behind its heading.
    pub(super) fn tagged(mut self, tags: String) -> Section {
        self.tags = tags;
        self
    }

    /// The same, for findings that rest on it.
    pub(super) fn shows(mut self, topic: Topic) -> Section {
        self.topic = Some(topic);
        self
    }

    fn figures_of(&self) -> &[Figure] {
        match &self.content {
            Content::Figures(all) => all,
            _ => &[],
        }
    }

    fn text(&self, findings: &[&Finding], links: &Links) -> String {
        let how = if self.how.is_empty() {
            String::new()
        } else {
            format!("<p class=\"how\">{}</p>\n", esc(&self.how))
        };
        let content = match &self.content {
            Content::Html(html) => html.clone(),
            Content::Findings(places, class) => {
                reasons::list(findings, places.clone(), class, links)
            }
            Content::Figures(all) => figures(all, links),
        };
        let back = self
            .topic
            .and_then(Topic::section_id)
            .map_or_else(String::new, |id| links.back(id));
        format!(
            "<section id=\"{0}\" aria-labelledby=\"{0}-h\">\n<h2 id=\"{0}-h\">{1} {2}</h2>\n{how}{content}{back}\n</section>",
            self.id,
            esc(&self.heading),
            self.tags,
        )
    }
}

/// Figures of half the width in a grid, wide ones below each other, in their order.
fn figures(all: &[Figure], links: &Links) -> String {
    let mut out = String::new();
    for group in all.chunk_by(|a, b| a.is_wide == b.is_wide) {
        let html: String = group.iter().map(|f| f.html(&links.back(&f.id))).collect();
        if group.iter().any(|f| f.is_wide) {
            out.push_str(&html);
        } else {
            out.push_str(&format!("<div class=\"figs\">{html}</div>"));
        }
    }
    out
}

impl Page<'_> {
    /// The page as text.
    pub(super) fn html(&self) -> String {
        let figures: Vec<&Figure> = self
            .sections
            .iter()
            .flat_map(|s| s.figures_of().iter())
            .collect();
        let topics: Vec<Topic> = self.sections.iter().filter_map(|s| s.topic).collect();
        let links = Links::of(&self.findings, &figures, &topics);
        let is_live = figures.iter().any(|f| f.zoom.is_some());
        let mut out = String::with_capacity(512 * 1024);
        out.push_str(&self.head(is_live));
        out.push_str("<body>\n<a class=\"skip\" href=\"#content\">To the content</a>\n");
        out.push_str(&self.header);
        out.push_str(&self.contents());
        out.push_str("<main id=\"content\">\n");
        for section in &self.sections {
            out.push_str(&section.text(&self.findings, &links));
            out.push('\n');
        }
        out.push_str("</main>\n");
        out.push_str(&self.footer);
        if is_live {
            out.push_str(&format!("<script>{SCRIPT}</script>\n"));
        }
        out.push_str("</body>\n</html>\n");
        out
    }

    fn head(&self, is_live: bool) -> String {
        let script = if is_live {
            format!("; script-src 'sha256-{}'", hash(SCRIPT))
        } else {
            String::new()
        };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'sha256-{}'{script}; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>redolab: {}</title>\n<style>{STYLE}</style>\n</head>\n",
            hash(STYLE),
            esc(&self.title),
        )
    }

    fn contents(&self) -> String {
        if self.sections.len() < 3 {
            return String::new();
        }
        let link = |s: &Section| format!("<li><a href=\"#{}\">{}</a></li>", s.id, esc(&s.heading));
        let links: String = self.sections.iter().map(link).collect();
        format!("<nav aria-label=\"Contents\"><ul>{links}</ul></nav>\n")
    }
}

fn hash(text: &str) -> String {
    base64(&Sha256::digest(text.as_bytes()))
}

/// The standard alphabet of RFC 4648, as a policy's hash wants it.
fn base64(bytes: &[u8]) -> String {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.encode(bytes)
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

    #[test]
    fn neither_style_nor_script_can_end_its_element() {
        assert!(!STYLE.contains("</"));
        assert!(!SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
    }

    /// Variables of a part of the style sheet.
    fn colours(part: &str) -> std::collections::BTreeMap<&str, [f64; 3]> {
        let rules = part.split([';', '{', '}']);
        let pairs = rules.filter_map(|r| r.trim().strip_prefix("--")?.split_once(':'));
        pairs
            .filter_map(|(name, value)| {
                let hex = value.strip_prefix('#')?;
                let wide: String = match hex.len() {
                    3 => hex.chars().flat_map(|c| [c, c]).collect(),
                    _ => hex.to_owned(),
                };
                let part = |i: usize| u8::from_str_radix(wide.get(i..i + 2)?, 16).ok();
                let all = [part(0)?, part(2)?, part(4)?];
                Some((name, all.map(|v| f64::from(v) / 255.0)))
            })
            .collect()
    }

    /// Relative luminance of WCAG 2.
    fn luminance(colour: [f64; 3]) -> f64 {
        let linear = colour.map(|v| {
            if v <= 0.04045 {
                v / 12.92
            } else {
                ((v + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Light, dark and print: text at 4.5 to 1, lines at 3 to 1 (WCAG 2, 1.4.3 and 1.4.11; the
    /// yellow of the fifth line and the bars' grey never stand alone), and heat in even steps.
    #[test]
    fn colours_can_be_told_apart() {
        let dark = STYLE
            .split("prefers-color-scheme:dark")
            .nth(1)
            .expect("dark");
        let dark = dark.split("}}").next().expect("its end");
        let light = STYLE.split('}').next().expect("light");
        let print = STYLE.split("@media print").nth(1).expect("print");
        for (name, part) in [("light", light), ("dark", dark), ("print", print)] {
            let all = colours(part);
            let get = |key: &str| *all.get(key).unwrap_or_else(|| panic!("{name}: {key}"));
            for ink in ["ink", "ink2", "ink3", "yes", "cond", "no", "link"] {
                for ground in ["bg", "card"] {
                    let found = contrast(get(ink), get(ground));
                    assert!(found >= 4.5, "{name}: {ink} on {ground}: {found:.2}");
                }
            }
            for line in ["k0", "k1", "k2", "k3", "k6"] {
                let found = contrast(get(line), get("bg"));
                assert!(found >= 3.0, "{name}: {line}: {found:.2}");
            }
            let heat: Vec<f64> = (0..8)
                .map(|i| contrast(get(&format!("h{i}")), get("bg")))
                .collect();
            assert!(heat[0] >= 1.5, "{name}: {heat:?}");
            for pair in heat.windows(2) {
                assert!(pair[1] >= pair[0] * 1.12, "{name}: {heat:?}");
            }
        }
    }
}
