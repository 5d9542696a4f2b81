//! fio's JSON of a client with several servers; the text is made up in its layout.

use crate::{import, number, table};
use measure::imported::Cell;

/// In the layout of `fio --client` with two servers.
#[test]
fn clients_of_fio_have_their_hosts_and_their_sum_is_apart() {
    let job = |name: &str, host: &str, ios: u32| {
        format!(
            "{{\"jobname\":\"{name}\",\"job options\":{{\"fdatasync\":\"1\"}},\"write\":{{\"total_ios\":{ios},\
             \"iops\":{ios}.0,\"runtime\":1000,\"clat_ns\":{{\"min\":1000,\"max\":9000,\"mean\":2000.0,\
             \"stddev\":1.0,\"N\":{ios}}}}},\"hostname\":\"{host}\",\"port\":8765}}"
        )
    };
    let jobs = [
        job("redo", "db1", 30),
        job("redo", "db2", 12),
        job("All clients", "db2", 42),
    ];
    let text = format!(
        "<db1> redo: (g=0): rw=write\n{{\"fio version\":\"fio-3.33\",\"client_stats\":[{}]}}\n",
        jobs.join(",")
    );
    let out = import(&[&text]);
    for (id, key) in [("fio_jobs", "ios"), ("fio_latency", "count")] {
        let parts = table(&out, id);
        let sum: f64 = (0..parts.rows.len()).map(|r| number(parts, r, key)).sum();
        assert_eq!(sum, 42.0, "{id}");
        let hosts: Vec<&Cell> = parts.rows.iter().filter_map(|r| r.last()).collect();
        let host = |name: &str| Cell::Text(name.to_owned());
        assert_eq!(hosts, [&host("db1:8765"), &host("db2:8765")]);
    }
    for (id, key) in [
        ("fio_all_clients", "ios"),
        ("fio_all_clients_latency", "count"),
    ] {
        let all = table(&out, id);
        assert_eq!((all.rows.len(), number(all, 0, key)), (1, 42.0));
        assert_eq!(all.rows[0].last(), Some(&Cell::Blank));
    }
}

/// A job that failed is named, its syncs are counted, and no percentile is dropped.
#[test]
fn errors_syncs_and_all_percentiles_of_fio_text() {
    let text = "redo: (groupid=0, jobs=1): err= 5 (file:io_u.c:1845, func=io_u error, \
        error=Input/output error): pid=1978: Sat Nov 21 10:00:00 2026\n\
        \x20 write: IOPS=554, BW=2218KiB/s (2272kB/s)(6664KiB/3004msec); 0 zone resets\n\
        \x20   clat (usec): min=2, max=3371, avg=21.78, stdev=135.00\n\
        \x20   clat percentiles (usec):\n\
        \x20    |  1.00th=[    4], 50.00th=[   12], 95.00th=[   40], 99.00th=[   90],\n\
        \x20    | 99.50th=[  110], 99.95th=[ 3032]\n\
        \x20 fsync/fdatasync/sync_file_range:\n\
        \x20   sync (usec): min=300, max=9100, avg=1741.11, stdev=735.00\n\
        \x20    issued rwts: total=0,1666,0,1665 short=0,0,0,0 dropped=0,0,0,0\n";
    let out = crate::import(&[text]);
    let jobs = crate::table(&out, "fio_jobs");
    assert_eq!(crate::number(jobs, 0, "err"), 5.0);
    let failed = out.diagnostics.iter().find(|d| d.id == "fio.job_failed");
    let failed = failed.expect("an error");
    assert_eq!(failed.severity, measure::imported::Severity::Error);
    let latencies = crate::table(&out, "fio_latency");
    assert_eq!(crate::number(latencies, 1, "count"), 1665.0);
    let others = crate::table(&out, "fio_percentiles");
    let row = |i| {
        let of = |key| crate::number(others, i, key);
        (of("percentile"), of("value_us"))
    };
    let all: Vec<(f64, f64)> = (0..others.rows.len()).map(row).collect();
    assert_eq!(
        all,
        [(1.0, 4.0), (95.0, 40.0), (99.5, 110.0), (99.95, 3032.0)]
    );
}
