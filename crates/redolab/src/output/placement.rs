//! The floor from each processor: a table, and what it shows in sentences.

use super::cells::{grouped, ns_as_ms};
use super::lines::wrap;
use super::table::{Style, draw, fit};
use analysis::placement::{sentences, takers};
use measure::run::{PlaceFigures, Run};

/// Longer lines are hard to read, however wide the terminal is.
const LINE_MAX: usize = 110;

/// The floor by processor, for below the floor's table; empty where it was not measured.
#[must_use]
pub fn text(run: &Run, style: Style) -> String {
    let Some(placement) = &run.placement else {
        return String::new();
    };
    let mut out = format!(
        "\nDurable writes of {} by processor ({}):\n",
        measure::words::bytes(placement.write_bytes),
        measure::words::sanitize::line(&placement.sync_method)
    );
    if !placement.places.is_empty() {
        let headings = [
            "Processor",
            "NUMA node",
            "Writes",
            "Mean ms",
            "p50 ms",
            "p99 ms",
            "Max ms",
            "Run queue %",
            "Interrupts at",
        ];
        let lines = placement.places.iter().map(line).collect();
        let (headings, lines) = fit(&headings, lines, &["NUMA node", "Max ms"], style);
        out.push_str(&draw(&headings, lines, 1, style));
    }
    for sentence in sentences(placement) {
        wrap(&mut out, "  ", &sentence, style.width.min(LINE_MAX));
    }
    out
}

fn line(place: &PlaceFigures) -> Vec<String> {
    let blank = || "-".to_owned();
    let ms = |ns: Option<u64>| ns.map_or_else(blank, |ns| ns_as_ms(ns as f64));
    let stats = &place.latency;
    let timed = stats.count > 0;
    vec![
        place
            .cpu
            .map_or_else(|| "not pinned".to_owned(), |cpu| cpu.to_string()),
        place.numa_node.map_or_else(blank, |node| node.to_string()),
        grouped(stats.count),
        ms(timed.then_some(stats.mean_ns as u64)),
        ms(stats.p50_ns),
        ms(stats.p99_ns),
        ms(timed.then_some(stats.max_ns)),
        place
            .run_queue_pct
            .map_or_else(blank, |pct| format!("{pct:.1}")),
        takers(place).unwrap_or_else(blank),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::run;
    use super::*;
    use crate::output::lines;
    use measure::run::{PlacementFigures, ProcessorInterrupts, WaitStats};

    fn place(cpu: Option<u32>, ns: u64, interrupts: bool) -> PlaceFigures {
        PlaceFigures {
            cpu,
            numa_node: cpu.map(|_| 0),
            latency: WaitStats {
                count: 1234,
                mean_ns: ns as f64,
                p50_ns: Some(ns),
                max_ns: 9 * ns,
                ..WaitStats::default()
            },
            round_p50_ns: (0..9).map(|round| ns + round).collect(),
            interrupts: interrupts.then(|| vec![ProcessorInterrupts { cpu: 1, count: 99 }]),
            run_queue_pct: None,
        }
    }

    #[test]
    fn a_table_with_what_it_shows_in_sentences() {
        let mut run = run();
        let style = Style {
            width: 80,
            frame: false,
        };
        assert_eq!(text(&run, style), "");
        run.placement = Some(PlacementFigures {
            sync_method: "direct\u{1b}[2J".to_owned(),
            write_bytes: 4096,
            allowed_cpus: 2,
            places: vec![
                place(None, 112_000, true),
                place(Some(0), 205_000, true),
                place(Some(1), 110_000, true),
            ],
        });
        let shown = text(&run, style);
        for part in [
            "0.205",
            "0.110",
            "arrive at processor 1",
            "1.86 times",
            "1,234",
        ] {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
        assert!(!shown.contains('\u{1b}') && shown.lines().all(|l| lines::width(l) <= 80));
        let places = run.placement.iter_mut().flat_map(|p| &mut p.places);
        places.for_each(|place| place.interrupts = None);
        let shown = text(&run, style);
        assert!(shown.contains("is not known"), "{shown}");
    }
}
