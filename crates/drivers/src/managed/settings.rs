//! The settings of a server: redolab's own, those that a plan asks for, and those that no plan may
//! ask for.

use super::ManagedError;
use std::collections::BTreeMap;

/// Refuses settings that are redolab's own. `canonical` makes of a name what the server takes it
/// for.
///
/// # Errors
/// The first of them.
pub(crate) fn refuse_reserved(
    asked: &BTreeMap<String, String>,
    reserved: &[&str],
    canonical: fn(&str) -> String,
) -> Result<(), ManagedError> {
    let is_reserved = |name: &&String| reserved.contains(&canonical(name).as_str());
    match asked.keys().find(is_reserved) {
        None => Ok(()),
        Some(name) => Err(ManagedError::Unusable(format!(
            "the setting {name} is redolab's own on a server that it makes"
        ))),
    }
}

/// The settings of a server: `defaults`, unless they are asked for, and what is asked for.
pub(crate) fn merged(
    defaults: &[(&str, &str)],
    asked: &BTreeMap<String, String>,
    canonical: fn(&str) -> String,
) -> Vec<(String, String)> {
    let is_asked = |name: &str| asked.keys().any(|asked| canonical(asked) == name);
    let own = defaults.iter().filter(|(name, _)| !is_asked(name));
    let own = own.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let asked = asked.iter().map(|(n, value)| (n.clone(), value.clone()));
    own.chain(asked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lower(name: &str) -> String {
        name.to_lowercase()
    }

    fn asked(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(own).collect()
    }

    #[test]
    fn what_is_asked_for_takes_the_place_of_a_default() {
        let defaults = [("a", "1"), ("b", "2")];
        let found = merged(&defaults, &asked(&[("B", "3"), ("c", "4")]), lower);
        let pairs: Vec<(&str, &str)> = found.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(pairs, [("a", "1"), ("B", "3"), ("c", "4")]);
    }

    #[test]
    fn a_reserved_setting_is_refused_however_it_is_written() {
        let port = asked(&[("a", "1"), ("PORT", "1")]);
        let error = refuse_reserved(&port, &["port"], lower).expect_err("reserved");
        assert!(
            error.to_string().contains("PORT is redolab's own"),
            "{error}"
        );
        assert!(refuse_reserved(&port, &["report"], lower).is_ok());
    }
}
