//! Plans of servers for tests.

use measure::driver::{HeldFolder, ManagedFolders, ManagedPlan};
use std::sync::Arc;

/// A plan with these settings.
pub(crate) fn plan(settings: &[(&str, &str)]) -> ManagedPlan {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    ManagedPlan {
        programs: None,
        settings: settings.iter().map(own).collect(),
        interrupted: Default::default(),
    }
}

/// Directories in which nothing is made.
pub(crate) fn folders() -> ManagedFolders {
    let root = std::fs::File::open("/").expect("it is there");
    let root = HeldFolder {
        held: Arc::new(root.into()),
        path: "/".into(),
    };
    ManagedFolders {
        data: root.clone(),
        log: root,
    }
}
