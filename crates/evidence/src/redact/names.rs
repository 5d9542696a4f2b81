//! Names and their pseudonyms.

use super::vocabulary::is_common;
use super::{PASSWORD, Spaced};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// Names that are kept; further ones have a pseudonym only where they are labelled.
const NAMES_MAX: usize = 100_000;
/// Names of several words that are looked for everywhere.
const PHRASES_MAX: usize = 1_000;
/// The longest name that is looked for everywhere, in parts between `_`, `-`, `.` and `/`.
const PARTS_MAX: usize = 8;
/// Characters of a name that is looked for everywhere, at least.
const LETTERS_MIN: usize = 3;

/// Characters of a password that is looked for everywhere, at least.
const PASSWORD_MIN: usize = 6;

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameKind {
    /// A host or a machine.
    Host,
    /// An instance.
    Instance,
    /// A database, pluggable or not.
    Database,
    /// A service.
    Service,
    /// A module, an action or a client.
    Module,
    /// A user or a schema.
    User,
    /// A file or a directory.
    Path,
    /// An IP address.
    Address,
    /// A file of evidence.
    File,
}

impl NameKind {
    fn begin(self) -> &'static str {
        match self {
            NameKind::Host => "host-",
            NameKind::Instance => "inst-",
            NameKind::Database => "db-",
            NameKind::Service => "svc-",
            NameKind::Module => "mod-",
            NameKind::User => "user-",
            NameKind::Path => "/path-",
            NameKind::Address => "ip-",
            NameKind::File => "file-",
        }
    }
}

/// The pseudonyms that were given.
#[derive(Debug, Default)]
pub(super) struct Pseudonyms {
    /// By the name in small letters.
    given: BTreeMap<String, String>,
    /// Names of several words.
    phrases: Vec<(String, String)>,
    counts: BTreeMap<NameKind, u32>,
}

impl Pseudonyms {
    /// Gives a name its pseudonym, and looks for it everywhere from now on.
    pub(super) fn learn(&mut self, name: &str, kind: NameKind) {
        self.of(name, kind);
    }

    /// The pseudonym of a name at a place that labels it.
    pub(super) fn of(&mut self, name: &str, kind: NameKind) -> String {
        let plain = name.trim();
        let is_address = plain.parse::<IpAddr>().is_ok();
        let kind = if is_address { NameKind::Address } else { kind };
        let is_kept = is_common(plain) && !is_address;
        if plain.is_empty() || is_kept || is_pseudonym(plain) {
            return name.to_owned();
        }
        if kind == NameKind::Path {
            return self.of_path(plain);
        }
        let key = plain.to_lowercase();
        if let Some(given) = self.given.get(&key) {
            return given.clone();
        }
        let pseudonym = self.next(kind);
        if self.given.len() < NAMES_MAX {
            if key.contains(|c: char| !is_in_name(c)) && self.phrases.len() < PHRASES_MAX {
                self.phrases.push((plain.to_owned(), pseudonym.clone()));
                // A longer one may contain a shorter one.
                self.phrases
                    .sort_by_key(|(phrase, _)| std::cmp::Reverse(phrase.len()));
            }
            // The first label of a host with its domain.
            let label = key.split('.').next().unwrap_or_default();
            if kind == NameKind::Host && label != key && !is_common(label) {
                let first = self.given.entry(label.to_owned());
                let host = first.or_insert_with(|| pseudonym.clone()).clone();
                self.given.insert(key, host.clone());
                return host;
            }
            self.given.insert(key, pseudonym.clone());
        }
        pseudonym
    }

    /// Looks for a password everywhere, unless it may be a word of the format.
    pub(super) fn password(&mut self, password: &str) {
        let plain = password.trim_matches('"');
        let has = |is: fn(&u8) -> bool| plain.bytes().any(|b| is(&b));
        let is_strong = plain.chars().count() >= PASSWORD_MIN
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_alphabetic);
        if !is_strong || self.given.len() >= NAMES_MAX {
            return;
        }
        let key = plain.to_lowercase();
        if self.given.insert(key, PASSWORD.to_owned()).is_none()
            && plain.contains(|c: char| !is_in_name(c))
            && self.phrases.len() < PHRASES_MAX
        {
            self.phrases.push((plain.to_owned(), PASSWORD.to_owned()));
        }
    }

    /// How many names of a kind have a pseudonym.
    pub(super) fn count(&self, kind: NameKind) -> usize {
        let given = self
            .given
            .values()
            .filter(|name| name.starts_with(kind.begin()));
        given.collect::<BTreeSet<&String>>().len()
    }

    /// A path keeps the process of a trace, by which its reader knows the log writer.
    fn of_path(&mut self, path: &str) -> String {
        let (folder, file) = path.rsplit_once(['/', '\\']).unwrap_or(("", path));
        if let Some((instance, process)) = trace_file(file) {
            let instance = self.of(instance, NameKind::Instance);
            let folder = self.plain(folder, NameKind::Path);
            return format!("{folder}/{instance}{process}.trc");
        }
        self.plain(path, NameKind::Path)
    }

    fn plain(&mut self, name: &str, kind: NameKind) -> String {
        if let Some(given) = self.given.get(name) {
            return given.clone();
        }
        let pseudonym = self.next(kind);
        if self.given.len() < NAMES_MAX {
            self.given.insert(name.to_owned(), pseudonym.clone());
        }
        pseudonym
    }

    /// The name of a file of evidence.
    pub(super) fn file(&mut self, path: &str) -> String {
        let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
        if let Some((instance, process)) = trace_file(file) {
            return format!("{}{process}.trc", self.of(instance, NameKind::Instance));
        }
        let key = format!("file of evidence {path}");
        let number = self.plain(&key, NameKind::File);
        let end = file.rsplit_once('.').map(|(_, end)| end);
        let is_plain = |end: &&str| {
            (1..=8).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let end = end
            .filter(is_plain)
            .filter(|end| !self.given.contains_key(&end.to_lowercase()));
        let measured = of_fio(file).unwrap_or_default();
        end.map_or(number.clone(), |end| format!("{number}{measured}.{end}"))
    }

    fn next(&mut self, kind: NameKind) -> String {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        format!("{}{count}", kind.begin())
    }

    /// The text with every name that was learnt replaced, whatever is around it.
    pub(super) fn known(&self, text: &str) -> String {
        if self.given.is_empty() {
            return text.to_owned();
        }
        let mut text = text.to_owned();
        for (phrase, pseudonym) in &self.phrases {
            if text.contains(phrase) {
                text = text.replace(phrase, pseudonym);
            }
        }
        let mut out = Spaced::default();
        let mut rest = text.as_str();
        while let Some(start) = rest.find(is_in_name) {
            let (before, from) = rest.split_at(start);
            let end = from.find(|c| !is_in_name(c)).unwrap_or(from.len());
            let (word, after) = from.split_at(end);
            out.push(before);
            self.word(word, &mut out);
            rest = after;
        }
        out.push(rest);
        out.text
    }

    /// A word, or the names among its parts: `orcl1_lgwr_1234.trc`.
    fn word(&self, word: &str, out: &mut Spaced) {
        if is_pseudonym(word) {
            return out.push(word);
        }
        let is_mark = |c: char| "_-./:".contains(c);
        let mut starts: Vec<usize> = vec![0];
        starts.extend(
            word.match_indices(is_mark)
                .map(|(at, mark)| at + mark.len()),
        );
        let mut ends: Vec<usize> = word.match_indices(is_mark).map(|(at, _)| at).collect();
        ends.push(word.len());
        let mut at = 0;
        while let Some(start) = starts.get(at).copied() {
            let longest = ends.len().min(at + PARTS_MAX);
            let found = (at..longest).rev().find_map(|last| {
                let part = word.get(start..*ends.get(last)?)?;
                let is_long = part.chars().count() >= LETTERS_MIN;
                let is_number = part.bytes().all(|b| b.is_ascii_digit());
                let pseudonym = self.given.get(&part.to_lowercase())?;
                let end = start + part.len();
                (is_long && !is_number && is_apart(word, start, end))
                    .then_some((last, part, pseudonym))
            });
            match found {
                Some((last, part, pseudonym)) => {
                    out.replace(part, pseudonym);
                    at = last;
                }
                None => {
                    let end = ends.get(at).copied().unwrap_or(word.len());
                    out.text.push_str(word.get(start..end).unwrap_or_default());
                }
            }
            let mark = starts
                .get(at + 1)
                .and_then(|next| word.get(*ends.get(at)?..*next));
            out.text.push_str(mark.unwrap_or_default());
            at += 1;
        }
    }
}

/// An IPv4 address has no further part: a version may begin with it.
fn is_apart(word: &str, start: usize, end: usize) -> bool {
    let is_address = word
        .get(start..end)
        .is_some_and(|part| part.parse::<Ipv4Addr>().is_ok());
    let before = word
        .get(..start)
        .is_some_and(|before| before.ends_with('.'));
    let after = word.get(end..).and_then(|after| after.strip_prefix('.'));
    let is_more = after.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()));
    !is_address || !(before || is_more)
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || "_-.$#".contains(c)
}

/// What this program has put there.
fn is_pseudonym(word: &str) -> bool {
    let word = word.trim_start_matches('/');
    let begins = [
        "host-", "inst-", "db-", "svc-", "mod-", "user-", "path-", "ip-", "file-",
    ];
    begins.iter().any(|begin| {
        let number = word.strip_prefix(begin);
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// What the name of fio's log says that its lines measure: `_clat`.
fn of_fio(file: &str) -> Option<&str> {
    let stem = file.strip_suffix(".log")?;
    let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.strip_suffix('.').unwrap_or(stem);
    let measured = ["clat_hist", "clat", "slat", "lat", "bw", "iops"];
    let found = measured.iter().find(|name| stem.ends_with(*name))?;
    let start = stem.len() - found.len();
    let at = start.checked_sub(1)?;
    let is_apart = matches!(stem.as_bytes().get(at), Some(b'_' | b'-'));
    stem.get(at..).filter(|_| is_apart)
}

/// The instance of a trace's file, and the rest with its process: `orcl1`, `_lgwr_1234.trc`.
fn trace_file(file: &str) -> Option<(&str, &str)> {
    let stem = file.split_once(".trc")?.0;
    let parts: Vec<(usize, &str)> = stem.match_indices('_').collect();
    let ends: Vec<usize> = parts.iter().map(|(at, _)| *at).collect();
    // The first part that is a process with a number behind it.
    ends.windows(2).find_map(|pair| {
        let (start, end) = (*pair.first()?, *pair.get(1)?);
        let process = stem.get(start + 1..end)?;
        let rest = stem.get(end + 1..)?;
        let number = rest.split('_').next()?;
        let is_process = (3..=5).contains(&process.len())
            && process.bytes().all(|b| b.is_ascii_alphanumeric())
            && process.bytes().any(|b| b.is_ascii_alphabetic());
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        // What follows the number is the identifier that somebody chose.
        let end = end + 1 + number.len();
        let kept = stem.get(start..end)?;
        let shown = file
            .get(start..start + kept.len())
            .filter(|_| is_process && is_number)?;
        Some((stem.get(..start)?, shown))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_of_a_trace_stays() {
        for (file, parts) in [
            ("orcl1_lgwr_1234.trc", Some(("orcl1", "_lgwr_1234"))),
            ("my_db_lg00_77.trc.gz", Some(("my_db", "_lg00_77"))),
            ("prod_ora_99_secret.trc", Some(("prod", "_ora_99"))),
            ("awr_prod.html", None),
            ("prod.trc", None),
        ] {
            assert_eq!(trace_file(file), parts, "{file}");
        }
    }

    #[test]
    fn a_file_keeps_what_its_reader_needs() {
        let mut names = Pseudonyms::default();
        for (path, shown) in [
            ("/u09/ann/web1_clat.1.log", "file-1_clat.log"),
            ("/u09/ann/web1.log", "file-2.log"),
            ("/u09/ann/web1_clat.1.log", "file-1_clat.log"),
            ("web1.of-a-long-customer", "file-3"),
            ("/diag/shop1_lgwr_5.trc", "inst-1_lgwr_5.trc"),
        ] {
            assert_eq!(names.file(path), shown, "{path}");
        }
    }

    #[test]
    fn a_name_is_found_among_the_parts_of_words() {
        let mut names = Pseudonyms::default();
        assert_eq!(names.of("PROD_DB", NameKind::Database), "db-1");
        assert_eq!(names.of("dbhost01.example.com", NameKind::Host), "host-1");
        assert_eq!(names.of("dbhost01", NameKind::Host), "host-1");
        assert_eq!(names.of("My App (v2)", NameKind::Module), "mod-1");
        assert_eq!(
            names.of("log", NameKind::Instance),
            "log",
            "a word of events"
        );
        for (text, shown) in [
            (
                "prod_db_lgwr_1.trc of dbhost01:",
                "db-1_lgwr_1.trc of host-1:",
            ),
            ("x.prod_db.y, PROD_DBX", "x.db-1.y, PROD_DBX"),
            ("from My App (v2)!", "from mod-1!"),
            ("log file sync", "log file sync"),
        ] {
            let known = names.known(text);
            let words: Vec<&str> = known.split_whitespace().collect();
            assert_eq!(words.join(" "), shown);
        }
    }
}
