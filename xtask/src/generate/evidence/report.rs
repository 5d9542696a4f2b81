//! Reports of AWR and Statspack in the layouts of several releases, as text and as HTML. Sections
//! are the same grids in both; averages, shares, volumes and windows fit each other.

use super::{Fact, Seeded, grouped};
use std::fmt::Write as _;

/// Layouts as text.
pub const TEXT: &[&str] = &["9.2-statspack", "10.2", "11.2", "12.2"];
/// Layouts as HTML.
pub const HTML: &[&str] = &["11.2-html", "12.2-html", "12.2-html-comma"];
const MB: f64 = 1_048_576.0;

/// A table of a report: title, headings of one or more lines, cells.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) headings: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Figures of a report.
struct Figures {
    minutes: f64,
    mb_per_s: f64,
    /// Name, waits, seconds, class.
    events: Vec<(&'static str, f64, f64, &'static str)>,
    cpu_s: f64,
    shares: Vec<f64>,
}

impl Figures {
    fn of(r: &mut Seeded) -> Figures {
        let waits = [r.printed(1e7, 9e7, 0), r.printed(1e7, 9e7, 0)];
        let seconds = waits.map(|w| (w * r.between(0.0006, 0.009)).round());
        let mut shares: Vec<f64> = [(50.0, 60.0), (20.0, 30.0), (5.0, 9.0)]
            .map(|(low, high)| r.printed(low, high, 1))
            .to_vec();
        shares.push(100.0 - shares.iter().sum::<f64>());
        Figures {
            minutes: r.printed(5.0, 300.0, 2),
            mb_per_s: r.printed(20.0, 400.0, 3),
            events: vec![
                ("log file sync", waits[0], seconds[0], "Commit"),
                ("db file sequential read", waits[1], seconds[1], "User I/O"),
            ],
            cpu_s: (seconds[0] * r.between(0.5, 2.0)).round(),
            shares,
        }
    }

    fn total(&self) -> f64 {
        self.cpu_s + self.events.iter().map(|e| e.2).sum::<f64>()
    }

    fn bytes(&self) -> f64 {
        (self.mb_per_s * self.minutes * 60.0).round() * MB
    }

    /// The most time-consuming events, the processors first.
    fn top(&self, layout: &str) -> Section {
        let old = layout.starts_with('9');
        let headings = top_headings(layout);
        let with_unit = layout.starts_with("12");
        let share = |s: f64| format!("{:.1}", 100.0 * s / self.total());
        let blank = String::new;
        let name = if old || layout.starts_with("10") {
            "CPU time"
        } else {
            "DB CPU"
        };
        let mut rows = vec![vec![
            name.to_owned(),
            blank(),
            format!("{:.0}", self.cpu_s),
            blank(),
            share(self.cpu_s),
        ]];
        for (event, waits, seconds, class) in &self.events {
            let ms = 1000.0 * seconds / waits;
            let average = match ms {
                ms if with_unit && ms < 1.0 => format!("{:.2}us", ms * 1000.0),
                ms if with_unit => format!("{ms:.2}ms"),
                ms => format!("{ms:.0}"),
            };
            let cells = vec![
                (*event).to_owned(),
                grouped(*waits),
                grouped(*seconds),
                average,
                share(*seconds),
                (*class).to_owned(),
            ];
            rows.push(cells);
        }
        rows[0].resize(6, blank());
        rows.iter_mut().for_each(|row| row.truncate(headings.len()));
        let title = if old || layout.starts_with("10") {
            "Top 5 Timed Events"
        } else {
            "Top 10 Foreground Events by Total Wait Time"
        };
        Section {
            title,
            headings,
            rows,
        }
    }

    fn histogram(&self) -> Section {
        let mut row = vec!["log file sync".to_owned(), "10K".to_owned()];
        row.extend(self.shares.iter().map(|s| format!("{s:.1}")));
        Section {
            title: "Wait Event Histogram",
            headings: vec!["Event", "Total\nWaits", "<1ms", "<2ms", "<4ms", ">4ms"],
            rows: vec![row],
        }
    }

    fn functions(&self) -> Section {
        let volume = format!("{:.0}M", self.bytes() / MB);
        let rate = format!("{:.2}", self.mb_per_s * 40.0);
        let row = vec![
            "LGWR".to_owned(),
            volume,
            rate,
            format!("{:.3}M", self.mb_per_s),
        ];
        Section {
            title: "IOStat by Function summary",
            headings: vec![
                "Function Name",
                "Writes:\nData",
                "Reqs\nper sec",
                "Data\nper sec",
            ],
            rows: vec![row],
        }
    }

    fn statistics(&self) -> Section {
        let seconds = self.minutes * 60.0;
        let each = [
            ("redo size", self.bytes()),
            ("redo writes", 40.0 * seconds),
            ("user commits", 9e4),
        ];
        let row = |(name, total): (&str, f64)| {
            let per_s = total / seconds;
            vec![
                name.to_owned(),
                grouped(total.round()),
                format!("{per_s:.1}"),
                format!("{:.1}", total / 9e4),
            ]
        };
        Section {
            title: "Instance Activity Stats",
            headings: vec!["Statistic", "Total", "per Second", "per Trans"],
            rows: each.map(row).to_vec(),
        }
    }

    fn facts(&self, layout: &str) -> Vec<Fact> {
        let table = "top_events";
        let waits: Vec<f64> = self.events.iter().map(|e| e.1).collect();
        let mut seconds: Vec<f64> = self.events.iter().map(|e| e.2).collect();
        seconds.push(self.cpu_s);
        let mut out = vec![
            Fact::of(table, "waits", &waits),
            Fact::of(table, "time_s", &seconds),
        ];
        let redo = Fact::of("instance_activity", "total", &[self.bytes()]);
        out.push(redo.only("statistic", "redo size"));
        if !layout.starts_with('9') {
            out.push(Fact::of("wait_histogram", "waits", &[10_000.0]));
            out.push(Fact::of(
                "iostat_by_function",
                "write_data_bytes",
                &[self.bytes()],
            ));
        }
        out
    }
}

/// Headings of the most time-consuming events.
fn top_headings(layout: &str) -> Vec<&'static str> {
    if layout.starts_with('9') {
        vec![
            "Event",
            "Waits",
            "Time (s)",
            "Avg\nwait\n(ms)",
            "%Total\nCall\nTime",
        ]
    } else if layout.starts_with("10") {
        vec![
            "Event",
            "Waits",
            "Time (s)",
            "Avg\nwait\n(ms)",
            "%Total\nCall\nTime",
            "Wait Class",
        ]
    } else if layout.starts_with("11") {
        vec![
            "Event",
            "Waits",
            "Time(s)",
            "Avg\nwait\n(ms)",
            "% DB\ntime",
            "Wait Class",
        ]
    } else {
        vec![
            "Event",
            "Waits",
            "Total Wait\nTime (sec)",
            "Avg\nWait",
            "% DB\ntime",
            "Wait\nClass",
        ]
    }
}

/// A report that contradicts nothing.
pub fn clean(layout: &str, r: &mut Seeded) -> (String, Vec<Fact>) {
    let figures = Figures::of(r);
    let mut sections = vec![figures.top(layout), figures.statistics()];
    if !layout.starts_with('9') {
        sections.insert(1, figures.histogram());
        sections.insert(2, figures.functions());
    }
    let text = if HTML.contains(&layout) {
        html(figures.minutes, &sections, layout.ends_with("comma"))
    } else {
        plain(&figures, &sections, layout)
    };
    (text, figures.facts(layout))
}

fn plain(figures: &Figures, sections: &[Section], layout: &str) -> String {
    let name = if layout.starts_with('9') {
        "STATSPACK"
    } else {
        "WORKLOAD REPOSITORY"
    };
    let mut out = format!(
        "{name} report for\n\n              Snap Id      Snap Time      Sessions Curs/Sess\n            \
         --------- ------------------- -------- ---------\nBegin Snap:       100 01-Jan-13 11:00:00        \
         65       1.7\n  End Snap:       101 01-Jan-13 11:10:00        74       1.8\n   Elapsed:  \
         {:>18.2} (mins)\n\n",
        figures.minutes
    );
    for section in sections {
        let _ = match section.title.starts_with("Top") {
            true => writeln!(
                out,
                "{}\n{}",
                section.title,
                "~".repeat(section.title.len())
            ),
            false => writeln!(out, "{}  DB/Inst: X/x  Snaps: 100-101\n", section.title),
        };
        out += &grid(section);
        out += "          -------------------------------------------------------------\n\n";
    }
    out + "End of Report\n"
}

/// Headings, a rule and cells in columns.
pub(super) fn grid(section: &Section) -> String {
    let mut out = String::new();
    let widths: Vec<usize> = (0..section.headings.len())
        .map(|i| {
            let head = section.headings[i].lines().map(str::len).max().unwrap_or(0);
            let cells = section
                .rows
                .iter()
                .map(|row| row[i].len())
                .max()
                .unwrap_or(0);
            head.max(cells)
        })
        .collect();
    let height = section
        .headings
        .iter()
        .map(|h| h.lines().count())
        .max()
        .unwrap_or(1);
    let put = |cells: Vec<&str>| {
        let each = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(i, (cell, width))| match i {
                0 => format!("{cell:<width$}"),
                _ if *cell == "Commit" || cell.contains("I/O") => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        each.collect::<Vec<_>>().join(" ").trim_end().to_owned() + "\n"
    };
    for line in 0..height {
        let part = |h: &&'static str| {
            let lines: Vec<&str> = h.lines().collect();
            (line + lines.len())
                .checked_sub(height)
                .map_or("", |at| lines[at])
        };
        out += &put(section.headings.iter().map(part).collect());
    }
    let rules: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
    out += &put(rules.iter().map(String::as_str).collect());
    for row in &section.rows {
        out += &put(row.iter().map(String::as_str).collect());
    }
    out
}

pub(super) fn html(minutes: f64, sections: &[Section], comma: bool) -> String {
    let put = |text: &str| match comma && text.starts_with(|c: char| c.is_ascii_digit()) {
        true => text.chars().map(swapped).collect(),
        false => text.to_owned(),
    };
    let cell = |text: &str| match text {
        "" => "<td>&#160;</td>".to_owned(),
        text => format!("<td>{}</td>", put(text)),
    };
    let mut out = format!(
        "<html><head><title>AWR Report for DB: X</title></head><body class='awr'>\n<table><tr><th></th>\
         <th>Snap Id</th><th>Snap Time</th></tr>\n<tr><td>Begin Snap:</td><td>100</td><td>01-Jan-13 \
         11:00:00</td></tr>\n<tr><td>Elapsed:</td><td>&#160;</td><td>{} (mins)</td></tr></table>\n",
        put(&format!("{minutes:.2}"))
    );
    for section in sections {
        let title = match section.title.starts_with("Top") {
            true => "Foreground Wait Events",
            false => section.title,
        };
        let _ = writeln!(out, "<h3 class='awr'>{title}</h3>\n<table border=\"0\">");
        let heads = section
            .headings
            .iter()
            .map(|h| format!("<th>{}</th>", escaped(h)));
        let _ = writeln!(out, "<tr>{}</tr>", heads.collect::<String>());
        for row in &section.rows {
            let cells: String = row.iter().map(|c| cell(c)).collect();
            let _ = writeln!(out, "<tr>{cells}</tr>");
        }
        out += "</table>\n";
    }
    out + "</body></html>\n"
}

fn escaped(heading: &str) -> String {
    let text = heading.replace('\n', " ");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

fn swapped(c: char) -> char {
    match c {
        ',' => '.',
        '.' => ',',
        c => c,
    }
}

/// A report: window in minutes, redo in MB a second, waits and mean of log file sync in ms.
pub fn report(minutes: f64, mb: f64, waits: f64, mean_ms: f64, r: &mut Seeded) -> String {
    let seconds = 60.0 * minutes;
    let sync = waits * mean_ms / 1000.0;
    let db = sync + r.between(0.5, 2.0) * sync + 1000.0;
    let cpu = db - sync;
    let volume = mb * seconds;
    let shares =
        [(50.0, 60.0), (20.0, 30.0), (5.0, 9.0)].map(|(low, high)| r.printed(low, high, 1));
    let last = 100.0 - shares.iter().sum::<f64>();
    format!(
        "WORKLOAD REPOSITORY report for\n\n   Elapsed:  {minutes:.2} (mins)\n\n\
         Event                                 Waits     Time(s) Avg(ms) %DBtime Wait Class\n\
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
}
