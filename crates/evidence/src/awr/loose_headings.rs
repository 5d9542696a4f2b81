//! Headings of wait events without a rule: all on one line, or the lowest line of several.

/// What is around the line that begins a passage.
#[derive(Debug)]
pub struct PassagePlace<'a> {
    /// Words of the line before, as a page labels what follows.
    pub label: &'a str,
    /// The title of the section.
    pub title: &'a str,
    /// The lines directly above: the upper lines of headings that take several.
    pub above: &'a [&'a str],
}

/// Headings of a table of wait events in one line, or the lowest line of several.
pub(super) struct EventHeadings {
    pub(super) names: Vec<String>,
    pub(super) background: bool,
    /// The lines above are part of the headings.
    pub(super) is_stacked: bool,
}

impl EventHeadings {
    /// Of a line whose words are separated by single blanks; `None` where one of them is not known.
    pub(super) fn of(line: &str, place: &PassagePlace<'_>) -> Option<EventHeadings> {
        // As printed, and whether words above it belong to it: then with the whole name.
        const KNOWN: &[(&str, Option<&str>)] = &[
            ("Waits /txn", None),
            ("Waits/txn", None),
            ("Waits", None),
            ("%Time -outs", None),
            ("%Time-outs", None),
            ("%Time outs", None),
            ("Total Wait Time (sec)", None),
            ("Total Wait Time (s)", None),
            ("Timeouts", None),
            ("Time(s)", None),
            ("Time (s)", None),
            ("Time (sec)", None),
            ("Avg wait (ms)", None),
            ("Avg Wait (ms)", None),
            ("Avg wait", None),
            ("Avg Wait", None),
            ("% DB time", None),
            ("% bg time", None),
            ("% Total Call Time", None),
            ("%Total Call Time", None),
            ("Wait Class", None),
            ("-outs", Some("%Time -outs")),
            ("(ms)", Some("Avg wait (ms)")),
            ("(us)", Some("Avg wait (us)")),
            ("Wait", Some("Avg wait")),
            ("wait", Some("Avg wait")),
            ("/txn", Some("Waits /txn")),
            ("time", Some("% DB time")),
            ("Time", Some("% DB time")),
            ("Class", Some("Wait Class")),
        ];
        let above = place.above.join(" ");
        let background = line.contains("bg time")
            || above.contains("% bg")
            || place.title.starts_with("Background");
        let share = match (background, above.contains("Call")) {
            (true, _) => "% bg time",
            (false, true) => "% Total Call Time",
            (false, false) => "% DB time",
        };
        // 12.2 as text without rules: `Wait Avg(ms)`.
        let line = line.replace("Wait Avg(ms)", "Avg wait (ms)");
        let mut rest = line.strip_prefix("Event")?.trim_start();
        let (mut names, mut is_stacked) = (Vec::new(), false);
        while !rest.is_empty() {
            let fits = |known: &str| {
                let behind = rest.strip_prefix(known)?;
                (behind.is_empty() || behind.starts_with(' ')).then_some(behind)
            };
            let found = KNOWN
                .iter()
                .find_map(|(k, whole)| Some((k, whole, fits(k)?)));
            let (known, whole, behind) = found?;
            is_stacked |= whole.is_some();
            let name = match whole.unwrap_or(known) {
                "% DB time" if whole.is_some() => share,
                name => name,
            };
            names.push(name.to_owned());
            rest = behind.trim_start();
        }
        let is_once = |name: &String| names.iter().filter(|n| *n == name).count() == 1;
        // Parts of a heading need what is above them.
        let is_whole = !is_stacked || !above.trim().is_empty();
        (is_whole && names.iter().all(is_once)).then_some(EventHeadings {
            names,
            background,
            is_stacked,
        })
    }
}
