//! Setters of options: outside this crate options are `non_exhaustive`, so that further ones break
//! no caller.

/// A setter for each field, with the field's name; `const` for types that own no memory.
macro_rules! setters {
    (const $of:ident { $($(#[$doc:meta])* $field:ident: $kind:ty,)* }) => {
        impl $of {
            $(
                $(#[$doc])*
                #[must_use]
                pub const fn $field(mut self, $field: $kind) -> $of {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
    ($of:ident { $($(#[$doc:meta])* $field:ident: $kind:ty,)* }) => {
        impl $of {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $field(mut self, $field: $kind) -> $of {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}

pub(crate) use setters;
