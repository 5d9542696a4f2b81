//! Programs that make load, whose output is not read.

use super::{FIO, LOG, Tool};

pub(super) const BENCHMARKS: &[Tool] = &[
    (
        "output of ioping",
        "import fio's JSON instead",
        &[
            &["request=", ">>> "],
            &["request=", "<<< "],
            &[" requests completed in ", "iops"],
        ],
    ),
    (
        "output of IOzone",
        FIO,
        &[&["reclen", "rewrite"], &["iozone "]],
    ),
    (
        "output of CrystalDiskMark",
        FIO,
        &[
            &["[Read]", "(Q=", "T="],
            &["RND4K", "SEQ1M"],
            &["4KiB (Q="],
            &["CrystalDiskMark"],
        ],
    ),
    (
        "output of filebench",
        FIO,
        &[&["IO Summary:", "ops/s"], &["Filebench Version"]],
    ),
    ("output of fs_mark", FIO, &[&["fs_mark "]]),
    (
        "output of DBMS_RESOURCE_MANAGER.CALIBRATE_IO",
        FIO,
        &[&["max_iops", "max_mbps"]],
    ),
    (
        "output of SLOB",
        "import the AWR report that SLOB made of the run (awr.txt)",
        &[&["SLOB 2"], &["UPDATE_PCT", "RUN_TIME", "SCALE"]],
    ),
    (
        "output of Swingbench",
        "make an AWR report of the same time with awrrpt.sql",
        &[
            &["Swingbench"],
            &["Dominic Giles"],
            &["Users", "TPM", "TPS"],
        ],
    ),
    (
        "output of db_bench (RocksDB, LevelDB)",
        LOG,
        &[&["micros/op", "ops/sec"], &["fillseq", "micros/op"]],
    ),
    (
        "output of YCSB",
        LOG,
        &[
            &["[INSERT], "],
            &["current ops/sec", "est completion"],
            &["[CLEANUP], "],
        ],
    ),
    (
        "output of memtier_benchmark",
        LOG,
        &[&["ALL STATS", "Ops/sec"], &["[RUN #1"]],
    ),
    (
        "output of redis-benchmark",
        LOG,
        &[
            &["requests completed in", "parallel clients"],
            &["requests per second, p50="],
        ],
    ),
    (
        "output of k6",
        LOG,
        &[
            &["http_req_duration"],
            &["iteration_duration"],
            &["vus_max"],
        ],
    ),
    ("output of wrk", LOG, &[&["Thread Stats", "Req/Sec"]]),
    (
        "output of ApacheBench",
        LOG,
        &[
            &["This is ApacheBench"],
            &["Requests per second:", "Time per request:"],
        ],
    ),
    (
        "output of JMeter",
        LOG,
        &[
            &["summary +", "Avg:"],
            &["summary =", "Avg:"],
            &["timeStamp,elapsed,label"],
        ],
    ),
    ("output of stress-ng", LOG, &[&["stress-ng: "]]),
];
