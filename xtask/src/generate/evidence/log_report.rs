//! AWR reports of a healthy log, or of one with a fault: commits are as slow as what they wait for
//! makes them, and the figures of a report follow from that.

use super::report::{Section, grid, html};
use super::{Seeded, grouped};

/// Begin, name and place of the reports of one instance.
const LEAD: &str = "WORKLOAD REPOSITORY report for\n\n\
    DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC\n\
    ------------ ----------- ------------ -------- --------------- ----------- ---\n\
    PAY            777000111 pay1                1 02-Mar-25 06:10 19.0.0.0.0  NO\n\n\
    \x20             Snap Id      Snap Time      Sessions Curs/Sess\n\
    \x20           --------- ------------------- -------- ---------\n";

/// What an instance did in an hour, and what its commits waited for.
#[derive(Clone, Debug)]
pub struct LogReport {
    /// Hours since the first report.
    pub hour: u64,
    /// Log writes.
    pub writes: f64,
    /// Commits of each.
    pub per_write: f64,
    /// Mean log write, ms.
    pub write_ms: f64,
    /// Log writes a commit waits for: the rest of one, and its own.
    pub share: f64,
    /// Time of the log writer beside its waits, ms of a log write.
    pub own_ms: f64,
    /// An event for which the log writer waits while it writes, ms of a log write.
    pub beside: Option<(&'static str, f64)>,
    /// An event for which it waits after each write, ms.
    pub behind: Option<(&'static str, f64)>,
    /// How late a session wakes up, ms.
    pub wake_ms: f64,
    /// What no figure of the report shows, ms of a commit.
    pub hidden_ms: f64,
    /// Other waits of sessions: waits, and their time as a part of that of commits.
    pub sessions: Vec<(&'static str, f64, f64)>,
    /// Mean of reads of data files, ms.
    pub read_ms: f64,
    /// Part of DB time in which sessions wait for these events.
    pub waiting: f64,
    /// Idle processors, percent.
    pub idle: f64,
}

impl LogReport {
    /// A log whose writes take 0.15 to 2 ms, of an instance with processors to spare.
    pub fn healthy(r: &mut Seeded) -> LogReport {
        let mut sessions = Vec::new();
        for (name, most) in [
            ("log file switch completion", 0.01),
            ("log buffer space", 0.004),
        ] {
            if r.unit() < 0.5 {
                sessions.push((name, r.printed(1.0, 40.0, 0), r.between(0.0005, most)));
            }
        }
        let write_ms = 0.15 * r.between(0.0, 2.6).exp();
        // A standby that is quicker than the log's own device costs nothing.
        let beside =
            (r.unit() < 0.2).then(|| ("SYNC Remote Write", write_ms * r.between(0.3, 0.9)));
        LogReport {
            hour: 0,
            writes: r.between(10.0, 14.0).exp().round(),
            per_write: r.between(1.0, 5.0),
            write_ms,
            share: r.between(1.1, 1.9),
            own_ms: r.between(0.01, 0.06),
            beside,
            behind: None,
            wake_ms: r.between(0.01, 0.08),
            hidden_ms: 0.0,
            sessions,
            read_ms: 0.6,
            waiting: r.between(0.3, 0.9),
            idle: r.printed(15.0, 92.0, 1),
        }
    }

    /// Log writes, reads and writes of data files that take this many ms.
    pub fn slow_storage(&mut self, ms: f64) {
        (self.write_ms, self.read_ms) = (ms, ms * 1.1);
        let waits = 20_000.0;
        let part = waits * ms / (self.commits() * self.sync_ms());
        self.sessions.push(("direct path write", waits, part));
    }

    /// Mean log file sync, ms.
    fn sync_ms(&self) -> f64 {
        let remote = self.beside.map_or(0.0, |(_, ms)| ms);
        let behind = self.behind.map_or(0.0, |(_, ms)| ms);
        let write = self.write_ms.max(remote) + self.own_ms + behind;
        self.share * write + self.wake_ms + self.hidden_ms
    }

    fn commits(&self) -> f64 {
        (self.writes * self.per_write).round()
    }

    /// Waits of sessions: name, number, ms together.
    fn foreground(&self) -> Vec<(&'static str, f64, f64)> {
        let sync_ms = self.commits() * self.sync_ms();
        let mut all = vec![("log file sync", self.commits(), sync_ms)];
        let each = self.sessions.iter();
        all.extend(each.map(|(name, waits, part)| (*name, *waits, sync_ms * part)));
        all.push((
            "db file sequential read",
            self.writes,
            self.writes * self.read_ms,
        ));
        all
    }

    /// DB time, ms.
    fn db_ms(&self) -> f64 {
        self.foreground().iter().map(|(.., ms)| ms).sum::<f64>() / self.waiting
    }

    fn background(&self) -> Vec<(&'static str, f64, f64)> {
        let own = ("log file parallel write", self.write_ms);
        let others = [self.beside, self.behind].into_iter().flatten();
        let all = [own].into_iter().chain(others);
        all.map(|(name, ms)| (name, self.writes, self.writes * ms))
            .collect()
    }

    fn events(&self, title: &'static str, share: &'static str) -> Section {
        let (all, whole) = match title.starts_with("Fore") {
            true => (self.foreground(), self.db_ms()),
            false => (self.background(), self.db_ms() / 3.0),
        };
        let row = |(name, waits, ms): (&str, f64, f64)| {
            vec![
                name.to_owned(),
                grouped(waits),
                "0".to_owned(),
                grouped(ms / 1e3),
                format!("{:.2}", ms / waits),
                format!("{:.1}", waits / self.commits()),
                format!("{:.1}", 100.0 * ms / whole),
            ]
        };
        Section {
            title,
            headings: vec![
                "Event",
                "Waits",
                "%Time\n-outs",
                "Total Wait\nTime (s)",
                "Avg\nwait\n(ms)",
                "Waits\n/txn",
                share,
            ],
            rows: all.into_iter().map(row).collect(),
        }
    }

    fn statistics(&self) -> Section {
        let commits = self.commits();
        let write_time = self.writes * (self.write_ms + self.own_ms);
        let each = [
            ("redo size", commits * 4_096.0),
            (
                "redo synch time overhead (usec)",
                commits * self.wake_ms * 1e3,
            ),
            ("redo wastage", self.writes * 250.0),
            ("redo write time", (write_time + self.waited()) / 10.0),
            ("redo writes", self.writes),
            ("user commits", commits),
        ];
        let row = |(name, total): (&str, f64)| {
            vec![
                name.to_owned(),
                grouped(total),
                format!("{:.1}", total / 3_600.0),
                format!("{:.1}", total / commits),
            ]
        };
        Section {
            title: "Instance Activity Stats",
            headings: vec!["Statistic", "Total", "per Second", "per Trans"],
            rows: each.map(row).to_vec(),
        }
    }

    /// What the log writer waited for beside its writes, ms.
    fn waited(&self) -> f64 {
        let remote = self
            .beside
            .map_or(0.0, |(_, ms)| (ms - self.write_ms).max(0.0));
        self.writes * (remote + self.behind.map_or(0.0, |(_, ms)| ms))
    }

    fn sections(&self) -> [Section; 3] {
        [
            self.events("Foreground Wait Events", "% DB\ntime"),
            self.events("Background Wait Events", "% bg\ntime"),
            self.statistics(),
        ]
    }

    /// The report as text.
    pub fn text(&self) -> String {
        let snap = |at: u64| format!("{:02}-Mar-25 {:02}:00:00", 3 + at / 24, at % 24);
        let mut out = format!(
            "{LEAD}Begin Snap: {:9} {}        31      11.0\n  End Snap: {:9} {}        30       9.1\n   \
             Elapsed:               60.00 (mins)\n   DB Time:  {:>19.2} (mins)\n\n\
             Host CPU (CPUs:    8 Cores:    8 Sockets:    8)\n\
             ~~~~~~~~         Load Average\n\
             \x20              Begin       End     %User   %System      %WIO     %Idle\n\
             \x20          --------- --------- --------- --------- --------- ---------\n\
             \x20               0.24      0.20{:>10.1}       0.0       0.0{:>10.1}\n\n",
            100 + self.hour,
            snap(self.hour),
            101 + self.hour,
            snap(self.hour + 1),
            self.db_ms() / 60e3,
            100.0 - self.idle,
            self.idle
        );
        for section in self.sections() {
            out += &format!("{}  DB/Inst: PAY/pay1  Snaps: 100-101\n\n", section.title);
            out += &grid(&section);
            out += "          -------------------------------------------------------------\n\n";
        }
        out + "End of Report\n"
    }

    /// The report as HTML.
    pub fn html(&self) -> String {
        html(60.0, &self.sections(), false)
    }
}

/// Reports of a day, whose load goes up and down; `of` changes an hour.
pub fn day(r: &mut Seeded, of: impl Fn(u64, &mut LogReport)) -> Vec<String> {
    let usual = LogReport::healthy(r);
    let each = (0..24).map(|hour| {
        let mut report = LogReport {
            hour,
            writes: (usual.writes * r.between(0.4, 1.6)).round(),
            write_ms: usual.write_ms * r.between(0.9, 1.1),
            share: usual.share * r.between(0.95, 1.05),
            idle: r.printed(20.0, 90.0, 1),
            ..usual.clone()
        };
        of(hour, &mut report);
        report.text()
    });
    each.collect()
}
