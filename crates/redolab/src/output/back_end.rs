//! On what a run's log lies, and what was done without.

use measure::run::Run;
use measure::words::sanitize;

/// What the log lies on, and what was asked for and done without. Empty where there is none of it.
#[must_use]
pub fn text(run: &Run) -> String {
    let mut text = String::new();
    let Some(log) = run.target.redo_log() else {
        return text;
    };
    if let Some(stripe) = &log.stripe {
        text.push_str(&format!("\nStripe of {stripe}:\n"));
        for directory in &stripe.directories {
            text.push_str(&format!("  {}\n", sanitize::line(directory)));
        }
    }
    for fallback in &log.fallbacks {
        text.push_str(&format!("Done without: {}\n", sanitize::line(fallback)));
    }
    text
}
