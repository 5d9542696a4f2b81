//! The page: head with its policy, first screen, findings beside their figures, appendix.
//!
//! Invariants: ids are unique and our own words; the style sheet and the script are named in the
//! policy by the hashes of their very bytes; a section without content is left out everywhere; a
//! figure is drawn once, at the first place that needs it.

use super::cases::{self, Concern, Group};
use super::escape::esc;
use super::figure::Figure;
use super::links::Links;
use super::topic::Topic;
use measure::judgement::Finding;
use measure::run::Run;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

const STYLE: &str = include_str!("style.css");
/// What makes a button that copies the Markdown.
const COPY: &str = include_str!("copy.js");
/// That, and the zooming of series.
const COPY_AND_ZOOM: &str = concat!(include_str!("copy.js"), include_str!("zoom.js"));

/// A page before it is text.
pub(super) struct Page<'a> {
    /// Of the window; escaped here.
    pub(super) title: String,
    /// Markup of the first screen.
    pub(super) header: String,
    /// The figure of the first screen.
    pub(super) answer: Option<Figure>,
    /// The run whose findings are shown; `None` of a comparison.
    pub(super) run: Option<&'a Run>,
    /// Markup that is shown beside the findings that lead to a section of that id.
    pub(super) beside: Vec<(&'static str, String)>,
    /// What is below the first screen, above the findings.
    pub(super) main: Vec<Section>,
    /// The appendix.
    pub(super) sections: Vec<Section>,
    /// The same as Markdown; escaped here.
    pub(super) markdown: String,
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

    fn text(&self, links: &Links, taken: &BTreeSet<String>) -> String {
        let how = if self.how.is_empty() {
            String::new()
        } else {
            format!("<p class=\"how\">{}</p>\n", esc(&self.how))
        };
        let content = match &self.content {
            Content::Html(html) => html.clone(),
            Content::Figures(all) => figures(all, links, taken),
        };
        let back = self
            .topic
            .and_then(Topic::section_id)
            .map_or_else(String::new, |id| links.back(id));
        format!(
            "<section id=\"{0}\" aria-labelledby=\"{0}-h\">\n<h2 id=\"{0}-h\">{1} {2}</h2>\n{how}{content}{back}\n</section>\n",
            self.id,
            esc(&self.heading),
            self.tags,
        )
    }
}

/// Figures of half the width in a grid, wide ones below each other, in their order. Those that
/// were drawn above are named, with a link.
fn figures(all: &[Figure], links: &Links, taken: &BTreeSet<String>) -> String {
    let (above, here): (Vec<&Figure>, Vec<&Figure>) =
        all.iter().partition(|f| taken.contains(&f.id));
    let mut out = String::new();
    if !above.is_empty() {
        let names = above
            .iter()
            .map(|f| format!("<a href=\"#{}\">{}</a>", f.id, esc(&f.caption)));
        let names: Vec<String> = names.collect();
        out.push_str(&format!(
            "<p class=\"how\">Above: {}.</p>",
            names.join(", ")
        ));
    }
    for group in here.chunk_by(|a, b| a.is_wide == b.is_wide) {
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
    /// Every figure that has a drawing, in the order of the page's sections.
    pub(super) fn figures(&self) -> Vec<&Figure> {
        let sections = self.main.iter().chain(&self.sections);
        let all = self
            .answer
            .iter()
            .chain(sections.flat_map(Section::figures_of));
        all.filter(|f| !f.drawing.is_empty()).collect()
    }

    /// The page as text.
    pub(super) fn html(&self) -> String {
        let figures = self.figures();
        let topics: Vec<Topic> = self.sections.iter().filter_map(|s| s.topic).collect();
        let (findings, groups) = match self.run {
            Some(run) => cases::ordered(run, &figures, &topics),
            None => (Vec::new(), Vec::new()),
        };
        let links = Links::of(&findings, &figures, &topics);
        let script = match figures.iter().any(|f| f.zoom.is_some()) {
            true => COPY_AND_ZOOM,
            false => COPY,
        };
        let mut out = String::with_capacity(512 * 1024);
        out.push_str(&self.head(script));
        out.push_str("<body>\n<a class=\"skip\" href=\"#content\">To the content</a>\n");
        out.push_str(&self.bar(&groups));
        out.push_str(&self.header);
        if let Some(answer) = &self.answer {
            let figure = answer.html(&links.back(&answer.id));
            out.push_str(&format!("<div class=\"answer\">{figure}</div>\n"));
        }
        out.push_str("<main id=\"content\">\n");
        self.body(&findings, &groups, &links, &mut out);
        out.push_str("</main>\n");
        out.push_str(&self.footer);
        out.push_str(&format!("<script>{script}</script>\n"));
        out.push_str("</body>\n</html>\n");
        out
    }

    /// What answers, findings beside their figures, then the appendix.
    fn body(&self, findings: &[&Finding], groups: &[Group], links: &Links, out: &mut String) {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        taken.extend(self.answer.iter().map(|f| f.id.clone()));
        let is_record = |group: &&Group| group.concern == Concern::Record;
        for section in &self.main {
            out.push_str(&section.text(links, &taken));
            taken.extend(section.figures_of().iter().map(|f| f.id.clone()));
        }
        for group in groups.iter().filter(|group| !is_record(group)) {
            let mut take = |id: &str| self.take(id, links, &mut taken);
            out.push_str(&cases::group_html(group, findings, links, &mut take));
        }
        let contents = self.contents(groups);
        out.push_str(&format!(
            "<div id=\"appendix\">\n<h2 class=\"part\">Appendix</h2>\n<p class=\"how noprint\">Printing from here, with this address, prints the appendix too.</p>\n{contents}"
        ));
        for group in groups.iter().filter(is_record) {
            out.push_str(&cases::group_html(group, findings, links, &mut |_| None));
        }
        for section in &self.sections {
            out.push_str(&section.text(links, &taken));
        }
        out.push_str("</div>\n");
    }

    /// A figure, or what stands for a section, that is not in the page yet.
    fn take(&self, id: &str, links: &Links, taken: &mut BTreeSet<String>) -> Option<String> {
        if !taken.insert(id.to_owned()) {
            return None;
        }
        let small = self.beside.iter().find(|(of, _)| *of == id);
        if let Some((_, markup)) = small {
            return Some(markup.clone());
        }
        let all = self.figures();
        let figure = all.iter().find(|f| f.id == id)?;
        Some(figure.html(&links.back(id)))
    }

    /// Links of the first screen, and the Markdown.
    fn bar(&self, groups: &[Group]) -> String {
        let mut links = String::new();
        for section in &self.main {
            let (id, name) = (&section.id, esc(&section.heading));
            links.push_str(&format!("<li><a href=\"#{id}\">{name}</a></li>"));
        }
        for group in groups.iter().filter(|g| g.concern != Concern::Record) {
            let (id, name) = (group.concern.id(), group.concern.heading());
            let count = group.places.len();
            links.push_str(&format!(
                "<li class=\"{id}\"><a href=\"#{id}\">{name} {count}</a></li>"
            ));
        }
        format!(
            "<div class=\"bar\"><b>redolab</b><nav aria-label=\"Page\"><ul>{links}<li class=\"appendix\"><a href=\"#appendix\">Appendix</a></li></ul></nav>\
             <details class=\"ticket\"><summary>As Markdown</summary><pre tabindex=\"0\">{}</pre></details></div>\n",
            block(&self.markdown),
        )
    }

    fn head(&self, script: &str) -> String {
        let script = format!("; script-src 'sha256-{}'", hash(script));
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

    fn contents(&self, groups: &[Group]) -> String {
        let mut links = String::new();
        for group in groups.iter().filter(|g| g.concern == Concern::Record) {
            let (id, name) = (group.concern.id(), group.concern.heading());
            links.push_str(&format!("<li><a href=\"#{id}\">{name}</a></li>"));
        }
        for s in &self.sections {
            links.push_str(&format!(
                "<li><a href=\"#{}\">{}</a></li>",
                s.id,
                esc(&s.heading)
            ));
        }
        format!("<nav aria-label=\"Appendix\"><ul>{links}</ul></nav>\n")
    }
}

/// The Markdown as the content of a `pre`: its own line ends stay.
fn block(markdown: &str) -> String {
    let lines: Vec<String> = markdown.lines().map(esc).collect();
    lines.join("\n")
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
    use super::super::zoom;
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
        for script in [COPY, COPY_AND_ZOOM, zoom::SCRIPT] {
            assert!(!script.contains("</") && !script.contains("<!--"));
        }
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
