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
