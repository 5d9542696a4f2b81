//! What is recorded of a cut: the machine and its disks before and after, and how writing failed.
//! What it shows is judged by [`CutEvidence::assess`].
//!
//! Invariants: nothing is guessed; an error that a full disk or a wrong option gives is not a
//! failure of the device.

use super::PowerTestError;
use super::identity::TestedPlace;
use super::messages::OpenTest;
use crate::observe::machine;
use device::presence::{DeviceContact, disk_states, mount_state};
use device::queue::IoOrDevice;
use device::{DeviceError, IoFailure};
use measure::power_test::{CutEvidence, MachineState, WriteFailure};
use measure::words::sanitize;
use redo::Error;
use redo::writer::Cause;
use rustix::io::Errno;
use std::path::Path;

/// The machine and the disks below a place, now.
pub(super) fn machine_state(path: &Path, place: &TestedPlace) -> MachineState {
    // A raw device has no mount: its node is on the file system of /dev.
    let is_mounted = !place.mount_point.is_empty();
    MachineState {
        boot_id: machine::known_boot_id(),
        mount: is_mounted.then(|| mount_state(path)).flatten(),
        disks: disk_states(&place.stack),
    }
}

/// All that was recorded of the cut that ended a test, and the machine now.
pub(super) fn of_cut(test: &OpenTest, after: MachineState) -> CutEvidence {
    let record = test.record.clone();
    CutEvidence {
        before: record.began.unwrap_or_else(|| MachineState {
            boot_id: Some(test.new.boot_id.clone()),
            ..MachineState::default()
        }),
        after,
        failure: record.failure,
        switched: record.switched,
        closed: record.closed,
    }
}

/// How the device failed; `None` where the error is not one of a device or its file system.
/// `contact` is asked at once: it may be back in a moment.
pub(super) fn device_failure(
    error: &PowerTestError,
    contact: Option<DeviceContact>,
) -> Option<WriteFailure> {
    let is_of_device = errno_of(error).is_some_and(|errno| OF_DEVICES.contains(&errno));
    is_of_device.then(|| WriteFailure {
        error: sanitize::line(&error.to_string()),
        device_answered: contact.and_then(DeviceContact::answers),
    })
}

/// What the kernel returns of a device that is gone or failed, and of a file system that stopped
/// because of it.
const OF_DEVICES: [Errno; 11] = [
    Errno::IO,
    Errno::NODEV,
    Errno::NXIO,
    Errno::NOLINK,
    Errno::TIMEDOUT,
    Errno::REMOTEIO,
    Errno::SHUTDOWN,
    Errno::NOTCONN,
    Errno::CONNABORTED,
    Errno::STALE,
    Errno::ROFS,
];

/// The system's error below an error of the writer.
fn errno_of(error: &PowerTestError) -> Option<Errno> {
    let of_io = |failure: &IoFailure| Some(Errno::from_raw_os_error(failure.errno));
    let either = |source: &IoOrDevice| match source {
        IoOrDevice::Io(failure) => of_io(failure),
        IoOrDevice::Device(error) => of_device(error),
    };
    match error {
        PowerTestError::Log(Error::Poisoned(
            Cause::Write(failure) | Cause::Flush(failure) | Cause::Control(failure),
        )) => of_io(failure),
        PowerTestError::Log(
            Error::Control { source, .. }
            | Error::Member { source, .. }
            | Error::Making { source, .. }
            | Error::TailFlush { source, .. },
        ) => either(source),
        PowerTestError::Log(Error::Device(error)) | PowerTestError::Device(error) => {
            of_device(error)
        }
        PowerTestError::System { source, .. } => of_system(source),
        _ => None,
    }
}

fn of_device(error: &DeviceError) -> Option<Errno> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(source) = error.downcast_ref::<std::io::Error>() {
            return of_system(source);
        }
        next = error.source();
    }
    None
}

fn of_system(error: &std::io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(errno: Errno) -> PowerTestError {
        PowerTestError::system("raw-4096-0.dat: writing")(errno.into())
    }

    #[test]
    fn errors_of_a_device_are_told_from_a_full_disk() {
        let io = IoFailure {
            errno: Errno::IO.raw_os_error(),
        };
        let full = IoFailure {
            errno: Errno::NOSPC.raw_os_error(),
        };
        let of_log = |cause| PowerTestError::Log(Error::Poisoned(cause));
        let of_device = || DeviceError::Io {
            path: "/u01".into(),
            action: "flushing",
            source: Errno::NODEV.into(),
        };
        for (error, is_of_device) in [
            (of_log(Cause::Flush(io)), true),
            (of_log(Cause::Control(io)), true),
            (of_log(Cause::Write(full)), false),
            (of_log(Cause::Abandoned), false),
            (PowerTestError::Device(of_device()), true),
            (PowerTestError::Log(Error::Device(of_device())), true),
            (system(Errno::ROFS), true),
            (system(Errno::NOSPC), false),
            (system(Errno::DQUOT), false),
            (
                PowerTestError::Failed("a thread has panicked".to_owned()),
                false,
            ),
        ] {
            let failure = device_failure(&error, None);
            assert_eq!(failure.is_some(), is_of_device, "{error}");
            assert!(failure.is_none_or(|failure| failure.device_answered.is_none()));
        }
    }
}
