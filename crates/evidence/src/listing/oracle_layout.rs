//! Where the columns of listings of `v$system_event` and `v$sysstat` are: by the rule under their
//! headings, or by a separator.

/// Columns of a listing at most.
const COLUMNS_MAX: usize = 64;
pub(super) const EVENT_NAMES: &[&str] = &["EVENT", "EVENT_NAME"];
pub(super) const STATISTIC_NAMES: &[&str] = &["NAME", "STAT_NAME", "STATISTIC"];
pub(super) const SNAPS: &[&str] = &["SNAP_ID"];
pub(super) const MOMENTS: &[&str] = &["BEGIN_INTERVAL_TIME"];
pub(super) const CONTAINERS: &[&str] = &["CON_ID"];
pub(super) const INSTANCES: &[&str] = &["INSTANCE_NUMBER", "INST_ID"];

/// Where the columns of a listing are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) is_event: bool,
    /// Only statistics have these headings.
    pub(super) is_sysstat: bool,
    pub(super) names: Vec<String>,
    /// First character of each column and the one behind it, of aligned listings.
    pub(super) spans: Vec<(usize, usize)>,
    pub(super) separator: Option<char>,
}

impl Layout {
    /// The layout of a heading: names of columns in capitals, and nothing else.
    pub(super) fn of(line: &str) -> Option<Layout> {
        let is_heading =
            |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b"_#$ \t,\"|;".contains(&b);
        if line.len() < 8 || !line.bytes().all(is_heading) {
            return None;
        }
        let separator = [',', ';', '|'].into_iter().find(|s| line.contains(*s));
        // Tabs that align are beside blanks; single ones between names separate.
        let is_one_name = |part: &str| !part.is_empty() && !part.contains(' ');
        let is_by_tabs = || line.contains('\t') && line.split('\t').all(is_one_name);
        let separator = separator.or_else(|| is_by_tabs().then_some('\t'));
        let names: Vec<String> = match separator {
            Some(separator) => parts(line, separator).map(str::to_owned).collect(),
            None => line.split_whitespace().map(str::to_owned).collect(),
        };
        Layout::named(names, separator)
    }

    /// The layout of these names, if they are those of such a listing.
    pub(super) fn named(names: Vec<String>, separator: Option<char>) -> Option<Layout> {
        let has = |wanted: &[&str]| names.iter().any(|n| wanted.contains(&n.as_str()));
        let is_event =
            has(EVENT_NAMES) && has(&["TOTAL_WAITS"]) && has(&["TIME_WAITED", "TIME_WAITED_MICRO"]);
        // The second pair is that of the script of `redolab collect oracle`.
        let is_collected = has(&["STATISTIC"]) && has(&["TOTAL"]) && has(INSTANCES);
        let is_statistic = (has(STATISTIC_NAMES) && has(&["VALUE"])) || is_collected;
        let fits = (2..=COLUMNS_MAX).contains(&names.len()) && (is_event || is_statistic);
        fits.then_some(Layout {
            is_event,
            is_sysstat: is_collected,
            names,
            spans: Vec::new(),
            separator,
        })
    }

    /// The cells of a row.
    pub(super) fn cells<'a>(&self, line: &'a str) -> Option<Vec<&'a str>> {
        if let Some(separator) = self.separator {
            let cells: Vec<&str> = parts(line, separator).collect();
            return (cells.len() == self.names.len()).then_some(cells);
        }
        if self.spans.is_empty() {
            return None;
        }
        cut(line, &self.spans)
    }

    pub(super) fn at(&self, wanted: &[&str]) -> Option<usize> {
        self.names.iter().position(|n| wanted.contains(&n.as_str()))
    }
}

/// The values of a line of separated values; quotes are no part of them.
fn parts(line: &str, separator: char) -> impl Iterator<Item = &str> {
    let parts = line.split(separator).map(str::trim);
    parts.map(|p| {
        p.strip_prefix('"')
            .and_then(|p| p.strip_suffix('"'))
            .unwrap_or(p)
    })
}

/// Cuts a line at the columns of its rule; a tab goes to the next multiple of eight. `None` if a
/// character is between two columns.
fn cut<'a>(line: &'a str, spans: &[(usize, usize)]) -> Option<Vec<&'a str>> {
    let mut bounds = vec![None::<(usize, usize)>; spans.len()];
    let (mut at, mut column) = (0, 0);
    for (byte, c) in line.char_indices() {
        let place = at;
        at = if c == '\t' { (at / 8 + 1) * 8 } else { at + 1 };
        if c.is_whitespace() {
            continue;
        }
        while spans.get(column).is_some_and(|(_, end)| place >= *end) {
            column += 1;
        }
        let (start, _) = spans.get(column)?;
        if place < *start {
            return None;
        }
        let end = byte + c.len_utf8();
        let bound = bounds.get_mut(column)?;
        *bound = Some((bound.map_or(byte, |(from, _)| from), end));
    }
    let cell = |bound: Option<(usize, usize)>| bound.map_or(Some(""), |(a, b)| line.get(a..b));
    bounds.into_iter().map(cell).collect()
}
