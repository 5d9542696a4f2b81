//! Statements: the lines of a trace between `PARSING IN CURSOR` and `END OF STMT`, bind values,
//! lines of SQL in reports and in the status of InnoDB, and what servers' logs quote.

use super::{Mark, MarkKind};

/// What a statement begins behind, in servers' logs.
const QUOTED: [&str; 4] = ["STATEMENT:  ", "statement: ", "execute ", "Query: "];

/// Where a statement ends that has begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    /// In a trace, until `END OF STMT`.
    Parsed,
    /// In a trace or a log, until the line that begins another record.
    Until(Ending),
    /// In the section of a report that lists SQL: lines that are not figures.
    Listed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Record,
    Transaction,
    Indented,
    /// Of a bind value.
    Quote,
}

/// Which lines are statements.
#[derive(Debug, Default)]
pub(super) struct Statements {
    inside: Inside,
}

/// Beginnings of lines of a trace that are records.
const RECORDS: [&str; 16] = [
    "WAIT #",
    "PARSE #",
    "EXEC #",
    "FETCH #",
    "CLOSE #",
    "STAT #",
    "BINDS #",
    "XCTEND ",
    "PARSING ",
    "END OF STMT",
    "=====",
    "-----",
    "*** ",
    "UNMAP #",
    "SORT UNMAP",
    "LOBREAD",
];

impl Statements {
    /// Whether a line is a part of a statement. What ends one is not.
    pub(super) fn is_inside(&mut self, text: &str) -> bool {
        let is_in = match self.inside {
            Inside::Nothing => false,
            Inside::Parsed => !ends_parsed(text),
            Inside::Until(Ending::Quote) => {
                let begins = ["Bind#", "value="];
                let is_next = begins
                    .iter()
                    .any(|begin| text.trim_start().starts_with(begin));
                if text.trim_end().ends_with('"') && !is_next {
                    self.inside = Inside::Nothing;
                    return true;
                }
                !is_next
            }
            Inside::Until(Ending::Record) => !RECORDS.iter().any(|begin| text.starts_with(begin)),
            Inside::Until(Ending::Transaction) => !is_monitor(text),
            Inside::Until(Ending::Indented) => text.starts_with(['\t', ' ']),
            Inside::Listed => {
                if is_end_of_list(text) {
                    self.inside = begun(text);
                    return false;
                }
                return !is_of_figures(text);
            }
        };
        if !is_in {
            self.inside = begun(text);
        }
        is_in
    }
}

/// What ends a statement of a trace, as the reader of traces has it.
fn ends_parsed(text: &str) -> bool {
    let is_separator = text.len() > 10 && text.bytes().all(|b| b == b'=');
    text.trim() == "END OF STMT" || is_separator || text.starts_with("PARSING IN CURSOR #")
}

/// What begins behind a line.
fn begun(text: &str) -> Inside {
    let line = text.trim_start();
    if let Some(value) = line.strip_prefix("value=\"") {
        return match value.trim_end().ends_with('"') {
            true => Inside::Nothing,
            false => Inside::Until(Ending::Quote),
        };
    }
    if text.starts_with("PARSING IN CURSOR #") {
        return Inside::Parsed;
    }
    let is_error = text.starts_with("PARSE ERROR #");
    if is_error || line.contains("urrent SQL statement for this session") {
        return Inside::Until(Ending::Record);
    }
    if line.contains(" query id ") && line.contains("thread id ") {
        return Inside::Until(Ending::Transaction);
    }
    if QUOTED.iter().any(|begin| line.contains(begin)) && line.contains(':') {
        return Inside::Until(Ending::Indented);
    }
    if crate::awr::lists_statements(line.as_bytes()) {
        return Inside::Listed;
    }
    Inside::Nothing
}

/// A line of InnoDB's monitor that is not part of a statement.
fn is_monitor(text: &str) -> bool {
    let begins = [
        "---",
        "===",
        "***",
        "TABLE LOCK",
        "RECORD LOCKS",
        "Trx ",
        "TRANSACTION",
        "MariaDB thread",
        "MySQL thread",
        "mysql tables",
        "LOCK WAIT",
    ];
    text.is_empty() || begins.iter().any(|begin| text.starts_with(begin))
}

/// What sections of a report begin with that follow those of SQL.
const SECTIONS: [&str; 24] = [
    "SQL ordered by",
    "Complete List",
    "Back to ",
    "Instance Activity",
    "Key Instance",
    "Other Instance",
    "Load Profile",
    "Wait Event",
    "Wait Class",
    "Foreground Wait",
    "Background Wait",
    "Top ",
    "IO Stat",
    "IOStat",
    "Tablespace IO",
    "File IO",
    "Buffer Pool",
    "Service Statistics",
    "Service Wait",
    "Segments by",
    "Latch ",
    "Undo ",
    "Host CPU",
    "init.ora",
];

/// The line that ends a section of a report, or begins another one.
fn is_end_of_list(text: &str) -> bool {
    let rule = text.trim();
    if SECTIONS.iter().any(|begin| text.starts_with(begin)) {
        return true;
    }
    rule.starts_with("-----") && rule.len() <= 62 && !rule.contains(' ') && text.starts_with(' ')
        || text.starts_with('\u{c}')
        || text.contains("<table")
}

/// A line of a list of SQL that contains figures, rules or headings only.
fn is_of_figures(text: &str) -> bool {
    let is_figure = |word: &str| {
        word.bytes()
            .all(|b| b"0123456789.,%-KMGTN/A#*".contains(&b))
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let others = words.iter().filter(|word| !is_figure(word)).count();
    let begins = words.first().is_some_and(|word| is_figure(word));
    // The identifier of the statement is the last word.
    words.is_empty() || (begins && others <= 1 && words.len() >= 3) || text.starts_with("->")
}

/// Values and quoted statements inside a line.
pub(super) fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut mark = |at: std::ops::Range<usize>| {
        marks.push(Mark {
            at,
            kind: MarkKind::Statement,
        });
    };
    let line = text.trim_start();
    let begin = text.len() - line.len();
    if line.starts_with("value=") {
        mark(begin + "value=".len()..text.len());
    }
    // The objects of an execution plan.
    if let Some(at) = text.find(" op='").filter(|_| text.starts_with("STAT #")) {
        let start = at + " op='".len();
        let end = text.get(start..).and_then(|rest| rest.rfind('\''));
        mark(start..end.map_or(text.len(), |end| start + end));
    }
    for begin in QUOTED {
        let is_log = text.contains("LOG:") || text.contains("STATEMENT:") || begin == "Query: ";
        if let Some(at) = text.find(begin).filter(|_| is_log) {
            let start = at + begin.len();
            mark(start..text.len());
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_statements_are_found() {
        let mut statements = Statements::default();
        for (line, is_in) in [
            ("PARSING IN CURSOR #3 len=20 dep=0", false),
            ("select secret", true),
            ("WAIT #1: not a wait", true),
            ("END OF STMT", false),
            ("PARSE #3:c=0", false),
            ("PARSE ERROR #4:len=9", false),
            ("select bad", true),
            ("WAIT #4: nam='x'", false),
            (
                "MariaDB thread id 5, OS thread handle 1, query id 9 h u",
                false,
            ),
            ("update t set x = 1", true),
            ("---TRANSACTION 17", false),
            ("  value=\"first", false),
            ("second\"", true),
            ("PARSING IN CURSOR #3 len=20 dep=0", false),
            ("select no end", true),
            ("=====================", false),
            ("SQL ordered by Elapsed Time  DB/Inst: X/x", false),
            ("select one", true),
            ("SQL ordered by Gets  DB/Inst: X/x", false),
            (
                "         12.5          3       4.17   33.0 ab12cd34ef56g",
                false,
            ),
            ("Module: app", true),
            ("select secret from t", true),
            ("          -------------------------------", false),
            ("Load Profile", false),
        ] {
            assert_eq!(statements.is_inside(line), is_in, "{line}");
        }
    }

    #[test]
    fn values_and_plans_are_marked() {
        for (text, part) in [
            ("  value=\"secret\"", "\"secret\""),
            (
                "STAT #1 id=1 cnt=0 op='TABLE ACCESS FULL EMP (cr=1)'",
                "TABLE ACCESS FULL EMP (cr=1)",
            ),
            ("x LOG:  duration: 1.5 ms  statement: select 1", "select 1"),
        ] {
            let marks = marks(text);
            assert_eq!(marks.len(), 1, "{text}");
            assert_eq!(&text[marks[0].at.clone()], part);
        }
    }
}
