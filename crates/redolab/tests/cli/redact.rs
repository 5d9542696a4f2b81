//! Evidence that leaves the site: no name and no statement in what is stored, printed or written,
//! and the same figures.

use crate::harness::{Place, entries};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Names and values of the site; none may be in a result.
const SECRETS: [&str; 25] = [
    "acmeprod",
    "acme01",
    "acmedb",
    "acme.example",
    "acmesvc",
    "AcmeBilling",
    "acmeann",
    "10.17.3.4",
    "/u07/acme",
    "acmebob",
    "acmeweb",
    "salaries",
    "topsecret",
    "ACME_IDX",
    "acmeshop",
    "acmeapp",
    "2001:db8::17",
    "acmejob",
    "10.17.8.8",
    "10.17.9.9",
    "acmekiosk",
    "Pq7Acme",
    "acmefio",
    "10.17.5.5",
    "acmetiger",
];

const TRACE: &str = "\
Trace file /u07/acme/diag/acmeprod1/trace/acmeprod1_lgwr_4711.trc
Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production
ORACLE_HOME:    /u07/acme/home
Node name:      acme01.acme.example
Instance name: acmeprod1
Unix process pid: 4711, image: oracle@acme01 (LGWR)
Redo of acmedb on acmeweb, for acmebob
*** 2026-01-02T03:04:05.123456+00:00
*** SESSION ID:(4.1) 2026-01-02T03:04:05.123456+00:00
*** SERVICE NAME:(acmesvc.acme.example) 2026-01-02T03:04:05.123456+00:00
*** MODULE NAME:(AcmeBilling (v2)) 2026-01-02T03:04:05.123456+00:00
*** CLIENT ID:(acmeann) 2026-01-02T03:04:05.123456+00:00
=====================
PARSING IN CURSOR #5 len=45 dep=0 uid=9 oct=3 lid=9 tim=1000 hv=1 ad='7' sqlid='abc'
select /* of acmebob */ sum(topsecret)
  from salaries
END OF STMT
PARSE #5:c=0,e=10,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,plh=1,tim=1100
WAIT #5: nam='log file parallel write' ela= 412 files=1 blocks=2 requests=1 obj#=-1 tim=2000
STAT #5 id=1 cnt=1 pid=0 pos=1 obj=9 op='INDEX RANGE SCAN ACME_IDX (cr=1 pr=0 pw=0 time=9 us)'
WAIT #5: nam='log file parallel write' ela= 588 files=1 blocks=4 requests=1 obj#=-1 tim=3000
";

const REPORT: &str = "\
WORKLOAD REPOSITORY report for

DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC
------------ ----------- ------------ -------- --------------- ----------- ---
ACMEDB        1234567890 acmeprod1           1 01-Jan-26 10:00 19.0.0.0.0  NO

Host Name        Platform                         CPUs Cores Sockets Memory(GB)
---------------- -------------------------------- ---- ----- ------- ----------
acme01           Linux x86 64-bit                    8     4       1      31.00

Foreground Wait Events            DB/Inst: ACMEDB/acmeprod1  Snaps: 10-11
                                                             Avg
                                        %Time Total Wait    wait    Waits   % DB
Event                             Waits -outs   Time (s)    (ms)     /txn   time
-------------------------- ------------ ----- ---------- ------- -------- ------
log file sync                    12,345     0         25    2.03      1.0   10.5
          -------------------------------------------------------------
SQL ordered by Elapsed Time       DB/Inst: ACMEDB/acmeprod1  Snaps: 10-11
        Elapsed                  Elapsed Time
        Time (s)    Executions  per Exec (s)  %Total   %CPU    %IO    SQL Id
---------------- -------------- ------------- ------ ------ ------ -------------
           100.5          1,000          0.10   40.1   50.0   10.0 0abcdefghij12
Module: AcmeBilling (v2)
select topsecret from salaries
          -------------------------------------------------------------
";

/// Columns are found by their places: a shorter name must not move those behind it.
const HISTOGRAM: &str = "\
MACHINE                     EVENT                    WAIT_TIME_MILLI WAIT_COUNT
--------------------------- ------------------------ --------------- ----------
acme01.acme.example         log file sync                          1        100
acme01.acme.example         log file sync                          2         50
acmewebfarm17.acme.example  log file sync                          4         25
";

const ACTIVITY: &str = " datname  | usename |  client_addr  | application_name | wal_records
----------+---------+---------------+------------------+-------------
 acmeshop | acmebob | 2001:db8::17  | acmeapp          |        4711
(1 row)
";

const STATUS: &str = "\
+---------------+------------------+
| Variable_name | Value            |
+---------------+------------------+
| hostname      | acmeweb          |
| datadir       | /u07/acme/mysql/ |
| Innodb_os_log_written | 4096     |
+---------------+------------------+
";

const IOSTAT: &str = "\
Linux 6.1.0 (acmeweb) \t01/02/2026 \t_x86_64_\t(2 CPU)

Device            r/s     w/s     rkB/s     wkB/s  w_await  %util
sda              1.00    2.00      4.00      8.00     0.50   3.00

Device            r/s     w/s     rkB/s     wkB/s  w_await  %util
sda              2.00   17.00      4.00     68.00     0.25   9.00
";

/// The layout of a report without rules below its headings.
const BARE_REPORT: &str = "\
WORKLOAD REPOSITORY report for

DB Name          DB Id        Instance         Inst num Startup Time       Release      RAC
ACMEKIOSKDB      7700112233   acmekiosk7       7        02-Feb-26 09:30    19.20.0.0.0  NO

Host Name        Platform                 CPUs   Cores  Sockets  Memory (GB)
acmekiosk-box    Linux x86 64-bit         4      2      1        8.00

Snap Id            Snap Time              Sessions   Cursors/Session   CDB
Begin Snap: 71     03-Mar-26 09:00:00     12         1.5               NO
End Snap:   72     03-Mar-26 09:30:00     14         1.5               NO
Elapsed:     30.00 (mins)
DB Time:    17.00 (mins)

Load Profile

Per Second       Per Transaction  Per Exec     Per Call
DB Time (s):             0.6              0.0              0.00         0.01
Redo size (bytes):       120,000          4,000.0
Transactions:            30

Top 10 Foreground Events by Total Wait Time
Event                                      Waits     Total Wait Time (sec) Wait Avg(ms) % DB time Wait Class
DB CPU                                     1.1K       620.0
log file sync                              54,000     87.4                   1.62         8.6        Commit
";

const HAMMERDB: &str = "\
Database set to MySQL

Benchmark set to TPC-C for MySQL

Changed connection:mysql_host from 127.0.0.1 to 10.17.8.8 for MySQL

Changed tpcc:mysql_pass from mysql to Pq7Acme-4 for MySQL

Changed tpcc:mysql_user from root to acmebob for MySQL

Changed tpcc:mysql_count_ware from 1 to 20 for MySQL
Connected as scott/acmetiger@//10.17.9.9:1521/acmesvc and mysql://root:Pq7Acme-4@10.17.9.9
Vuser 1:4 Active Virtual Users configured
Vuser 1:TEST RESULT : System achieved 4711 NOPM from 9342 MySQL TPM
";

/// The files of the site, in a folder whose name is a secret as well.
fn site(place: &Place) -> &'static str {
    let folder = place.path().join("acmejob");
    fs::create_dir(&folder).expect("made");
    for (name, text) in [
        ("acmeprod1_lgwr_4711.trc", TRACE),
        ("awr_acmedb.txt", REPORT),
        ("activity-acme01.txt", ACTIVITY),
        ("histogram-acme01.txt", HISTOGRAM),
        ("status-acmeweb.txt", STATUS),
        ("iostat-acmeweb.txt", IOSTAT),
        ("report-bare.txt", BARE_REPORT),
        ("hammerdb.log", HAMMERDB),
    ] {
        fs::write(folder.join(name), text).expect("written");
    }
    "acmejob"
}

fn expect_no_secret(text: &str, what: &str) {
    let small = text.to_lowercase();
    for secret in SECRETS {
        assert!(
            !small.contains(&secret.to_lowercase()),
            "{secret} in {what}: {text}"
        );
    }
}

fn expect_no_secret_below(folder: &Path) -> usize {
    let mut looked_at = 0;
    for entry in fs::read_dir(folder).expect("lists") {
        let path = entry.expect("an entry").path();
        expect_no_secret(
            &path.file_name().expect("a name").to_string_lossy(),
            "a name",
        );
        if path.is_dir() {
            looked_at += expect_no_secret_below(&path);
        } else if path.is_file() {
            let bytes = fs::read(&path).expect("reads");
            expect_no_secret(
                &String::from_utf8_lossy(&bytes),
                &path.display().to_string(),
            );
            looked_at += 1;
        }
    }
    looked_at
}

/// The numbers of all tables by their ids, in order; of tables whose places are in a column, too.
fn figures(run: &Value) -> Vec<(String, Vec<Value>)> {
    let tables = run["imported"]["tables"].as_array().expect("tables");
    let mut found: Vec<(String, Vec<Value>)> = Vec::new();
    for table in tables {
        let id = table["id"].as_str().expect("an id").to_owned();
        let cells = table["rows"].as_array().expect("rows").iter();
        let cells = cells.flat_map(|row| row.as_array().expect("cells").clone());
        found.push((id, cells.filter(Value::is_number).collect()));
    }
    found.sort_by_key(|(id, numbers)| (id.clone(), format!("{numbers:?}")));
    found
}

#[test]
fn nothing_of_the_site_is_stored_or_printed_and_the_figures_stay() {
    let place = Place::new();
    let site = site(&place);
    let plain = place.run(&["import", site, "--format", "json"]);
    let plain = plain.expect(0, &[]).json();
    let before = figures(&plain);
    assert!(before.len() >= 4, "{before:?}");
    fs::remove_dir_all(&place.store).expect("a store");
    let rewritten = place.run(&["redact", site, "-o", "redacted"]);
    rewritten.expect(0, &["Replaced: hosts"]);
    let redacted = ["import", "redacted"];
    let json = place.run(&[&redacted[..], &["--format", "json"]].concat());
    expect_no_secret(&json.expect(0, &[]).out, "JSON");
    expect_no_secret(&json.err, "standard error");
    assert_eq!(figures(&json.json()), before);
    for more in [&[][..], &["--format", "csv"]] {
        let text = place.run(&[&redacted[..], more].concat());
        expect_no_secret(&text.expect(0, &[]).out, "text");
    }
    place
        .run(&["report", "last", "-o", "run.html"])
        .expect(0, &[]);
    let html = fs::read_to_string(place.path().join("run.html")).expect("written");
    expect_no_secret(&html, "a report");
    assert!(expect_no_secret_below(&place.store) > 0);
}

#[test]
fn files_are_rewritten_so_that_they_import_with_the_same_figures() {
    let place = Place::new();
    let site = site(&place);
    let plain = place.run(&["import", site, "--format", "json"]);
    let before = figures(&plain.expect(0, &[]).json());
    place.run(&["redact", site, "-o", "out"]).expect(
        0,
        &[
            "-> out/",
            "Replaced: hosts 4,",
            "passwords 4, statements 4",
            "Read the result before you give it away",
        ],
    );
    let out = place.path().join("out");
    assert_eq!(expect_no_secret_below(&out), 8);
    let names = entries(&out);
    assert!(
        names.iter().any(|name| name.ends_with("_lgwr_4711.trc")),
        "{names:?}"
    );
    let json = place.run(&["import", "out", "--format", "json"]);
    assert_eq!(figures(&json.expect(0, &[]).json()), before);
    // The same name has the same pseudonym in all files.
    let all: Vec<String> = names
        .iter()
        .map(|name| fs::read_to_string(out.join(name)).expect("written"))
        .collect();
    let trace = all
        .iter()
        .find(|text| text.contains("Node name"))
        .expect("the trace");
    let host = trace
        .lines()
        .find_map(|line| line.strip_prefix("Node name:"));
    let host = host.expect("its host").trim();
    let report = all
        .iter()
        .find(|text| text.contains("Host Name"))
        .expect("the report");
    assert!(report.contains(&format!("\n{host} ")), "{host}: {report}");
    place
        .run(&["redact", site, "-o", "out"])
        .expect(2, &["never replaced"]);
}

#[test]
fn only_what_was_asked_for_is_replaced() {
    let place = Place::new();
    let site = site(&place);
    let redact = |what: &str, to: &str| {
        place
            .run(&["redact", site, "-o", to, "--redact", what])
            .expect(0, &[]);
        let names = entries(&place.path().join(to));
        let read = |name: &String| fs::read_to_string(place.path().join(to).join(name));
        names
            .iter()
            .map(|name| read(name).expect("written"))
            .collect::<String>()
    };
    let names = redact("names", "names");
    assert!(names.contains("from salaries") && !names.contains("acme01"));
    let sql = redact("sql", "sql");
    assert!(!sql.contains("salaries") && sql.contains("acme01") && !sql.contains("ACME_IDX"));
}

#[test]
fn what_cannot_be_redacted_is_refused() {
    let place = Place::new();
    let utf16: Vec<u8> = "WAIT".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(
        place.path().join("wide.trc"),
        [&[0xff, 0xfe][..], &utf16].concat(),
    )
    .expect("written");
    place
        .run(&["redact", "wide.trc", "-o", "out"])
        .expect(1, &["UTF-16", "convert it to UTF-8"]);
    assert_eq!(
        entries(&place.path().join("out")),
        Vec::<String>::new(),
        "nothing is left"
    );
    place
        .run(&["redact", "-", "-o", "out"])
        .expect(2, &["read twice", "standard input"]);
    place
        .run(&["redact", "wide.trc", "-o", "out", "--redact", "figures"])
        .expect(2, &["names", "sql"]);
}

const FIO: &str = r#"<7> connected
hostname=acmeweb, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.7, flags=1
{
  "fio version" : "fio-3.36",
  "timestamp" : 1767319445,
  "time" : "Fri Jan  2 02:04:05 2026",
  "client_stats" : [
    {
      "jobname" : "job-/acmefio/redo",
      "groupid" : 0,
      "error" : 0,
      "job options" : { "rw" : "write", "numjobs" : "1", "filename" : "/acmefio/redo" },
      "write" : {
        "io_bytes" : 4096000, "bw_bytes" : 409600, "iops" : 100.0, "runtime" : 10000,
        "total_ios" : 1000,
        "clat_ns" : { "min" : 1000, "max" : 9000, "mean" : 2000.0, "stddev" : 17.0,
          "percentile" : { "99.000000" : 4000 } }
      },
      "hostname" : "acmeweb",
      "port" : 8765
    }
  ]
}
"#;

#[test]
fn paths_in_the_names_of_fio_jobs_are_replaced() {
    let place = Place::new();
    fs::write(place.path().join("fio.json"), FIO).expect("written");
    let plain = place.run(&["import", "fio.json", "--format", "json"]);
    let before = figures(&plain.expect(0, &[]).json());
    let names = ["redact", "fio.json", "-o", "out", "--redact", "names"];
    place.run(&names).expect(
        0,
        &[
            "Replaced: hosts 1, instances 0",
            "passwords 0",
            "before you give it away",
        ],
    );
    let json = place.run(&["import", "out", "--format", "json"]);
    expect_no_secret(&json.expect(0, &[]).out, "JSON");
    assert_eq!(figures(&json.json()), before);
}

#[test]
fn passwords_are_replaced_whatever_was_asked_for() {
    let place = Place::new();
    fs::write(place.path().join("hammerdb.log"), HAMMERDB).expect("written");
    for what in ["names", "sql"] {
        place
            .run(&["redact", "hammerdb.log", "-o", what, "--redact", what])
            .expect(0, &["passwords 4"]);
        let out = place.path().join(what);
        let name = entries(&out).pop().expect("a file");
        let text = fs::read_to_string(out.join(name)).expect("written");
        assert!(
            !text.contains("Pq7Acme") && !text.contains("acmetiger"),
            "{text}"
        );
        assert_eq!(text.contains("10.17.9.9"), what == "sql", "{text}");
        assert!(text.contains("achieved 4711 NOPM"), "{text}");
    }
}
