//! The words of enums, each in one place: reports, tables, exports and errors print these.

/// Gives an enum its words, which reports, tables and errors all use.
macro_rules! words {
    ($enum:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $enum {
            /// Its word in reports and tables.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $($enum::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    };
}
pub(crate) use words;
