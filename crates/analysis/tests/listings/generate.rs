//! Clean evidence with known answers, from a seed: figures that fit each other within their digits.

use std::fmt::Write as _;

/// A small generator of numbers, so that a seed always gives the same table.
pub struct Seeded(pub u64);

impl Seeded {
    /// The next number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number between two.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// Digits in groups of three.
pub fn grouped(n: f64) -> String {
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

pub const SWEEP: &str = "Run\tTest\tWorkload\tNodes\tJobs\tCPU busy [%]\tCPU user [%]\tCPU sys [%]\t\
    CPU idle [%]\tCPU iow [%]\tCommit throughput [tps]\tCommit latency [ms]\tREDO blocks [rbps]\t\
    REDO writes [IOPS]\tREDO syn writes [IOPS]\tREDO data [MBps]\tREDO data [kBpt]\tLogFile sync [ms]\t\
    FlCache write [%]\tElapsed time [s]";

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

fn sweep(r: &mut Seeded) -> String {
    let mut out = String::new();
    for platform in ["North One", "South Two"] {
        let _ = writeln!(out, "{platform}\n2020\n\n{SWEEP}");
        let (kb, peak) = (r.between(1.5, 200.0), r.between(2e3, 2e5));
        let (half, inside) = (r.between(5.0, 40.0), r.between(0.85, 0.95));
        for (i, jobs) in [2.0, 8.0, 16.0, 32.0, 64.0].into_iter().enumerate() {
            let tps = (peak * jobs / (jobs + half)).round();
            let block = r.between(440.0, 495.0);
            out += &sweep_line(
                i as u32 + 1,
                "STEADY",
                jobs,
                tps,
                (kb * 100.0).round() / 100.0,
                inside,
                block,
            );
            out.push('\n');
        }
        out.push('\n');
    }
    out
}

/// A report: window in minutes, redo in MB a second, waits and mean of log file sync in ms.
pub fn report(minutes: f64, mb: f64, waits: f64, mean_ms: f64, r: &mut Seeded) -> String {
    let seconds = 60.0 * minutes;
    let sync = waits * mean_ms / 1000.0;
    let db = sync + r.between(0.5, 2.0) * sync + 1000.0;
    let cpu = db - sync;
    let volume = mb * seconds;
    let shares = [
        r.between(50.0, 60.0),
        r.between(20.0, 30.0),
        r.between(5.0, 9.0),
    ]
    .map(|s| (s * 10.0).round() / 10.0);
    let last = 100.0 - shares.iter().sum::<f64>();
    format!(
        "WORKLOAD REPOSITORY report for\n\n   Elapsed:  {minutes:.2} (mins)\n\n\
         Event                                 Waits     Time(s)   (ms)   time Wait Class\n\
         ------------------------------ ------------ ----------- ------ ------ ----------\n\
         DB CPU                         {:>12} {:>11} {:>6} {:>6.1}\n\
         log file sync                  {:>12} {:>11} {:>6.2} {:>6.1} Commit\n\n\
         Event                      Waits  <1ms  <2ms  <4ms  >4ms\n\
         -------------------------- ----- ----- ----- ----- -----\n\
         log file sync              {:>5} {:>5.1} {:>5.1} {:>5.1} {last:>5.1}\n\n\
         Function Name   Writes: Data Reqs per sec Data per sec\n\
         --------------- ------------ ------------ ------------\n\
         LGWR            {:>11.0}M {:>12.2} {mb:>11.3}M\n\n",
        "",
        grouped(cpu),
        "",
        100.0 * cpu / db,
        grouped(waits),
        grouped(sync),
        mean_ms,
        100.0 * sync / db,
        "1K",
        shares[0],
        shares[1],
        shares[2],
        volume,
        mb * 40.0,
    )
    .replace("(ms)   time", "Avg(ms) %DBtime")
    .replace(
        "Waits     Time(s)   Avg(ms) %DBtime Wait Class",
        "Waits     Time(s) Avg(ms) %DBtime Wait Class",
    )
}

fn iostat(r: &mut Seeded) -> String {
    let mut out =
        "Device            w/s     wMB/s     r/s  w_await r_await aqu-sz  %util\n".to_owned();
    for i in 0..12 {
        let (w, rd) = (r.between(10.0, 20_000.0), r.between(0.0, 500.0));
        let (wa, ra) = (r.between(0.05, 20.0), r.between(0.05, 9.0));
        let (wa, ra) = ((wa * 100.0).round() / 100.0, (ra * 100.0).round() / 100.0);
        let queue = (w * wa + rd * ra) / 1000.0 * r.between(0.92, 1.08);
        let _ = writeln!(
            out,
            "sd{i} {w:.2} {:.2} {rd:.2} {wa:.2} {ra:.2} {queue:.2} 33.00",
            w / 100.0
        );
    }
    out
}

fn outliers(r: &mut Seeded) -> String {
    let mut out = "   IO_SIZE IO_LATENCY  TIMESTAMP\n---------- ---------- ----------\n".to_owned();
    let mut at = 1_500_000_000.0;
    for _ in 0..20 {
        at += r.between(1.0, 900.0);
        let _ = writeln!(
            out,
            "{:>10.0} {:>10.0} {at:>10.0}",
            r.between(4.0, 400.0),
            r.between(500.0, 3000.0)
        );
    }
    out
}

fn metrics(r: &mut Seeded) -> String {
    let (flash, disk) = (r.between(1e6, 9e6), r.between(1e6, 9e7));
    let grown = r.between(1.01, 1.2);
    let mut out = String::new();
    for by in [1.0, grown] {
        let values = [("FL_DISK_FIRST", disk), ("FL_FLASH_FIRST", flash)];
        for (name, value) in values {
            let _ = writeln!(out, "{name} FLASHLOG {} IO requests", grouped(value * by));
        }
    }
    out
}

/// A t test of two samples of `n` with these means and standard deviations, as R prints it.
pub fn t_test(n: f64, x: f64, y: f64, sx: f64, sy: f64) -> String {
    let (vx, vy) = (sx * sx / n, sy * sy / n);
    let error = (vx + vy).sqrt();
    let t = (x - y) / error;
    let df = (vx + vy).powi(2) / ((vx * vx + vy * vy) / (n - 1.0));
    let z = 1.959_964_f64;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * df * df);
    let quantile = z + (z.powi(3) + z) / (4.0 * df) + second;
    format!(
        "data:  a and b\nt = {t:.4}, df = {df:.2}, p-value < 2.2e-16\n95 percent confidence interval:\n\
         {:.6} {:.6}\nmean of x mean of y\n{x:.4} {y:.4}\n",
        x - y - quantile * error,
        x - y + quantile * error
    )
}

fn summaries(r: &mut Seeded) -> String {
    let mut out = String::new();
    for name in ["a_us", "b_us"] {
        let q1 = r.between(50.0, 400.0);
        let rest = [q1 * 1.1, q1 * 1.2, q1 * 1.4, q1 * r.between(20.0, 900.0)];
        let _ = write!(
            out,
            "> summary({name})\n   Min. 1st Qu.  Median    Mean 3rd Qu.    Max.\n{:.1} {q1:.1}",
            q1 / 3.0
        );
        rest.iter().for_each(|v| out += &format!(" {v:.1}"));
        out.push('\n');
    }
    let (y, n) = (r.between(100.0, 900.0), r.between(200.0, 900.0).round());
    out + &t_test(n, y * 1.3, y, y * 0.4, y * 0.5)
}

fn fio(r: &mut Seeded) -> String {
    let counts = [
        r.between(1e3, 9e3),
        r.between(10.0, 99.0),
        r.between(1.0, 9.0),
    ]
    .map(|c| c.round() as u64);
    let all: u64 = counts.iter().sum();
    format!(
        "{{\"fio version\": \"fio-3.30\", \"jobs\": [{{\"jobname\": \"j\", \"write\": {{\"iops\": 9.5, \
         \"total_ios\": {all}, \"clat_ns\": {{\"max\": 2500000, \"mean\": 9.5, \"N\": {all}, \"bins\": \
         {{\"1000\": {}, \"50000\": {}, \"2000000\": {}}}}}}}}}]}}",
        counts[0], counts[1], counts[2]
    )
}

fn workers(r: &mut Seeded) -> String {
    let mut out = "Log Writer Worker Over  1ms Over 10ms Over 20ms Max Elapsed\n".to_owned();
    for i in 0..4 {
        let a = r.between(0.5, 8.0);
        let _ = writeln!(
            out,
            "LG0{i} {a:.2}% {:.2}% 0.00% {:.2}ms",
            a / 90.0,
            r.between(11.0, 19.0)
        );
    }
    out
}

/// Clean tables of every format, by a seed.
pub fn clean(seed: u64) -> Vec<String> {
    let mut r = Seeded(seed);
    let minutes = r.between(5.0, 300.0);
    let minutes = (minutes * 100.0).round() / 100.0;
    let (mb, waits) = (r.between(20.0, 400.0), r.between(1e6, 9e7).round());
    let mean = r.between(0.3, 9.0);
    vec![
        sweep(&mut r),
        report(minutes, mb, waits, mean, &mut r),
        iostat(&mut r),
        outliers(&mut r),
        metrics(&mut r),
        summaries(&mut r),
        fio(&mut r),
        workers(&mut r),
    ]
}
