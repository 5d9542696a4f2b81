//! Whether a raw device may be overwritten, as every command that does so asks it.
//!
//! Invariant: nothing is written to the device here; the consent is to what the device carried when
//! it was looked at, and [`device::raw`] refuses it when that is no longer so.

use device::DeviceError;
use device::raw::{Consent, RawDevice};
use std::path::Path;

/// Why it may not.
#[derive(Debug)]
pub enum NoConsent {
    /// In words, with what to do.
    Refused(String),
    /// It cannot be looked at.
    Device(DeviceError),
}

/// The device at `path`, and its owner's consent: `destroy` repeats the path.
///
/// # Errors
/// It is in use, the path was not repeated, or the system does not let this process look at it.
pub fn consented(path: &Path, destroy: Option<&Path>) -> Result<(RawDevice, Consent), NoConsent> {
    let is_root = rustix::process::geteuid().is_root();
    let look = RawDevice::at(path).map_err(|error| not_permitted(error, is_root))?;
    // In use comes first: no repetition of a path helps there.
    let consent = look.check().and_then(|()| look.consent(destroy));
    let consent = consent.map_err(|refused| NoConsent::Refused(refused.to_string()))?;
    Ok((look, consent))
}

/// What to do where the system does not let this process open the device.
fn not_permitted(error: DeviceError, is_root: bool) -> NoConsent {
    let is_denied = |source: &std::io::Error| source.kind() == std::io::ErrorKind::PermissionDenied;
    if !matches!(&error, DeviceError::Io { source, .. } if is_denied(source)) {
        return NoConsent::Device(error);
    }
    let advice = match is_root {
        // Root is refused by what confines it.
        true => {
            "this process runs as root, so a container or control group keeps it from the device: \
             run redolab outside of it, or pass the device to the container (docker run --device)"
        }
        false => "run redolab as root (sudo), or as a member of the group that owns the device",
    };
    NoConsent::Refused(format!("{error}; {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn where_permission_is_missing_it_is_said_how_to_get_it() {
        let error = |kind: ErrorKind| DeviceError::Io {
            path: "/dev/loop9".into(),
            action: "open",
            source: Error::from(kind),
        };
        for (is_root, advice) in [(true, "docker run --device"), (false, "sudo")] {
            match not_permitted(error(ErrorKind::PermissionDenied), is_root) {
                NoConsent::Refused(what) => {
                    assert!(
                        what.contains("/dev/loop9") && what.contains(advice),
                        "{what}"
                    );
                }
                other => panic!("{other:?}"),
            }
            let gone = not_permitted(error(ErrorKind::NotFound), is_root);
            assert!(matches!(gone, NoConsent::Device(_)), "{gone:?}");
        }
    }
}
