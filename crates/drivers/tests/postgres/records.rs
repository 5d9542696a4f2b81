//! The records of the WAL between two positions, as the server's own programs read them: by
//! `pg_waldump`, or by the extension `pg_walinspect` where a server has no `pg_waldump`.

use crate::server::TestServer;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A record of the WAL.
#[derive(Debug)]
pub struct WalRecord {
    /// Its position.
    pub lsn: u64,
    /// The transaction that wrote it, or 0.
    pub transaction: u64,
    /// What kind of record it is, such as `Transaction COMMIT`.
    pub kind: String,
    /// Its bytes, without what fills it up to a multiple of 8.
    pub bytes: u64,
}

impl WalRecord {
    /// Bytes up to the next record, page headers not included.
    pub fn aligned(&self) -> u64 {
        self.bytes.next_multiple_of(8)
    }
}

/// What reads the records of a server.
#[derive(Debug)]
pub enum Reader {
    /// Its `pg_waldump`.
    Waldump(PathBuf),
    /// Its extension `pg_walinspect`, which is made in its database.
    Walinspect,
}

impl Reader {
    /// What can read the records of a server from now on; `None` where nothing can.
    pub fn of(server: &TestServer) -> Option<Reader> {
        // Without it a checkpoint removes files of the WAL.
        let keep = "SELECT pg_create_physical_replication_slot('keep', true)";
        server.psql(keep).expect("kept");
        let own = server.bin().join("pg_waldump");
        if own.exists() {
            return Some(Reader::Waldump(own));
        }
        let made = server.psql("CREATE EXTENSION IF NOT EXISTS pg_walinspect");
        made.is_ok().then_some(Reader::Walinspect)
    }

    /// The records from one position up to another.
    pub fn between(&self, server: &TestServer, from: u64, to: u64) -> Vec<WalRecord> {
        match self {
            Reader::Waldump(program) => by_waldump(server, program, from, to),
            Reader::Walinspect => by_walinspect(server, from, to),
        }
    }
}

fn position(lsn: u64) -> String {
    format!("{:X}/{:X}", lsn >> 32, lsn & 0xffff_ffff)
}

fn parsed(text: &str) -> u64 {
    let (high, low) = text.split_once('/').expect("a position");
    let part = |text: &str| u64::from_str_radix(text, 16).expect("hexadecimal");
    (part(high) << 32) | part(low)
}

fn by_waldump(server: &TestServer, program: &Path, from: u64, to: u64) -> Vec<WalRecord> {
    // The program reads the size of segments from any file of the folder, which has to be one that
    // was written.
    let written = tempfile::tempdir().expect("a folder");
    for segment in from >> 24..=to >> 24 {
        let name = format!("{:08X}{:08X}{:08X}", 1, segment >> 8, segment & 0xff);
        let file = server.folder().join("data/pg_wal").join(&name);
        if file.exists() {
            std::os::unix::fs::symlink(file, written.path().join(name)).expect("a link");
        }
    }
    let mut child = Command::new(program)
        .arg("-p")
        .arg(written.path())
        .args(["-s", &position(from), "-e", &position(to)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("pg_waldump runs");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let records = lines
        .map(|line| line.expect("text"))
        .filter(|line| line.starts_with("rmgr: "))
        .map(|line| of_line(&line))
        .collect();
    let done = child.wait_with_output().expect("it ended");
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{errors}");
    records
}

/// Such as `rmgr: Transaction len (rec/tot): 34/ 34, tx: 735, lsn: 0/01522F18, prev 0/01522EE0,
/// desc: COMMIT 2026-11-22 …`.
fn of_line(line: &str) -> WalRecord {
    let after = |key: &str| {
        let rest = line
            .split_once(key)
            .unwrap_or_else(|| panic!("{key}: {line}"))
            .1;
        rest.trim_start()
            .split([',', ' ', ';'])
            .next()
            .expect("a word")
            .to_owned()
    };
    let lengths = line.split_once("len (rec/tot):").expect("lengths").1;
    let (_, total) = lengths.split_once('/').expect("two lengths");
    let total = total.split(',').next().expect("a number");
    WalRecord {
        lsn: parsed(&after("lsn: ")),
        transaction: after("tx: ").parse().expect("a number"),
        kind: format!("{} {}", after("rmgr: "), after("desc: ")),
        bytes: total.trim().parse().expect("a number"),
    }
}

fn by_walinspect(server: &TestServer, from: u64, to: u64) -> Vec<WalRecord> {
    let rows = server.psql(&format!(
        "SELECT start_lsn, xid, resource_manager, record_type, record_length \
         FROM pg_get_wal_records_info('{}', '{}') ORDER BY start_lsn",
        position(from),
        position(to)
    ));
    let row = |row: &String| {
        let mut fields = row.split('|');
        let mut next = || fields.next().expect("a field");
        WalRecord {
            lsn: parsed(next()),
            transaction: next().parse().expect("a number"),
            kind: [next(), next()].join(" "),
            bytes: next().parse().expect("a number"),
        }
    };
    rows.expect("records").iter().map(row).collect()
}

/// What the messages and commits of redolab's transactions are among records, and what is not
/// theirs.
pub struct Split {
    /// Bytes of each transaction that wrote messages, by its number, with how many messages and
    /// how many commits it has.
    pub transactions: BTreeMap<u64, (u64, u32, u32)>,
    /// Records of others.
    pub others: Vec<WalRecord>,
}

impl Split {
    /// Parts records.
    pub fn of(records: Vec<WalRecord>) -> Split {
        let mut split = Split {
            transactions: BTreeMap::new(),
            others: Vec::new(),
        };
        for record in records {
            let of = split.transactions.get_mut(&record.transaction);
            match (record.kind.as_str(), of) {
                ("LogicalMessage MESSAGE", of) => {
                    let first = (0, 0, 0);
                    let (bytes, messages, _) = match of {
                        Some(of) => of,
                        None => split
                            .transactions
                            .entry(record.transaction)
                            .or_insert(first),
                    };
                    *bytes += record.aligned();
                    *messages += 1;
                }
                ("Transaction COMMIT", Some((bytes, _, commits))) => {
                    *bytes += record.aligned();
                    *commits += 1;
                }
                _ => split.others.push(record),
            }
        }
        split
    }
}
