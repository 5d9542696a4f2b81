//! Cheap questions about a line. Every reader of a listing is asked about every line; most lines
//! are none of its own, and it has to find that out without building anything.

use memchr::{memchr, memchr2};

/// A word of ASCII that is looked for.
#[derive(Clone, Copy, Debug)]
pub struct QuickWord {
    word: &'static [u8],
    /// The byte of the word that lines contain least often.
    anchor: usize,
    in_either_case: bool,
}

impl QuickWord {
    /// A word in small letters, which is found in either case.
    #[must_use]
    pub const fn new(lower: &'static str) -> QuickWord {
        QuickWord {
            word: lower.as_bytes(),
            anchor: anchor(lower.as_bytes()),
            in_either_case: true,
        }
    }

    /// A word as it is.
    #[must_use]
    pub const fn exactly(word: &'static str) -> QuickWord {
        QuickWord {
            word: word.as_bytes(),
            anchor: anchor(word.as_bytes()),
            in_either_case: false,
        }
    }

    /// Whether the text contains the word.
    #[must_use]
    pub fn is_in(&self, text: &[u8]) -> bool {
        let byte = self.word[self.anchor];
        let both = self.in_either_case && byte.is_ascii_alphabetic();
        let mut from = 0;
        while let Some(rest) = text.get(from..) {
            let found = match both {
                true => memchr2(byte, byte.to_ascii_uppercase(), rest),
                false => memchr(byte, rest),
            };
            let Some(at) = found.map(|at| from + at) else {
                return false;
            };
            let place = at.checked_sub(self.anchor);
            let part = place.and_then(|start| text.get(start..start + self.word.len()));
            let is_it = |part: &[u8]| match self.in_either_case {
                true => part.eq_ignore_ascii_case(self.word),
                false => part == self.word,
            };
            if part.is_some_and(is_it) {
                return true;
            }
            from = at + 1;
        }
        false
    }
}

/// A byte that is neither letter nor blank, else a capital, else the first.
const fn anchor(word: &[u8]) -> usize {
    let (mut at, mut capital) = (0, 0);
    while at < word.len() {
        if !word[at].is_ascii_alphabetic() && word[at] != b' ' {
            return at;
        }
        if word[at].is_ascii_uppercase() && !word[capital].is_ascii_uppercase() {
            capital = at;
        }
        at += 1;
    }
    capital
}

/// Whether the text contains one of the words.
#[must_use]
pub fn has_any(text: &str, words: &[QuickWord]) -> bool {
    words.iter().any(|word| word.is_in(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_either_case_and_anywhere() {
        const WORD: QuickWord = QuickWord::new("v$event_histogram");
        for text in [
            "V$EVENT_HISTOGRAM",
            "xv$v$Event_Histogram;",
            " gv$event_histogram_micro",
        ] {
            assert!(WORD.is_in(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "$",
            "v$event_histogra",
            "v event_histogram",
            "$event_histogram",
        ] {
            assert!(!WORD.is_in(text.as_bytes()), "{text}");
        }
        const TITLE: QuickWord = QuickWord::exactly("DB/Inst:");
        assert!(TITLE.is_in(b"x/y DB/Inst: LAB") && !TITLE.is_in(b"x/y db/inst: LAB"));
        const NAME: QuickWord = QuickWord::exactly("my Device");
        assert!(NAME.is_in(b"DDmy Device") && !NAME.is_in(b"my device"));
        assert!(has_any("shown Up To 6", &[QuickWord::new("up to")]));
        assert!(!has_any(
            "shown up-to 6",
            &[QuickWord::new("up to"), QuickWord::new("upto")]
        ));
    }
}
