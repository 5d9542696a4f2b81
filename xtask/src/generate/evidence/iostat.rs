//! `iostat` of sysstat, as several releases write it: as text and as JSON. Queues follow Little's
//! law within what the two ends of a request differ by.

use super::{Fact, Seeded};
use std::fmt::Write as _;

/// Releases and options.
pub const LAYOUTS: &[&str] = &["9", "9-comma", "10", "12", "12-h", "12-t", "basic"];

/// One sample of a device, of the digits that are printed.
pub struct Sample {
    /// The device.
    pub name: String,
    /// Writes a second.
    pub writes: f64,
    /// Reads a second.
    pub reads: f64,
    /// Mean time of a write, ms.
    pub write_await: f64,
    /// Mean time of a read, ms.
    pub read_await: f64,
    /// Written a second, MB of 1024 kB.
    pub write_mb: f64,
    /// Mean queue.
    pub queue: f64,
}

/// A sample whose queue is what rates and times make.
pub fn sample(n: u64, r: &mut Seeded) -> Sample {
    let (writes, reads) = (r.printed(10.0, 20_000.0, 2), r.printed(0.0, 500.0, 2));
    let (wa, ra) = (r.printed(0.05, 20.0, 2), r.printed(0.05, 9.0, 2));
    Sample {
        name: format!("sd{n}"),
        writes,
        reads,
        write_await: wa,
        read_await: ra,
        write_mb: r.printed(1.0, 900.0, 2),
        queue: (writes * wa + reads * ra) / 1000.0 * r.between(0.92, 1.08),
    }
}

impl Sample {
    /// A column's text, by its heading.
    fn column(&self, heading: &str) -> String {
        let all = self.writes + self.reads;
        let both = (self.writes * self.write_await + self.reads * self.read_await) / all;
        let two = |x: f64| format!("{x:.2}");
        match heading {
            "Device:" | "Device" => self.name.clone(),
            "w/s" => two(self.writes),
            "r/s" => two(self.reads),
            "wMB/s" => two(self.write_mb),
            "wkB/s" | "kB_wrtn/s" => two(self.write_mb * 1024.0),
            "wsec/s" => two(self.write_mb * 2048.0),
            "kB_wrtn" => format!("{:.0}", self.write_mb * 10_240.0),
            "tps" => two(all),
            "await" => two(both),
            "w_await" => two(self.write_await),
            "r_await" => two(self.read_await),
            "aqu-sz" | "avgqu-sz" => two(self.queue),
            "%util" => two(33.0),
            _ => two(0.0),
        }
    }
}

fn headings(layout: &str) -> Vec<&'static str> {
    let text = match layout {
        "9" | "9-comma" => {
            "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util"
        }
        "10" => {
            "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util"
        }
        "12-h" => "r/s rMB/s w/s wMB/s w_await r_await aqu-sz %util Device",
        "basic" => "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn",
        _ => {
            "Device r/s rMB/s rrqm/s %rrqm r_await rareq-sz w/s wMB/s wrqm/s %wrqm w_await wareq-sz \
             d/s dMB/s drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util"
        }
    };
    text.split_whitespace().collect()
}

/// Samples as a release prints them.
pub fn print(layout: &str, samples: &[Sample]) -> String {
    let mut out = "Linux 5.4.17 (host)\t11/30/2021\t_x86_64_\t(2 CPU)\n\n".to_owned();
    let names = headings(layout);
    for report in samples.chunks(4) {
        if layout == "12-t" {
            out += "11/30/2021 10:15:00 AM\n";
        }
        let pad = |words: &[String]| {
            let each = words.iter().map(|w| format!("{w:<12}"));
            each.collect::<String>().trim_end().to_owned() + "\n"
        };
        out += &pad(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        for sample in report {
            let line = pad(&names.iter().map(|n| sample.column(n)).collect::<Vec<_>>());
            out += &match layout {
                "9-comma" => line.replace('.', ","),
                _ => line,
            };
        }
        out.push('\n');
    }
    out
}

/// What a reader has to find of samples.
fn facts(samples: &[Sample], layout: &str) -> Vec<Fact> {
    let mb: Vec<f64> = samples.iter().map(|s| s.write_mb).collect();
    let writes: Vec<f64> = samples.iter().map(|s| s.writes).collect();
    let mut out = vec![Fact::of("iostat", "write_mb_per_s", &mb)];
    if layout != "basic" {
        out.push(Fact::of("iostat", "writes_per_s", &writes));
    }
    out
}

/// Samples as text.
pub fn listing(layout: &str, r: &mut Seeded, rows: u64) -> (String, Vec<Fact>) {
    let samples: Vec<Sample> = (0..rows.max(1)).map(|n| sample(n, r)).collect();
    (print(layout, &samples), facts(&samples, layout))
}

/// Samples as JSON.
pub fn json(r: &mut Seeded, rows: u64) -> (String, Vec<Fact>) {
    let samples: Vec<Sample> = (0..rows.max(1)).map(|n| sample(n, r)).collect();
    let mut out =
        "{\"sysstat\": {\"hosts\": [{\"nodename\": \"host\", \"statistics\": [".to_owned();
    for (i, s) in samples.iter().enumerate() {
        let _ = write!(
            out,
            "{}\n{{\"disk\": [{{\"disk_device\": \"{}\", \"r/s\": {:.2}, \"w/s\": {:.2}, \"wMB/s\": {:.2}, \
             \"r_await\": {:.2}, \"w_await\": {:.2}, \"aqu-sz\": {:.2}, \"util\": 33.00}}]}}",
            if i == 0 { "" } else { "," },
            s.name,
            s.reads,
            s.writes,
            s.write_mb,
            s.read_await,
            s.write_await,
            s.queue
        );
    }
    (out + "\n]}]}}\n", facts(&samples, "12"))
}
