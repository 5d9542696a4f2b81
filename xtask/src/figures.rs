//! The figures of `docs/performance.md`, made from measured data under `experiments/`.
//!
//! What lives here: which files they become and what the page says of them. `data` reads CSV,
//! `plan` and `ways` know the figures, `chart` draws, `values` fills tables of any
//! document. Nothing here measures: without data a figure does not exist, and the page says so.
//!
//! Invariant: the same data gives the same bytes, so that `tidy` sees when figure and data part.

mod chart;
mod data;
mod plan;
pub mod values;
mod ways;

use crate::Outcome;
use crate::tree::File;
use data::Table;
use plan::{FIGURES, Figure};
use std::collections::BTreeMap;

/// The page.
pub const PAGE: &str = "docs/performance.md";
const FOLDER: &str = "docs/figures";
const CLOSES: &str = "<!-- end of figure -->";

/// A generated file: its path, and its text if there is data for it.
pub type Made = (String, Option<String>);

/// Every figure.
///
/// # Errors
/// Data that is not CSV, naming file and line.
pub fn made(files: &[File]) -> Outcome<Vec<Made>> {
    let mut tables: BTreeMap<&str, Table> = BTreeMap::new();
    for path in FIGURES.iter().flat_map(|figure| figure.data) {
        if let Some(file) = files.iter().find(|file| file.path == **path) {
            tables.insert(path, Table::read(file)?);
        }
    }
    let made = |figure: &Figure| {
        let chart = (figure.chart)(&|path| tables.get(path));
        (path(figure), chart::draw(&chart, figure.data))
    };
    Ok(FIGURES.iter().map(made).collect())
}

fn path(figure: &Figure) -> String {
    format!("{FOLDER}/log-{}.svg", figure.name)
}

/// The document with `fresh` between two marks, which stay; none if it lacks one of them.
pub fn between(document: &str, opens: &str, closes: &str, fresh: &str) -> Option<String> {
    let (before, rest) = document.split_once(opens)?;
    let (_, after) = rest.split_once(closes)?;
    Some(format!("{before}{opens}\n{fresh}\n{closes}{after}"))
}

/// The page with each figure's place filled: the figure and its data, or that it was not measured.
///
/// # Errors
/// A figure without its place, or a place that nobody closes.
pub fn page(document: &str, made: &[Made]) -> Outcome<String> {
    let mut text = document.to_owned();
    for (figure, (path, drawn)) in FIGURES.iter().zip(made) {
        let opens = format!("<!-- figure: {} -->", figure.name);
        let shown = match drawn {
            Some(_) => {
                let name = path.rsplit('/').next().unwrap_or(path);
                format!("![{}](figures/{name})", figure.name.replace('-', " "))
            }
            None => {
                let data = figure.data.join("`, `");
                format!("*Not measured: there is no `{data}`.*")
            }
        };
        text = between(&text, &opens, CLOSES, &shown)
            .ok_or_else(|| format!("{PAGE}: no `{opens}`, or nothing closes it"))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    fn drawn(files: &[File], name: &str) -> Option<String> {
        let made = made(files).expect("readable data");
        let path = format!("{FOLDER}/log-{name}.svg");
        made.into_iter().find(|(p, _)| *p == path)?.1
    }

    const PEERS: &str = "round,peer,threads,in_flight,commits,window_ns,commits_per_s,mean_ns,p50_ns,\
        p99_ns,p999_ns,max_ns,cpu_us,flushes,device_writes,device_bytes,idle_flushes_per_s,problem\n\
        0,redolab:inline,64,1,1000,1,31000,1,90000,150000,0,900000,5000,100,1,1,0,\n\
        0,raft-engine,64,1,1000,1,12000,1,400000,900000,0,1000000,11000,100,1,1,0,\n\
        0,liar,64,1,1000000,1,9000000,1,400,900,0,1000,11000,3,1,1,0,\n\
        0,broken,64,,,,,,,,,,,,,,0,it fell\n\
        0,redolab:inline+async=8,64,8,1000,1,77000,1,90000,1,0,9,5000,100,1,1,0,\n";

    #[test]
    fn a_peer_that_did_not_flush_is_in_no_figure() {
        let files = [file("experiments/peers/data.csv", PEERS)];
        for name in ["peers-throughput", "peers-latency", "peers-processor"] {
            let svg = drawn(&files, name).expect("data");
            assert!(svg.contains("raft-engine") && svg.contains("redolab:inline<"));
            for absent in ["liar", "broken", "async"] {
                assert!(!svg.contains(absent), "{absent} in {name}: {svg}");
            }
        }
        let latency = drawn(&files, "peers-latency").expect("data");
        assert!(latency.contains("90.0 · 150 · – · 900"), "{latency}");
        let processor = drawn(&files, "peers-processor").expect("data");
        assert!(processor.contains(">11.0</text>"), "{processor}");
    }

    #[test]
    fn the_floor_is_that_of_the_round() {
        let text = "round,case,per_s,p50_us,p99_us,p999_us,max_us\n\
                    0,raw direct,1,100,1,1,1\n0,raw dsync,1,200,1,1,1\n0,inline 1,1,110,1,1,1\n\
                    1,raw direct,1,50,1,1,1\n1,raw dsync,1,90,1,1,1\n1,inline 1,1,60,1,1,1\n\
                    1,inline 8,1,999,1,1,1\n# inline 1: 1.15\n";
        let files = [file("experiments/commit-against-floor/data.csv", text)];
        let svg = drawn(&files, "commit-over-floor").expect("data");
        // 1.1 and 1.2, not 85 over 75.
        assert!(
            svg.contains(">1.15</text>") && !svg.contains("dsync"),
            "{svg}"
        );
        assert!(svg.contains("not pinned"), "{svg}");
    }

    #[test]
    fn each_bench_has_its_figures() {
        let mechanisms = "round,group,case,jobs,per_s\n0,writer-8,inline,8,100\n\
            0,writer-8,workers=2,8,50\n0,gather-8,no gather,8,30\n0,learn-64,polling,64,4\n";
        let files = [
            file("experiments/mechanisms/data.csv", mechanisms),
            file(
                "experiments/asynchronous/data.csv",
                "round,case,per_s\n0,file inline async 2 threads 512 each,7\n",
            ),
            file(
                "experiments/recovery/data.csv",
                "case,round,redo_mb,log_mb,seconds,redo_mb_per_s,fio_mb_per_s,ratio\n\
                 bounded,0,9,12,1,800,,\n",
            ),
            file(
                "experiments/stream/data.csv",
                "round,case,mb_per_s\n0,append 120 x1,9\n0,fio,4000\n0,stream lgwr rings,3900\n",
            ),
            file(
                "experiments/log-switches/data.csv",
                "round,switches,near,p999_near_us,max_near_us,elsewhere,p999_us,max_us,ratio\n\
                 0,9,9,120,500,9,100,400,1.2\n",
            ),
        ];
        for (name, shown) in [
            ("log-writers", "workers=2"),
            ("gathering", "no gather"),
            ("log-file-sync", "polling"),
            ("asynchronous", "inline async 2 threads 512 each"),
            ("recovery-and-stream", "fio, sequential write"),
            ("log-switches", "120 · 500"),
        ] {
            let svg = drawn(&files, name).expect("data");
            assert!(svg.contains(shown), "{name}: {svg}");
        }
        let both = drawn(&files, "recovery-and-stream").expect("data");
        assert!(!both.contains("append") && !both.contains("sequential read"));
        assert!(both.contains(">lgwr rings</text>"), "{both}");
        assert_eq!(drawn(&files, "peers-latency"), None);
    }

    #[test]
    fn the_page_says_what_was_not_measured() {
        let places: String = FIGURES
            .iter()
            .map(|f| format!("<!-- figure: {} -->\nold\n{CLOSES}\n", f.name))
            .collect();
        let files = [file("experiments/peers/data.csv", PEERS)];
        let made = made(&files).expect("readable");
        let text = page(&places, &made).expect("every place is there");
        assert!(text.contains("![peers latency](figures/log-peers-latency.svg)"));
        assert_eq!(text.matches("Not measured").count(), FIGURES.len() - 3);
        assert!(!text.contains("old"));
        assert_eq!(page(&text, &made).as_ref(), Ok(&text), "it settles");
        assert!(page("", &made).is_err());
    }
}
