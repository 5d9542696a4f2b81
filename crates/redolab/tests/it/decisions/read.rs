//! The answers of a run or a comparison, read back from the text of each output.

use serde_json::Value;
use std::collections::BTreeMap;

/// Answers by their names: `verdict`, `winner 1`, `gate 0`.
pub type Answers = BTreeMap<String, String>;

/// The text between two marks; `None` where either is missing.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = text.split_once(before)?.1;
    Some(rest.split_once(after)?.0)
}

/// A text without the breaks of its lines.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// A text as a reader reads it, without regard to lines, capitals and escaped characters.
pub fn plain_and_joined(text: &str) -> String {
    joined(&plain(text)).to_lowercase()
}

/// The characters that Markdown and HTML escape.
fn plain(text: &str) -> String {
    let mut out = text.replace('\\', "");
    for (escaped, char) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#35;", "#"),
        ("&#64;", "@"),
        ("&amp;", "&"),
    ] {
        out = out.replace(escaped, char);
    }
    out
}

/// A sentence as far as its full stop, which a decimal point is not.
fn sentence(text: &str) -> &str {
    let end = text.find(". ").into_iter().chain(text.find(".<")).min();
    let text = end.and_then(|at| text.get(..at)).unwrap_or(text);
    text.lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches('.')
}

fn put(answers: &mut Answers, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        answers.insert(name.to_owned(), plain(text).trim().to_lowercase());
    }
}

/// The sources that some outputs put behind a need are left out.
fn need(text: &str) -> &str {
    text.split(" (from ").next().unwrap_or(text).trim()
}

/// A run's terminal text.
pub fn run_of_text(text: &str) -> Answers {
    let mut answers = Answers::new();
    // A long line is broken before the performance.
    let text = &text.replacen("\n  performance: ", "   performance: ", 1);
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("Verdict: ") {
        let line = format!("{first}   ");
        put(&mut answers, "verdict", between(&line, "Verdict: ", "   "));
        put(
            &mut answers,
            "durability",
            between(&line, "durability: ", "   "),
        );
        put(
            &mut answers,
            "performance",
            between(&line, "performance: ", "   "),
        );
        // The need may be broken into several lines, which are indented by four.
        let lines = text.split_once("\n  Need: ").map(|(_, rest)| {
            let mut lines = rest.lines();
            let first = lines.next().unwrap_or_default().to_owned();
            let more = lines.take_while(|l| l.starts_with("    "));
            more.fold(first, |all, line| format!("{all} {}", line.trim()))
        });
        let stated = lines.as_deref().map_or("none stated", need);
        put(&mut answers, "need", Some(stated));
    }
    put(
        &mut answers,
        "valid",
        Some(if text.contains("INVALID") {
            "no"
        } else {
            "yes"
        }),
    );
    answers
}

/// A run's Markdown.
pub fn run_of_markdown(text: &str) -> Answers {
    let mut answers = Answers::new();
    // What evidence does not show is no verdict: it has no need.
    if text.contains("\n- Need: ") {
        let heading = text.lines().next().unwrap_or_default();
        put(&mut answers, "verdict", heading.rsplit(' ').next());
        put(
            &mut answers,
            "durability",
            between(text, "\n- Durability: ", "\n"),
        );
        put(
            &mut answers,
            "performance",
            between(text, "\n- Performance: ", "\n"),
        );
    }
    if !answers.is_empty() {
        put(
            &mut answers,
            "need",
            between(text, "\n- Need: ", "\n").map(need),
        );
    }
    put(
        &mut answers,
        "valid",
        Some(if text.contains("INVALID") {
            "no"
        } else {
            "yes"
        }),
    );
    answers
}

/// A run's report.
pub fn run_of_html(html: &str) -> Answers {
    let mut answers = Answers::new();
    let axes = between(html, "<dl class=\"axes\">", "</dl>");
    if let Some(axes) = axes.filter(|axes| axes.contains("<dt>Need</dt>")) {
        put(
            &mut answers,
            "verdict",
            between(html, "<p class=\"a\">", "</p>"),
        );
        let of = |name: &str| between(axes, &format!("<dt>{name}</dt><dd>"), "</dd>");
        put(&mut answers, "durability", of("Durability"));
        put(&mut answers, "performance", of("Performance"));
        put(&mut answers, "need", of("Need").map(need));
    }
    let header = html.split("<main").next().unwrap_or_default();
    let is_wrong = header.contains("Invalid: do not use these figures");
    put(
        &mut answers,
        "valid",
        Some(if is_wrong { "no" } else { "yes" }),
    );
    answers
}

/// The durability of a verdict or of a compared run, with what it rests on.
fn durability(json: &Value) -> String {
    let word = json["durability"].as_str().unwrap_or("not judged");
    match (json["durability_basis"].as_str(), word) {
        (Some(basis), _) => format!("{word} ({basis})"),
        (None, "tested") => "tested (number of cuts not known)".to_owned(),
        (None, "declared") => "declared (by whom is not known)".to_owned(),
        (None, _) => word.to_owned(),
    }
}

/// A run's JSON. The need is spelled by the outputs alone: whether there is one is compared.
pub fn run_of_json(json: &Value) -> Answers {
    let mut answers = Answers::new();
    let verdict = &json["verdict"];
    if verdict.is_object() {
        put(&mut answers, "verdict", verdict["answer"].as_str());
        put(&mut answers, "durability", Some(&durability(verdict)));
        let performance = match verdict["performance"].as_str() {
            Some("meets") => "meets the need",
            Some("marginal") => "marginal for the need",
            Some("misses") => "misses the need",
            _ => "no need stated",
        };
        put(&mut answers, "performance", Some(performance));
    }
    let valid = json["validity"]["valid"].as_bool() == Some(true);
    put(
        &mut answers,
        "valid",
        Some(if valid { "yes" } else { "no" }),
    );
    answers
}

/// A comparison's terminal text or Markdown: what it says of each run, of the winner and of each
/// condition.
pub fn comparison_of_text(text: &str, names: &[String]) -> Answers {
    let mut answers = Answers::new();
    let all = joined(&plain(text));
    for (at, name) in names.iter().enumerate() {
        let role = if at == 0 { "base" } else { "compared" };
        let of = all.split_once(&format!("{name}: {role}; "));
        let judged = of.and_then(|(_, rest)| between(rest, "; verdict: ", "; "));
        put(&mut answers, &format!("judged {at}"), judged);
        let head = format!("{name} against {}: ", names[0]);
        let Some((_, rest)) = all.split_once(&head).filter(|_| at > 0) else {
            continue;
        };
        let answer = rest.split_once(". Durability: ").map(|(answer, _)| answer);
        put(&mut answers, &format!("answer {at}"), answer);
        let both = rest.split_once("Durability: ");
        let both = both.map(|(_, rest)| sentence(rest));
        put(&mut answers, &format!("both {at}"), both);
    }
    let gates = all.rsplit_once("Conditions").map_or("", |(_, gates)| gates);
    let words = ["BREACHED", "UNDETERMINED", "not breached"];
    let found = words.iter().flat_map(|word| gates.match_indices(word));
    let mut found: Vec<(usize, &str)> = found.collect();
    found.sort_unstable();
    for (at, (_, word)) in found.into_iter().enumerate() {
        put(&mut answers, &format!("gate {at}"), Some(word));
    }
    answers
}

/// A comparison's report; of two runs the winner is in a banner.
pub fn comparison_of_html(html: &str, names: &[String]) -> Answers {
    let text_of = |html: &str| {
        let html = html.replace("</dt><dd>", ": ");
        let parts = html
            .split('<')
            .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        parts.collect::<Vec<&str>>().join(" ")
    };
    let page = html.split("<header>").nth(1).unwrap_or_default();
    let conditions = between(html, "id=\"conditions\"", "</section>").unwrap_or_default();
    let all = format!("{} Conditions {}", text_of(page), text_of(conditions));
    let mut answers = comparison_of_text(&all, names);
    if let Some((_, banner)) = html.split_once("<div class=\"banner ") {
        put(
            &mut answers,
            "answer 1",
            between(banner, "<p class=\"a\">", "</p>"),
        );
        let both = banner.split("Durability: ").nth(1).map(sentence);
        put(&mut answers, "both 1", both);
    }
    answers
}

/// A comparison's JSON.
pub fn comparison_of_json(json: &Value) -> Answers {
    let mut answers = Answers::new();
    let word = |v: &Value| v.as_str().unwrap_or("not judged").replace('_', " ");
    let runs = json["runs"].as_array().expect("runs");
    for (at, run) in runs.iter().enumerate() {
        let performance = match word(&run["performance"]).as_str() {
            "meets" => "meets the need".to_owned(),
            "marginal" => "marginal for the need".to_owned(),
            "misses" => "misses the need".to_owned(),
            other => other.to_owned(),
        };
        let (verdict, durability) = (word(&run["verdict"]), durability(run));
        let judged = format!("{verdict}, durability: {durability}, performance: {performance}");
        put(&mut answers, &format!("judged {at}"), Some(&judged));
    }
    for decision in json["decisions"].as_array().expect("decisions") {
        let at = decision["run_b"].as_u64().expect("a place");
        put(
            &mut answers,
            &format!("answer {at}"),
            decision["answer"].as_str(),
        );
        // The winner by its place, as the others name it.
        let name = |at: &Value| {
            let run = runs.get(usize::try_from(at.as_u64()?).ok()?)?;
            run["name"].as_str()
        };
        if let Some(winner) = name(&decision["winner"]) {
            put(
                &mut answers,
                &format!("answer {at}"),
                Some(&format!("{winner} wins")),
            );
        }
        let place = usize::try_from(at).expect("small");
        let both = [0, place].map(|at| {
            let run = &runs[at];
            format!("{} {}", run["name"].as_str().unwrap_or(""), durability(run))
        });
        put(&mut answers, &format!("both {at}"), Some(&both.join(", ")));
    }
    for (at, condition) in json["conditions"]
        .as_array()
        .expect("conditions")
        .iter()
        .enumerate()
    {
        put(
            &mut answers,
            &format!("gate {at}"),
            Some(&word(&condition["state"])),
        );
    }
    answers
}

/// A comparison's CSV: who wins and the durability of both, of each run; the same in all lines.
pub fn comparison_of_csv(bytes: &[u8], names: &[String]) -> Answers {
    let mut answers = Answers::new();
    let mut reader = csv::Reader::from_reader(bytes);
    let headings = reader.headers().expect("headings").clone();
    for line in reader.records().map(|line| line.expect("a line")) {
        let of = |key: &str| {
            let at = headings.iter().position(|h| h == key).expect("a column");
            line.get(at).expect("a field").to_owned()
        };
        let at = names.iter().position(|name| *name == of("run"));
        let at = at.expect("a run of the comparison");
        let both = of("durability");
        let both = both.strip_prefix("Durability: ").map(sentence);
        for (name, text) in [("answer", Some(of("decision").as_str())), ("both", both)] {
            let name = format!("{name} {at}");
            let before = answers.get(&name).cloned();
            put(&mut answers, &name, text);
            let same = before.is_none_or(|before| Some(&before) == answers.get(&name));
            assert!(same, "{name} differs between lines");
        }
    }
    answers
}
