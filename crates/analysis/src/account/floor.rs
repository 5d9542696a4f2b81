//! The device's floor: durable writes without a log, by method and by processor.

use super::{AccountColumn, AccountTable, Body, Section, Shown, detail, figure, label};
use measure::run::{FloorRow, PlaceFigures, Run};
use measure::words;

/// The floor by method; `None` where it was not measured.
#[must_use]
pub fn floor(run: &Run) -> Option<Section> {
    let timed = run.floor.iter().filter(|of| of.latency.count > 0);
    let best = timed.map(|of| of.latency.mean_ns).min_by(f64::total_cmp);
    let best = best.filter(|best| *best > 0.0);
    let file = |of: &FloorRow| match of.pre_written {
        true => "written before",
        false => "allocated",
    };
    let columns: [AccountColumn<'_, &FloorRow>; 12] = [
        (label("Sync method"), &|of| Shown::text(&of.sync_method)),
        (label("File"), &|of| Shown::text(file(of))),
        (label("Bytes"), &|of| Shown::Bytes(of.write_bytes)),
        (figure("Writes", "/s"), &|of| of.writes_per_s.into()),
        (figure("Mean", "ms"), &|of| Shown::mean(&of.latency)),
        (detail("Write", "ms"), &|of| Shown::Ns(of.write_mean_ns)),
        (detail("Flush", "ms"), &|of| Shown::Ns(of.flush_mean_ns)),
        (figure("p50", "ms"), &|of| Shown::ns(of.latency.p50_ns)),
        (figure("p99", "ms"), &|of| Shown::ns(of.latency.p99_ns)),
        (detail("p99.9", "ms"), &|of| Shown::ns(of.latency.p999_ns)),
        (figure("Longest", "ms"), &|of| Shown::longest(&of.latency)),
        (detail("Mean", "× best"), &|of| {
            best.map(|best| of.latency.mean_ns / best).into()
        }),
    ];
    Some(Section {
        id: "floor".into(),
        title: "The device's floor".to_owned(),
        about: "Durable writes without a log, one at a time: no commit can be faster. Compare rows \
                of one size across methods; \"allocated\" is a file whose blocks were never written."
            .to_owned(),
        body: vec![Body::Table(AccountTable::of(&run.floor, &columns)?)],
    })
}

/// The floor from each processor; `None` where it was not measured.
#[must_use]
pub fn placement(run: &Run) -> Option<Section> {
    let measured = run.placement.as_ref()?;
    let cpu = |of: &PlaceFigures| match of.cpu {
        Some(cpu) => Shown::Count(cpu.into()),
        None => Shown::text("not pinned"),
    };
    let columns: [AccountColumn<'_, &PlaceFigures>; 9] = [
        (label("Processor"), &|of| cpu(of)),
        (label("NUMA node"), &|of| of.numa_node.into()),
        (detail("Writes", ""), &|of| of.latency.count.into()),
        (figure("Mean", "ms"), &|of| Shown::mean(&of.latency)),
        (figure("p50", "ms"), &|of| Shown::ns(of.latency.p50_ns)),
        (figure("p99", "ms"), &|of| Shown::ns(of.latency.p99_ns)),
        (figure("Longest", "ms"), &|of| Shown::longest(&of.latency)),
        (figure("Run queue", "%"), &|of| of.run_queue_pct.into()),
        (detail("Interrupts at", ""), &|of| {
            crate::placement::takers(of).map(Shown::Text).into()
        }),
    ];
    let table = AccountTable::of(&measured.places, &columns).map(Body::Table);
    let text = crate::placement::sentences(measured).join(" ");
    Some(Section {
        id: "placement".into(),
        title: format!(
            "The floor by processor: durable writes of {} ({})",
            words::bytes(measured.write_bytes),
            measured.sync_method
        ),
        about: "Small durable writes from a thread on each processor in turn, and from a thread \
                that the scheduler places. A difference is reported only if its interval excludes \
                1."
        .to_owned(),
        body: table.into_iter().chain([Body::Text(text)]).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::words_of;
    use crate::findings::fixture::clean_run;
    use measure::run::{PlacementFigures, ProcessorInterrupts, WaitStats};

    fn place(cpu: Option<u32>, ns: u64) -> PlaceFigures {
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
            interrupts: Some(vec![ProcessorInterrupts { cpu: 1, count: 99 }]),
            run_queue_pct: None,
        }
    }

    #[test]
    fn a_table_with_what_it_shows_in_sentences() {
        let mut run = clean_run();
        run.placement = None;
        assert_eq!(placement(&run), None);
        let places = [(None, 112_000), (Some(0), 205_000), (Some(1), 110_000)];
        run.placement = Some(PlacementFigures {
            sync_method: "direct".to_owned(),
            write_bytes: 4096,
            allowed_cpus: 2,
            places: places.map(|(cpu, ns)| place(cpu, ns)).into(),
        });
        let said = |run: &Run| match placement(run).expect("it was measured").body.pop() {
            Some(Body::Text(text)) => text,
            other => panic!("{other:?}"),
        };
        let section = placement(&run).expect("it was measured");
        assert!(
            section.title.ends_with("writes of 4 KiB (direct)"),
            "{}",
            section.title
        );
        let lines = words_of(&section);
        assert_eq!(
            lines[0][..5],
            ["not pinned", "–", "1,234", "0.112", "0.112"]
        );
        assert_eq!(lines[1][6..8], ["1.84", "–"]);
        let text = said(&run);
        assert!(
            text.contains("arrive at processor 1") && text.contains("1.86 times"),
            "{text}"
        );
        let places = run.placement.iter_mut().flat_map(|p| &mut p.places);
        places.for_each(|place| place.interrupts = None);
        assert!(said(&run).contains("is not known"));
    }
}
