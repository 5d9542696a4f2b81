//! Cases of a slow or healthy log writer, as AWR reports print them, and what a diagnosis has to
//! conclude: the keys. They were written before the rules.

/// An event of a report: its name, waits, and seconds.
pub type Event = (&'static str, u64, f64);

/// One report over ten minutes, and the findings with a weight above `info` that it deserves.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: &'static str,
    /// `log file parallel write`: waits, seconds.
    pub write: (u64, f64),
    /// `log file sync`: waits, seconds.
    pub sync: (u64, f64),
    /// Other foreground events.
    pub foreground: &'static [Event],
    /// Other background events.
    pub background: &'static [Event],
    /// Statistics of the instance, with their totals.
    pub statistics: &'static [(&'static str, u64)],
    /// Idle processors in percent.
    pub idle_pct: f64,
    /// Ids of findings above `info`, in alphabetical order.
    pub key: &'static [&'static str],
}

const HEALTHY: Case = Case {
    name: "healthy",
    write: (70_000, 28.0),
    sync: (76_800, 60.0),
    foreground: &[("db file sequential read", 1_412, 2.0)],
    background: &[("db file parallel write", 20_000, 9.0)],
    statistics: &[
        ("redo size", 629_145_600),
        ("redo wastage", 14_000_000),
        ("redo writes", 70_000),
        ("user commits", 76_800),
    ],
    idle_pct: 80.0,
    key: &[],
};

/// All cases.
pub const CASES: &[Case] = &[
    HEALTHY,
    Case {
        name: "healthy flash",
        write: (900_000, 72.0),
        sync: (1_000_000, 150.0),
        ..HEALTHY
    },
    Case {
        name: "healthy, grouped",
        write: (50_000, 45.0),
        sync: (400_000, 700.0),
        ..HEALTHY
    },
    Case {
        name: "healthy, one session",
        write: (70_000, 50.0),
        sync: (70_000, 56.0),
        ..HEALTHY
    },
    Case {
        name: "healthy, a log switch",
        foreground: &[("log file switch completion", 3, 0.1)],
        ..HEALTHY
    },
    Case {
        name: "healthy, much padding",
        statistics: &[
            ("redo size", 140_000_000),
            ("redo wastage", 160_000_000),
            ("redo writes", 70_000),
            ("user commits", 76_800),
        ],
        ..HEALTHY
    },
    Case {
        name: "I/O bound",
        write: (40_000, 480.0),
        sync: (76_800, 1_690.0),
        key: &["latency.write_mean"],
        ..HEALTHY
    },
    Case {
        name: "I/O is the problem",
        write: (19_000, 570.0),
        sync: (76_800, 4_600.0),
        key: &["latency.write_mean"],
        ..HEALTHY
    },
    Case {
        name: "no processor for the log writer",
        write: (70_000, 35.0),
        sync: (76_800, 460.0),
        idle_pct: 2.0,
        key: &["diagnosis.commit_wait", "diagnosis.processors"],
        ..HEALTHY
    },
    Case {
        name: "scheduling, unexplained",
        write: (70_000, 35.0),
        sync: (76_800, 460.0),
        key: &["diagnosis.commit_wait"],
        ..HEALTHY
    },
    Case {
        name: "busy processors, quick commits",
        idle_pct: 1.0,
        key: &["diagnosis.processors"],
        ..HEALTHY
    },
    Case {
        name: "a standby",
        write: (70_000, 35.0),
        sync: (76_800, 480.0),
        background: &[("SYNC Remote Write", 70_000, 224.0)],
        key: &["diagnosis.remote_write"],
        ..HEALTHY
    },
    Case {
        name: "a standby explains a part only",
        write: (70_000, 35.0),
        sync: (76_800, 1_500.0),
        background: &[("SYNC Remote Write", 70_000, 224.0)],
        key: &["diagnosis.commit_wait", "diagnosis.remote_write"],
        ..HEALTHY
    },
    Case {
        name: "workers wait for their turn",
        write: (70_000, 35.0),
        sync: (76_800, 420.0),
        background: &[("LGWR worker group ordering", 60_000, 180.0)],
        key: &["diagnosis.worker_ordering"],
        ..HEALTHY
    },
    Case {
        name: "RAC broadcast",
        write: (70_000, 35.0),
        sync: (76_800, 420.0),
        background: &[
            ("gcs log flush sync", 65_000, 170.0),
            ("LGWR wait for redo copy", 900, 0.2),
        ],
        foreground: &[("log file sync: SCN ordering", 20, 0.1)],
        key: &["diagnosis.commit_wait"],
        ..HEALTHY
    },
    Case {
        name: "RAC broadcast, by its own event",
        write: (70_000, 35.0),
        sync: (76_800, 420.0),
        background: &[("wait for scn ack", 70_000, 190.0)],
        key: &["diagnosis.broadcast"],
        ..HEALTHY
    },
    Case {
        name: "checkpoint incomplete",
        foreground: &[("log file switch (checkpoint incomplete)", 42, 130.0)],
        key: &["diagnosis.log_switches"],
        ..HEALTHY
    },
    Case {
        name: "the archiver is behind",
        foreground: &[("log file switch (archiving needed)", 12, 300.0)],
        key: &["diagnosis.log_switches"],
        ..HEALTHY
    },
    Case {
        name: "no room in the log buffer",
        foreground: &[("log buffer space", 600, 25.0)],
        key: &["diagnosis.log_buffer"],
        ..HEALTHY
    },
    Case {
        name: "sessions wake up late",
        write: (70_000, 35.0),
        sync: (76_800, 384.0),
        statistics: &[
            ("redo size", 629_145_600),
            ("redo writes", 70_000),
            ("user commits", 76_800),
            ("redo synch writes", 76_800),
            ("redo synch time overhead (usec)", 300_000_000),
        ],
        key: &["diagnosis.wake_up"],
        ..HEALTHY
    },
    Case {
        name: "the log writer itself",
        write: (70_000, 35.0),
        sync: (76_800, 420.0),
        // Hundredths of a second.
        statistics: &[
            ("redo size", 629_145_600),
            ("redo writes", 70_000),
            ("user commits", 76_800),
            ("redo write time", 21_000),
        ],
        key: &["diagnosis.log_writer_cpu"],
        ..HEALTHY
    },
    Case {
        name: "slow device and busy processors",
        write: (40_000, 320.0),
        sync: (76_800, 1_150.0),
        idle_pct: 3.0,
        key: &["diagnosis.processors", "latency.write_mean"],
        ..HEALTHY
    },
];
