//! What becomes of a run of version 1, figure by figure.

use super::*;
use serde_json::{Value, json};

fn old(origin: &str) -> Value {
    let target = json!({
        "kind": "file", "path": "/redo", "stack": Stack::default(), "sync_method": "direct",
        "redo_block_bytes": 512, "seal_bytes": 4096, "log_groups": 3, "log_file_bytes": 1024,
        "log_buffer_bytes": 2048, "huge_pages": false, "unwritten_extents": 0
    });
    let workload = json!({
        "names": ["LGWR-LAT1"], "jobs": [2], "time_s": 1.5, "warmup_s": 0.0, "commits": null,
        "cpu_per_txn_us": 0.0, "log_writer": "inline", "seed": 7
    });
    let mut row = serde_json::to_value(Row::default()).expect("a row is JSON");
    for (key, value) in row.as_object_mut().expect("an object") {
        let text = json!({"mean": 0.0, "p50": 0, "p99": 0});
        let path = CommitPathFigures::default();
        match key.as_str() {
            "commits_per_write" => *value = text,
            "commit_latency" => *value = json!(WaitStats::default()),
            "commit_path" => *value = json!(path),
            "threads"
            | "commit_throughput_tps"
            | "elapsed_s"
            | "commits"
            | "elapsed_ns"
            | "commit_latency_ms"
            | "redo_synch_writes_iops"
            | "redo_blocks_per_s"
            | "redo_writes_iops"
            | "redo_data_mbps"
            | "redo_data_kb_per_txn"
            | "redo_size_bytes"
            | "redo_wastage_bytes"
            | "flushes"
            | "log_switches"
            | "log_writer_switches" => *value = json!(0),
            _ => {}
        }
    }
    json!({
        "schema": SCHEMA_1, "run_id": "r", "created": "c", "origin": origin,
        "redolab_version": "0", "command": [], "target": target, "workload": workload,
        "environment": Environment::default(), "rows": [row], "validity": Validity::sound()
    })
}

fn read(json: &Value) -> Run {
    let text = json.to_string();
    Run::from(serde_json::from_str::<RunOfVersion1>(&text).expect("a run of version 1"))
}

#[test]
fn zeros_that_were_measured_stay() {
    let run = read(&old("measured"));
    assert_eq!(run.schema, SCHEMA);
    let (row, redo) = (&run.rows[0], run.rows[0].redo());
    assert_eq!((row.commits, row.elapsed_s), (Some(0), Some(0.0)));
    assert_eq!((redo.flushes, redo.redo_data_mbps), (Some(0), Some(0.0)));
    assert!(row.commit_latency.is_some() && row.commit_path.is_some());
    assert_eq!((row.threads, &row.device), (None, &None));
    let log = run.target.redo_log().expect("a redo log");
    assert_eq!((log.log_groups, log.seal_bytes), (3, 4096));
    assert_eq!(log.log_writer.as_deref(), Some("inline"));
    assert_eq!(
        (&log.log_file_sync, &log.io, log.io_depth),
        (&None, &None, None)
    );
    let load = run.workload.redo().expect("a redo workload");
    assert_eq!(
        (load.seed, load.time_s, &load.commit_api),
        (7, Some(1.5), &None)
    );
    assert!(load.commit_write.is_empty());
}

/// Every name that the importer of version 1 could list, one at a time and all together.
#[test]
fn every_listed_figure_becomes_unknown_and_no_other() {
    let names = [
        "commit_throughput_tps",
        "commit_latency_ms",
        "redo_blocks_per_s",
        "redo_writes_iops",
        "redo_synch_writes_iops",
        "redo_data_mbps",
        "redo_data_kb_per_txn",
        "elapsed_s",
        "redo_size_bytes",
        "commits",
        "elapsed_ns",
        "commit_latency",
        "commits_per_write",
        "commit_path",
        "redo_wastage_bytes",
        "flushes",
        "log_switches",
        "log_writer_switches",
        "threads",
    ];
    let plain = old("imported");
    let before = serde_json::to_value(&read(&plain).rows[0]).expect("a row is JSON");
    for name in names {
        let mut listed = plain.clone();
        listed["rows"][0]["not_measured"] = json!([name]);
        let after = serde_json::to_value(&read(&listed).rows[0]).expect("a row is JSON");
        assert!(after[name].is_null(), "{name}");
        for (key, value) in after.as_object().expect("an object") {
            assert!(key == name || *value == before[key], "{name} changes {key}");
        }
    }
    let mut listed = plain;
    listed["rows"][0]["not_measured"] = json!(names);
    let row = &read(&listed).rows[0];
    assert_eq!((&row.redo, row.commits), (&None, None));
}

#[test]
fn a_run_that_ended_early_and_an_import_have_no_redo_log() {
    let mut early = old("measured");
    early["target"]["log_groups"] = json!(0);
    assert_eq!(read(&early).target.facts, TargetFacts::Unknown);
    let mut import = old("imported");
    let source = json!({
        "file": "a", "kind": "oracle-trace", "packing": "", "bytes": 1, "lines": 1, "facts": []
    });
    import["imported"] = json!({"sources": [source, source], "tables": [], "series": []});
    let run = read(&import);
    let evidence = vec!["oracle-trace".to_owned()];
    assert_eq!(
        run.target.facts,
        TargetFacts::Imported(ImportedFacts { evidence })
    );
    assert_eq!(run.workload.names(), ["LGWR-LAT1"]);
    assert_eq!(run.workload.redo(), None);
}
