//! Sweeps of jobs and shares of workers, as study 003 and study 000 printed theirs.

use super::{Fact, Seeded, grouped};
use std::fmt::Write as _;

/// The heading of a sweep.
pub const SWEEP: &str = "Run\tTest\tWorkload\tNodes\tJobs\tCPU busy [%]\tCPU user [%]\tCPU sys [%]\t\
    CPU idle [%]\tCPU iow [%]\tCommit throughput [tps]\tCommit latency [ms]\tREDO blocks [rbps]\t\
    REDO writes [IOPS]\tREDO syn writes [IOPS]\tREDO data [MBps]\tREDO data [kBpt]\tLogFile sync [ms]\t\
    FlCache write [%]\tElapsed time [s]";
/// Jobs of a sweep.
pub const JOBS: [f64; 5] = [2.0, 8.0, 16.0, 32.0, 64.0];

/// A line of a sweep: jobs, transactions a second, kB a transaction, share of the latency that is
/// measured inside the sessions, bytes of redo in a block.
pub fn sweep_line(
    test: u32,
    workload: &str,
    jobs: f64,
    tps: f64,
    kb: f64,
    inside: f64,
    block: f64,
) -> String {
    let latency = 1000.0 * jobs / tps * inside;
    let mb = (kb * tps / 1024.0).round();
    format!(
        "\t{test}\t{workload}\t2\t{jobs}\t10\t8\t2\t90\t0\t{}\t{latency:.3}\t{}\t{}\t{}\t{}\t{kb:.2}\t{:.3}\t0.00\t301",
        grouped(tps),
        grouped(kb * 1024.0 * tps / block),
        grouped(tps / 3.0),
        grouped(tps),
        grouped(mb),
        latency * 0.6
    )
}

/// A platform's sweep.
pub struct Platform<'a> {
    /// Its name.
    pub name: &'a str,
    /// Transactions a second by number of jobs.
    pub tps: Vec<f64>,
    /// Redo of a transaction, of two decimals.
    pub kb: f64,
    /// Share of a transaction that is measured inside the sessions.
    pub inside: f64,
    /// Bytes of redo in a block.
    pub block: f64,
}

impl Platform<'_> {
    /// As it is printed.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n2020\n\n{SWEEP}\n", self.name);
        for (i, (jobs, tps)) in JOBS.iter().zip(&self.tps).enumerate() {
            let test = i as u32 + 1;
            out += &sweep_line(
                test,
                "STEADY",
                *jobs,
                *tps,
                self.kb,
                self.inside,
                self.block,
            );
            out.push('\n');
        }
        out + "\n"
    }
}

/// A platform that grows with the jobs and contradicts nothing.
pub fn steady<'a>(name: &'a str, r: &mut Seeded) -> Platform<'a> {
    let (peak, half) = (r.between(4e3, 2e5), r.between(5.0, 40.0));
    Platform {
        name,
        tps: (JOBS.iter().map(|j| (peak * j / (j + half)).round())).collect(),
        kb: r.printed(1.5, 200.0, 2),
        inside: r.between(0.85, 0.95),
        block: r.between(440.0, 495.0),
    }
}

/// Two platforms.
pub fn clean(r: &mut Seeded) -> (String, Vec<Fact>) {
    let both = [steady("North One", r), steady("South Two", r)];
    let tps: Vec<f64> = both.iter().flat_map(|p| p.tps.clone()).collect();
    let jobs = [JOBS, JOBS].concat();
    let facts = vec![
        Fact::of("published_runs", "commit_throughput_tps", &tps),
        Fact::of("published_runs", "jobs", &jobs),
    ];
    (both.iter().map(Platform::text).collect(), facts)
}

/// Shares of log writer workers over three times.
pub fn workers(r: &mut Seeded) -> (String, Vec<Fact>) {
    let mut out = "Log Writer Worker Over  1ms Over 10ms Over 20ms Max Elapsed\n".to_owned();
    let (mut over, mut longest) = (Vec::new(), Vec::new());
    for i in 0..4 {
        over.push(r.printed(0.5, 8.0, 2));
        longest.push(r.printed(11.0, 19.0, 2));
        let a = over[i];
        let _ = writeln!(
            out,
            "LG0{i} {a:.2}% {:.2}% 0.00% {:.2}ms",
            a / 90.0,
            longest[i]
        );
    }
    let facts = vec![
        Fact::of("worker_latency_published", "over_1ms_pct", &over),
        Fact::of("worker_latency_published", "max_ms", &longest),
    ];
    (out, facts)
}
