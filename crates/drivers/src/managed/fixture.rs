//! Plans of servers for tests.

use measure::driver::ManagedPlan;

/// A plan with these settings, on directories that are not made.
pub(crate) fn plan(settings: &[(&str, &str)]) -> ManagedPlan {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    ManagedPlan {
        data: "/u01/work/data".into(),
        log: "/u01/work/log".into(),
        programs: None,
        settings: settings.iter().map(own).collect(),
        interrupted: Default::default(),
    }
}
