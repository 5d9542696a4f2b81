//! Lines on standard error. Where it is closed or full they are lost, and nothing else is: what
//! redolab measures does not depend on who reads its messages.

use measure::words::sanitize;
use std::io::Write;

/// Writes `text` as it is.
pub fn write(text: &str) {
    // Nobody reads it, and there is nobody to report that to.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a line that begins with the name of the program. It may contain text from outside.
pub fn complain(text: &str) {
    write(&format!("redolab: {}\n", sanitize::text(text)));
}
