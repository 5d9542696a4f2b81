//! What tests of slow or failing disks share.

/// A number from the environment.
pub fn number(name: &str, usual: u64) -> u64 {
    let value = std::env::var(name).ok().and_then(|text| text.parse().ok());
    value.unwrap_or(usual)
}

/// Tests that mount, cut or hold up something run one after the other: each keeps a processor busy.
pub fn alone() -> std::sync::MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    TURN.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
