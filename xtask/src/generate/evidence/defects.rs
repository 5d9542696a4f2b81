//! Contradictions that the consistency checks have to find, each with other figures by its seed:
//! one check, one defect, and nothing else wrong.

use super::listing::t_test;
use super::sweep::{JOBS, Platform, SWEEP, steady, sweep_line};
use super::{Generated, Seeded, grouped, iostat, listing, report};
use std::fmt::Write as _;

/// What can be planted: its name, the kind of file, and the finding that it asks for.
pub const DEFECTS: &[(&str, &str, &str)] = &[
    ("clock-column", "lgwr-outliers", "evidence.clock"),
    ("window", "awr-text", "evidence.window"),
    ("rounded-averages", "awr-text", "evidence.rounding"),
    ("average", "awr-text", "evidence.average"),
    ("shares", "awr-text", "evidence.shares"),
    ("buckets", "awr-text", "evidence.buckets"),
    ("bins", "fio-json", "evidence.buckets"),
    ("percentage", "cell-metrics", "evidence.percentage"),
    ("counter-back", "cell-metrics", "evidence.counter_back"),
    ("other-load", "cell-metrics", "evidence.other_load"),
    ("ceiling", "r-summary", "evidence.ceiling"),
    ("small-effect", "r-summary", "evidence.small_effect"),
    ("interval", "r-summary", "evidence.interval"),
    ("queue", "iostat", "evidence.queue"),
    ("response-time", "study-table", "evidence.response_time"),
    ("little", "study-table", "evidence.little"),
    ("wastage", "study-table", "evidence.wastage"),
    ("block-size", "study-table", "evidence.block_size"),
    ("knee", "study-table", "evidence.knee"),
    ("sweep-changed", "study-table", "evidence.sweep_changed"),
    ("tests-left-out", "study-table", "evidence.tests_left_out"),
    ("commit-mode", "study-table", "evidence.commit_mode"),
    ("columns", "study-table", "evidence.columns"),
    ("claim", "study-table", "evidence.claim"),
    ("claim-holds", "study-table", "evidence.claim_holds"),
    ("claim-exception", "study-table", "evidence.claim_exception"),
    ("misprint", "study-table", "evidence.misprint"),
    ("unlike", "study-table", "evidence.unlike"),
    ("cpu", "awr-text", "evidence.cpu"),
    ("load-average", "awr-text", "evidence.load_average"),
    ("thresholds", "study-table", "evidence.thresholds"),
    ("not-alike", "event-histogram", "evidence.not_alike"),
    ("change", "count-elapsed", "evidence.change"),
];

/// Evidence with one contradiction; `None` for a name that is not in [`DEFECTS`].
pub fn defective(name: &str, seed: u64) -> Option<Generated> {
    let (name, kind, finding) = DEFECTS.iter().find(|(n, ..)| *n == name)?;
    let mut r = Seeded(seed);
    let text = match *kind {
        "awr-text" => match *name {
            "buckets" | "cpu" | "load-average" => of_section(name, &mut r),
            _ => of_report(name, &mut r),
        },
        "cell-metrics" => of_cell(name, &mut r),
        "r-summary" => of_samples(name, &mut r),
        "study-table" => of_sweep(name, &mut r),
        "iostat" => queue(&mut r),
        "lgwr-outliers" => clock(&mut r),
        "fio-json" => bins(&mut r),
        "count-elapsed" => change(&mut r),
        _ => {
            // In microseconds no bound is a millisecond, and the share is not known.
            let layout = ["query", "snapshots"][r.whole(0, 2) as usize];
            let heavier = r.between(1.3, 3.0);
            listing::histogram(layout, &mut r, heavier).0
        }
    };
    Some(Generated {
        kind,
        layout: name,
        text,
        facts: Vec::new(),
        finding: Some(finding),
    })
}

fn clock(r: &mut Seeded) -> String {
    let mut out = "   IO_SIZE IO_LATENCY  TIMESTAMP\n---------- ---------- ----------\n".to_owned();
    let per_s = [10_000.0, 1000.0, 250.0, 100.0][r.whole(0, 4) as usize];
    let (began, mut at) = (1_500_000_000.0, 1_500_000_000.0 + r.printed(0.0, 9e5, 0));
    for _ in 0..r.whole(6, 40) {
        at += r.printed(60.0, 9000.0, 0);
        let ticks = (at - began) * per_s + r.between(0.0, per_s * 0.1);
        let _ = writeln!(out, "{:>10} {ticks:>10.0} {at:>10.0}", r.whole(4, 400));
    }
    out
}

fn bins(r: &mut Seeded) -> String {
    let (all, lost) = (r.whole(5000, 90_000), r.whole(100, 4000));
    format!(
        "{{\"fio version\": \"fio-3.30\", \"jobs\": [{{\"jobname\": \"j\", \"write\": {{\"iops\": 9.5, \
         \"total_ios\": {all}, \"clat_ns\": {{\"max\": 2500000, \"mean\": 9.5, \"N\": {all}, \"bins\": \
         {{\"1000\": {}, \"50000\": 40}}}}}}}}]}}\n",
        all - lost - 40
    )
}

fn queue(r: &mut Seeded) -> String {
    let mut samples: Vec<iostat::Sample> = (0..8).map(|n| iostat::sample(n, r)).collect();
    let off = r.whole(0, 8) as usize;
    let factor = r.between(2.5, 9.0);
    let sample = &mut samples[off];
    sample.writes = sample.writes.max(900.0);
    sample.write_await = sample.write_await.max(0.9);
    sample.queue = (sample.writes * sample.write_await + sample.reads * sample.read_await) / 1000.0;
    sample.queue *= if r.unit() < 0.5 { factor } else { 1.0 / factor };
    iostat::print("12", &samples)
}

/// Top events of one report behind `lead`: event, waits, seconds, printed average, share.
fn top(lines: &[(&str, f64, f64, String, f64)], lead: &str) -> String {
    let mut out = format!("Event Waits Time(s) Avg wait (ms) % DB time Wait Class\n{lead}");
    for (event, waits, seconds, average, share) in lines {
        let (waits, seconds) = (grouped(*waits), grouped(*seconds));
        let _ = writeln!(out, "{event} {waits} {seconds} {average} {share:.2} Commit");
    }
    out + "\n"
}

fn of_report(name: &str, r: &mut Seeded) -> String {
    let minutes = r.printed(20.0, 300.0, 2);
    let (mb, waits) = (r.printed(20.0, 400.0, 3), r.printed(1e6, 9e7, 0));
    let mean = r.printed(0.6, 9.0, 2);
    match name {
        "window" => {
            let text = report(minutes, mb, waits, mean, r);
            let other = minutes
                * if r.unit() < 0.5 {
                    r.between(0.3, 0.8)
                } else {
                    r.between(1.3, 4.0)
                };
            text.replace(
                &format!("{minutes:.2} (mins)"),
                &format!("{other:.2} (mins)"),
            )
        }
        "average" => {
            let text = report(minutes, mb, waits, mean, r);
            let other = mean
                * if r.unit() < 0.5 {
                    r.between(0.2, 0.8)
                } else {
                    r.between(1.25, 6.0)
                };
            text.replace(&format!(" {mean:>6.2} "), &format!(" {other:>6.2} "))
        }
        "rounded-averages" => {
            // Printed as 1 and 2 ms: the ratio is three and more.
            let (low, high) = (r.between(0.55, 0.7), r.between(2.2, 2.45));
            let line = |waits: f64, ms: f64| {
                let seconds = (waits * ms / 1000.0).round();
                top(
                    &[("log file sync", waits, seconds, format!("{ms:.0}"), 40.0)],
                    "",
                )
            };
            format!(
                "FAST\n{}SLOW\n{}",
                line(waits, low),
                line(2.0 * waits, high)
            )
        }
        _ => {
            let (cpu, share) = (r.printed(1e4, 9e4, 0), r.printed(20.0, 60.0, 2));
            let seconds = (waits * mean / 1000.0).round();
            let off = if r.unit() < 0.5 {
                r.between(0.4, 0.8)
            } else {
                r.between(1.3, 3.0)
            };
            let printed = share * seconds / cpu * off;
            let lead = format!("DB CPU {} {share:.2}\n", grouped(cpu));
            top(
                &[(
                    "log file sync",
                    waits,
                    seconds,
                    format!("{mean:.2}"),
                    printed,
                )],
                &lead,
            )
        }
    }
}

fn of_section(name: &str, r: &mut Seeded) -> String {
    match name {
        "buckets" => {
            let (a, b, c) = (
                r.printed(20.0, 50.0, 1),
                r.printed(5.0, 20.0, 1),
                r.printed(0.1, 9.0, 1),
            );
            format!(
                "Event                      Waits  <1ms  <2ms  <4ms  >4ms\n\
                 -------------------------- ----- ----- ----- ----- -----\n\
                 log file sync              {:>4}K {a:>5.1} {b:>5.1}    .0 {c:>5.1}\n",
                r.whole(2, 90)
            )
        }
        "cpu" => {
            let (user, idle) = match r.unit() < 0.5 {
                true => (r.printed(40.0, 60.0, 1), r.printed(10.0, 25.0, 1)),
                false => (r.printed(70.0, 90.0, 1), r.printed(30.0, 50.0, 1)),
            };
            format!("Host CPU\n\n10 12 {user:.1} 8.0 0.5 {idle:.1}\n")
        }
        _ => {
            let (load, user) = (r.printed(20.0, 95.0, 1), r.printed(30.0, 70.0, 1));
            let idle = 100.0 - user - 10.0;
            format!(
                "Host CPU\n\n{load:.1} {:.1} {user:.1} 10.0 0.5 {idle:.1}\n\nThe report shows a load \
                 average around {load:.0}%\n",
                load + 5.0
            )
        }
    }
}

fn of_cell(name: &str, r: &mut Seeded) -> String {
    let counter =
        |name: &str, value: f64| format!("{name} FLASHLOG {} IO requests\n", grouped(value));
    let (before, grown) = (r.printed(1e4, 9e7, 0), r.printed(2e3, 9e5, 0));
    match name {
        "percentage" => {
            let (flash, disk) = (r.whole(20, 400), r.whole(500, 4000));
            let real = 100.0 * flash as f64 / (flash + disk) as f64;
            let said = real
                * if r.unit() < 0.5 {
                    r.between(0.5, 0.85)
                } else {
                    r.between(1.15, 2.0)
                };
            let first = r.whole(1000, 9000);
            let formula = format!(
                "({}-{first})*100/({}-{first}+{disk})",
                first + flash,
                first + flash
            );
            format!(
                "{}only {said:.1}% of times {formula}\n",
                counter("FL_DISK_FIRST", before)
            )
        }
        "counter-back" => counter("FL_IO_W", before + grown) + &counter("FL_IO_W", before),
        _ => {
            // Over its life flash was first in a tenth, in the test in a third or more.
            let share = r.between(0.33, 0.9);
            let life = [("FL_DISK_FIRST", 9.0 * before), ("FL_FLASH_FIRST", before)];
            let test = [(1.0 - share) * grown, share * grown];
            let later = life
                .iter()
                .zip(test)
                .map(|((n, v), more)| counter(n, v + more));
            let first: String = life.iter().map(|(n, v)| counter(n, *v)).collect();
            first + &later.collect::<String>()
        }
    }
}

fn of_samples(name: &str, r: &mut Seeded) -> String {
    match name {
        "ceiling" => {
            let round = [100.0, 200.0, 400.0, 5000.0, 8000.0][r.whole(0, 5) as usize];
            let head = "   Min. 1st Qu.  Median    Mean 3rd Qu.    Max.\n";
            let sample = |name: &str, max: f64| {
                let parts = [0.1, 0.2, 0.3, 0.32, 0.4].map(|p| format!("{:.2}", p * round));
                format!("> summary({name})\n{head}{} {max:.2}\n", parts.join(" "))
            };
            let near = |r: &mut Seeded| round * (1.0 - r.between(0.0001, 0.0008));
            let (a, b) = (near(r), near(r));
            sample("a_ms", a) + &sample("b_ms", b)
        }
        "small-effect" => {
            let n = 1e5 * r.whole(2, 9) as f64;
            let (y, effect) = (r.printed(100.0, 900.0, 4), r.between(0.03, 0.15));
            let (sx, sy) = (y * r.between(0.2, 0.3), y * r.between(0.31, 0.4));
            let x = y + effect * ((sx * sx + sy * sy) / 2.0).sqrt();
            t_test(n, x, y, sx, sy)
        }
        _ => {
            let (y, n) = (r.printed(100.0, 900.0, 4), r.between(200.0, 900.0).round());
            let good = t_test(n, y * 1.3, y, y * 0.4, y * 0.5);
            let line = good.lines().nth(3).unwrap_or("").to_owned();
            let off = r.between(1.1, 2.0);
            let ends: Vec<String> = line
                .split_whitespace()
                .filter_map(|w| w.parse::<f64>().ok())
                .map(|v| format!("{:.6}", v * off))
                .collect();
            good.replace(&line, &ends.join(" "))
        }
    }
}

fn of_sweep(name: &str, r: &mut Seeded) -> String {
    let mut one = steady("Rack one", r);
    match name {
        "response-time" => one.inside = 1.0,
        "little" => one.inside = r.between(1.1, 1.8),
        // Twice and more what a block of 512 bytes holds, and half of what one of 2048 does.
        "wastage" => one.block = r.between(1030.0, 1400.0),
        "block-size" => one.block = r.between(4200.0, 9000.0),
        "knee" => {
            let peak = one.tps[1];
            (2..5).for_each(|i| one.tps[i] = (peak * (1.0 - 0.01 * i as f64)).round());
        }
        "sweep-changed" => {
            // Twice the jobs, and more than twice the throughput.
            one.tps[3] = (one.tps[2] * 2.0 * r.between(1.05, 1.4)).round();
            one.tps[4] = (one.tps[3] * r.between(1.1, 1.9)).round();
        }
        "tests-left-out" => {
            // Tests 1, 2, 4, 5 and 6.
            let text = one.text().replace("\t5\tSTEADY", "\t6\tSTEADY");
            let text = text.replace("\t4\tSTEADY", "\t5\tSTEADY");
            return text.replace("\t3\tSTEADY", "\t4\tSTEADY");
        }
        "commit-mode" => {
            return format!(
                "STEADY\t[MBps]\tuses COMMIT WRITE NOWAIT BATCH.\n\n{}",
                one.text()
            );
        }
        "columns" => {
            one.kb = one.kb.max(20.0);
            let more = "Commit latency [ms]\tREDO MBps";
            return one.text().replace("Commit latency [ms]", more);
        }
        "thresholds" => {
            let (a, max) = (r.printed(0.2, 4.0, 2), r.printed(11.0, 19.0, 2));
            let b = a * r.between(1.2, 3.0);
            return format!(
                "Log Writer Worker Over  1ms Over 10ms Over 20ms Max Elapsed\n\
                 LG00 {a:.2}% {b:.2}% 0.00% {max:.2}ms\n"
            );
        }
        "misprint" => {
            // A test of the same rack, whose name has a wrong letter.
            let (jobs, tps) = (128.0, one.tps[4] * 1.2);
            let line = sweep_line(6, "STEADY", jobs, tps, one.kb, one.inside, one.block);
            return format!("{}Rark one\n2020\n\n{SWEEP}\n{line}\n", one.text());
        }
        "unlike" => {
            return format!(
                "To be precise, for this comparison there were {} HDDs compared to {} SSDs in the array.\n\n{}",
                r.whole(9, 30),
                r.whole(2, 9),
                one.text()
            );
        }
        "claim" | "claim-holds" | "claim-exception" => return claims(name, one, r),
        _ => {}
    }
    one.text()
}

/// Two platforms, the second faster by a known factor, and a sentence about it.
fn claims(name: &str, mut one: Platform<'_>, r: &mut Seeded) -> String {
    let factor = r.printed(2.0, 6.0, 1);
    one.tps
        .iter_mut()
        .for_each(|t| *t = (*t / 100.0).round() * 100.0);
    let faster = one.tps.iter().map(|t| (t * factor).round()).collect();
    let mut two = Platform {
        name: "Rack two",
        tps: faster,
        ..steady("Rack two", r)
    };
    two.inside = one.inside;
    let said = match name {
        "claim" => factor * r.between(1.5, 3.0),
        _ => factor,
    };
    if name == "claim-exception" {
        // With the fewest jobs the faster one is the slower one.
        two.tps[0] = (one.tps[0] * r.between(0.5, 0.9)).round();
        two.tps[1] = one.tps[1];
    }
    let what = "commit throughput increases by up to a factor of";
    debug_assert_eq!(one.tps.len(), JOBS.len());
    format!("{}{}- {what} {said:.1}\n", one.text(), two.text())
}

/// Waits whose level changes once.
fn change(r: &mut Seeded) -> String {
    let (level, factor) = (r.between(200.0, 2000.0), r.between(1.6, 3.0));
    let (n, at) = (10_000, r.whole(2_000, 8_000));
    let mut text = "count,elapsed\n".to_owned();
    for i in 0..n {
        let level = if i < at { level } else { level * factor };
        let _ = writeln!(text, "{},{:.0}", i + 1, level * r.between(0.8, 1.2));
    }
    text
}
