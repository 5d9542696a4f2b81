//! Standbys of a server of redolab's own: copies by `pg_basebackup` that receive its WAL through
//! its Unix socket.
//!
//! Invariant: measuring begins when every standby streams. What it must not know: what a commit
//! waits for, which the server's settings decide.

use super::connection::Connection;
use super::credentials::Credentials;
use super::error::PostgresError;
use super::programs::{PORT, SIGNALS, USER, start_order};
use super::relay::DelayingRelay;
use super::url::Address;
use crate::client::SocketError;
use crate::managed::{GuardProgram, GuardedProcess, ManagedError, ServerPlaces, check_interrupted};
use measure::driver::{DriverError, ManagedPlan};
use measure::units::parse_duration;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Among the settings of a plan, the number of standbys; the server never sees it.
pub const STANDBYS: &str = "standbys";
/// Among the settings of a plan, the time that a message to a standby and its answer take more; the
/// server never sees it.
const ROUND_TRIP: &str = "standby_round_trip";
/// The longest of them.
const ROUND_TRIP_MAX: Duration = Duration::from_secs(10);
/// Standbys at most.
const STANDBYS_MAX: u32 = 2;
const COPY_MAX: Duration = Duration::from_secs(300);
const STREAM_MAX: Duration = Duration::from_secs(120);
/// The setting that names the standbys for which a commit waits.
const NAMES: &str = "synchronous_standby_names";
const LOOK: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest address of a Unix socket, and the part of it that PostgreSQL adds to a directory.
const SOCKET_MAX: usize = 107;
const SOCKET_NAME: usize = "/.s.PGSQL.5432".len();
/// The number in the name of a relay's socket, which is beside the standby's own.
const RELAY_PORT: u16 = 6432;

/// The number of standbys that a plan asks for.
///
/// # Errors
/// It is not a number, or too large.
pub fn wanted(plan: &ManagedPlan) -> Result<u32, DriverError> {
    let Some(text) = plan.settings.get(STANDBYS) else {
        return Ok(0);
    };
    let number = text.parse().ok().filter(|number| *number <= STANDBYS_MAX);
    number.ok_or_else(|| {
        DriverError::unusable(format!(
            "{STANDBYS}={text}: use 0 to {STANDBYS_MAX} standbys of a private server"
        ))
    })
}

/// The delay between primary and standbys that a plan asks for, there and back; `None`: they are
/// connected directly.
///
/// # Errors
/// It is not a duration, too long, or there is no standby.
pub fn round_trip(plan: &ManagedPlan) -> Result<Option<Duration>, DriverError> {
    let Some(text) = plan.settings.get(ROUND_TRIP) else {
        return Ok(None);
    };
    let wrong = |why: &str| DriverError::unusable(format!("{ROUND_TRIP}={text}: {why}"));
    let delay = parse_duration(text).map_err(|why| wrong(&why))?;
    let delay = Duration::from_nanos(delay.0);
    if delay > ROUND_TRIP_MAX {
        return Err(wrong(&format!(
            "use at most {} s",
            ROUND_TRIP_MAX.as_secs()
        )));
    }
    if wanted(plan)? == 0 {
        return Err(wrong("there is no standby; add standbys=1"));
    }
    Ok(Some(delay))
}

/// Settings of a plan as the server gets them: without those of its standbys.
#[must_use]
pub fn settings(plan: &ManagedPlan) -> BTreeMap<String, String> {
    let mut settings = plan.settings.clone();
    settings.remove(STANDBYS);
    settings.remove(ROUND_TRIP);
    settings
}

/// The standbys that a commit waits for, unless the plan names them.
fn names(plan: &ManagedPlan, standbys: u32) -> Option<&'static str> {
    match standbys {
        _ if plan.settings.contains_key(NAMES) => None,
        0 => None,
        1 => Some("FIRST 1 (s1)"),
        _ => Some("ANY 1 (s1, s2)"),
    }
}

/// Has commits wait for `standbys`, which stream already, unless the plan says for which.
///
/// # Errors
/// The server refuses, or does not take it over in time.
pub fn require(address: &Address, standbys: u32, plan: &ManagedPlan) -> Result<(), PostgresError> {
    let Some(names) = names(plan, standbys) else {
        return Ok(());
    };
    let mut connection = Connection::open(address, &Credentials::default(), PATIENCE)?;
    connection.query(&format!("ALTER SYSTEM SET {NAMES} = '{names}'"))?;
    connection.query("SELECT pg_catalog.pg_reload_conf()")?;
    let until = Instant::now() + STREAM_MAX;
    loop {
        let rows = connection.query(&format!("SHOW {NAMES}"))?;
        if rows.into_iter().flatten().flatten().any(|set| set == names) {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(SocketError::TimedOut(STREAM_MAX).into());
        }
        std::thread::sleep(LOOK);
    }
}

/// A standby that runs, and the relay through which it is connected, if any.
#[derive(Debug)]
pub struct Standby {
    /// The server.
    pub process: GuardedProcess,
    /// What delays its connection.
    pub relay: Option<DelayingRelay>,
}

/// Makes and starts standby `number` of the server at `primary`.
///
/// # Errors
/// A path that is too long for a socket, a program that is missing or fails.
pub fn start(
    number: u32,
    programs: &Path,
    guard: &GuardProgram,
    primary: &ServerPlaces,
    plan: &ManagedPlan,
) -> Result<Standby, DriverError> {
    let name = format!("standby{number}");
    refuse_long_path(primary.data.path(), &name)?;
    let copy = primary.beside(&name)?;
    let program = programs.join("pg_basebackup");
    if !program.is_file() {
        let shown = programs.display();
        let missing = format!("{shown}: standbys need the program pg_basebackup there");
        return Err(ManagedError::Missing(missing).into());
    }
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |name: &str, value: &std::ffi::OsStr| {
        arguments.extend([name.into(), value.to_owned()]);
    };
    add("--pgdata", copy.cluster.path().as_os_str());
    add("--waldir", copy.wal.path().as_os_str());
    add("--host", primary.cluster.path().as_os_str());
    add("--username", USER.as_ref());
    add("--checkpoint", "fast".as_ref());
    add("--wal-method", "stream".as_ref());
    arguments.extend(["--write-recovery-conf", "--no-sync"].map(OsString::from));
    let copying = copy.order(program, arguments, SIGNALS);
    copy.start(guard, copying)?.run(COPY_MAX)?;
    let relay = round_trip(plan)?.map(|delay| relay(&copy, primary, delay));
    let relay = relay.transpose()?;
    // The copy has the lock of the primary's socket.
    let port = PORT + number as u16;
    let name = format!("s{number}");
    let mut order = start_order(&copy, programs, &settings(plan), (&name, port));
    if relay.is_some() {
        let mut through = OsString::from("primary_conninfo=user=");
        through.push(format!("{USER} port={RELAY_PORT} host='"));
        through.push(quoted(copy.cluster.path().as_os_str()));
        through.push("'");
        order.arguments.extend(["-c".into(), through]);
    }
    let process = copy.start(guard, order)?;
    Ok(Standby { process, relay })
}

/// A relay from the directory of a standby to its primary, half of `delay` in each direction.
fn relay(
    copy: &ServerPlaces,
    primary: &ServerPlaces,
    delay: Duration,
) -> Result<DelayingRelay, DriverError> {
    let name = |port| format!(".s.PGSQL.{port}");
    let near = (&copy.cluster, name(RELAY_PORT));
    let shown = copy.cluster.path().display();
    let far = (&primary.cluster, name(PORT));
    let started = DelayingRelay::start(near, copy.owner(), far, delay / 2);
    started.map_err(|error| DriverError::failed(format!("{shown}: {error}")))
}

/// A value inside the quotes of a connection string.
fn quoted(value: &OsStr) -> OsString {
    let mut quoted = Vec::with_capacity(value.len());
    for byte in value.as_bytes() {
        if matches!(byte, b'\'' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    OsString::from_vec(quoted)
}

/// Refuses a directory of data with a path too long for a socket in the folder `name`.
fn refuse_long_path(data: &Path, name: &str) -> Result<(), ManagedError> {
    let length = data.join(name).as_os_str().len();
    if length + SOCKET_NAME <= SOCKET_MAX {
        return Ok(());
    }
    // The directory that the user named, which contains the work folder.
    let named = data.ancestors().nth(2).map_or(0, |n| n.as_os_str().len());
    Err(ManagedError::Unusable(format!(
        "{}: the path is too long for a Unix socket, through which standbys receive their WAL; \
         use a directory with a path of at most {} bytes",
        data.display(),
        SOCKET_MAX - SOCKET_NAME - (length - named)
    )))
}

/// Waits until `standbys` stream from the server at `address`.
///
/// # Errors
/// One that ended, or does not come in time.
pub fn await_streaming(
    address: &Address,
    standbys: &mut [Standby],
    plan: &ManagedPlan,
) -> Result<(), DriverError> {
    const QUERY: &str = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_replication \
                         WHERE state = 'streaming' AND application_name LIKE 's_'";
    let mut connection = Connection::open(address, &Credentials::default(), PATIENCE)?;
    let until = Instant::now() + STREAM_MAX;
    loop {
        let rows = connection.query(QUERY)?;
        let count = rows.into_iter().flatten().flatten().next();
        let count: usize = count.and_then(|text| text.parse().ok()).unwrap_or(0);
        if count >= standbys.len() {
            return Ok(());
        }
        for (index, standby) in standbys.iter_mut().enumerate() {
            let process = &mut standby.process;
            if let Some(how) = process.ended().map(str::to_owned) {
                let how = format!("(standby {}) ended {how} when it was started", index + 1);
                return Err(DriverError::failed(process.failure(how).to_string()));
            }
        }
        check_interrupted(plan, "standbys were started")?;
        if Instant::now() > until {
            return Err(DriverError::failed(format!(
                "{count} of {} standbys stream after {} s",
                standbys.len(),
                STREAM_MAX.as_secs()
            )));
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::fixture::plan;

    #[test]
    fn the_server_waits_for_its_standbys_unless_the_plan_names_others() {
        let two = plan(&[("standbys", "2"), ("synchronous_commit", "remote_write")]);
        assert_eq!(wanted(&two).expect("two"), 2);
        let set = settings(&two);
        assert_eq!(set["synchronous_commit"], "remote_write");
        assert!(!set.contains_key("standbys"));
        assert_eq!(names(&two, 2), Some("ANY 1 (s1, s2)"));
        let named = plan(&[("standbys", "2"), ("synchronous_standby_names", "")]);
        assert_eq!(names(&named, 2), None);
        let none = plan(&[("standbys", "0")]);
        assert_eq!(names(&none, wanted(&none).expect("none")), None);
        for wrong in ["3", "-1", "one", ""] {
            assert!(wanted(&plan(&[("standbys", wrong)])).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_round_trip_is_a_duration_between_servers_that_exist() {
        let far = plan(&[("standbys", "1"), ("standby_round_trip", "1500us")]);
        let delay = round_trip(&far).expect("a duration");
        assert_eq!(delay, Some(Duration::from_micros(1500)));
        assert_eq!(settings(&far).len(), 0, "the server has no such setting");
        assert_eq!(round_trip(&plan(&[("standbys", "1")])).expect("none"), None);
        for (standbys, wrong, why) in [
            ("1", "5", "has no unit"),
            ("1", "11s", "at most 10 s"),
            ("1", "soon", "not a duration"),
            ("0", "1ms", "there is no standby"),
        ] {
            let wrong = plan(&[("standbys", standbys), ("standby_round_trip", wrong)]);
            let refused = round_trip(&wrong).expect_err("refused").to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn a_path_with_quotes_stays_one_value() {
        assert_eq!(quoted("/u/it's\\x".as_ref()), "/u/it\\'s\\\\x");
    }
}
