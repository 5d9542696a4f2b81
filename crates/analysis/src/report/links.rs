//! Which finding rests on which figure or section, and the links both ways.
//!
//! Invariants: a link leads to an id that is in the page; ids and labels are our own words; what
//! a finding is linked to depends on its id, and its claim only chooses among figures of one kind.

use super::figure::Figure;
use super::topic::Topic;
use measure::judgement::Finding;
use std::collections::BTreeMap;

/// What shows a finding, the best first. Unknown ids are shown by what their theme is.
fn topics(id: &str) -> &'static [Topic] {
    use Topic as T;
    match id {
        "latency.write_mean" => &[T::WriteDensity, T::WriteHeat, T::Waits],
        "latency.peaks" => &[T::Longest, T::WriteHeat],
        "latency.outliers" => &[T::Longest, T::SyncHeat, T::Scatter],
        "latency.tail" => &[T::Percentiles, T::SyncHeat],
        "latency.io_share" | "latency.parts" | "latency.conditions" | "concurrency.delay" => {
            &[T::CommitPath]
        }
        "concurrency.knee" => &[T::Answer, T::SyncByJobs],
        "concurrency.group_commit" => &[T::Throughput, T::Rows],
        "need.commit_rate" => &[T::Answer, T::Throughput],
        "need.redo_rate" => &[T::Throughput, T::Rows],
        "need.sustained" => &[T::Rate],
        "need.p99" => &[T::Answer, T::Percentiles],
        "space.log_switches"
        | "space.log_file_switch_checkpoint_incomplete"
        | "space.log_file_switch_archiving_needed"
        | "space.log_buffer_space" => &[T::Longest, T::Waits],
        "durability.flat_flush" | "stack.too_fast_to_turn" => &[T::Floor],
        "server.acknowledgement"
        | "server.no_flush"
        | "server.late_flush"
        | "server.flushes_missing" => &[T::Stack, T::Bytes],
        "flush.audit" | "load.background" | "load.lab_overhead" => &[T::Validity],
        "load.processors" => &[T::CommitPath, T::Rows],
        "evidence.buckets" | "evidence.thresholds" => &[T::Buckets, T::Evidence],
        _ => match id.split('.').next() {
            Some("steady") => &[T::Rate],
            Some("size" | "sweep") => &[T::SizeSweep],
            Some("latency") => &[T::SyncByJobs, T::Waits],
            Some("space") => &[T::Rows],
            Some("server") => &[T::Bytes, T::Stack],
            Some("stack" | "mount" | "block" | "durability") => &[T::Stack],
            Some("validity") => &[T::Validity],
            Some("load") => &[T::Environment],
            Some("processor") => &[T::Floor],
            Some("evidence") => &[T::Evidence],
            Some("diagnosis") => &[T::Answer, T::Evidence],
            _ => &[],
        },
    }
}

/// Most links of a finding, and to a figure.
const LINKS_MAX: usize = 2;
const BACK_MAX: usize = 12;

/// Links of a page.
#[derive(Default)]
pub(super) struct Links {
    /// By the finding's place: ids and labels.
    forward: Vec<Vec<(String, &'static str)>>,
    /// By figure id: places of findings, and the last word of their ids is ours to show.
    back: BTreeMap<String, Vec<usize>>,
}

impl Links {
    /// Links of `findings` to `figures` and to `sections` that are in the page.
    pub(super) fn of(findings: &[&Finding], figures: &[&Figure], sections: &[Topic]) -> Links {
        let mut links = Links::default();
        for (place, finding) in findings.iter().enumerate() {
            let found: Vec<(String, &'static str)> = topics(&finding.id)
                .iter()
                .filter_map(|topic| {
                    let id = match topic.section_id() {
                        Some(id) => sections.contains(topic).then(|| id.to_owned()),
                        None => figure(figures, *topic, &finding.claim),
                    };
                    Some((id?, topic.label()))
                })
                .take(LINKS_MAX)
                .collect();
            for (id, _) in &found {
                links.back.entry(id.clone()).or_default().push(place);
            }
            links.forward.push(found);
        }
        links
    }

    /// The id of what shows the finding at `place` best.
    pub(super) fn best(&self, place: usize) -> Option<&str> {
        let (id, _) = self.forward.get(place)?.first()?;
        Some(id)
    }

    /// `Shown by …` of the finding at `place`.
    pub(super) fn forward(&self, place: usize) -> String {
        let all = self.forward.get(place).map_or(&[][..], Vec::as_slice);
        let links: Vec<String> = all
            .iter()
            .map(|(id, label)| format!("<a href=\"#{id}\">{label}</a>"))
            .collect();
        if links.is_empty() {
            return String::new();
        }
        format!("<p class=\"d\">Shown by: {}</p>", links.join(", "))
    }

    /// Links back to the findings that rest on a figure.
    pub(super) fn back(&self, id: &str) -> String {
        let all = self.back.get(id).map_or(&[][..], Vec::as_slice);
        let links: Vec<String> = all
            .iter()
            .take(BACK_MAX)
            .map(|place| format!("<a href=\"#finding-{0}\">{0}</a>", place + 1))
            .collect();
        if links.is_empty() {
            return String::new();
        }
        let noun = if all.len() == 1 {
            "finding"
        } else {
            "findings"
        };
        format!("<p class=\"back\">Shows {noun} {}</p>", links.join(", "))
    }
}

/// The figure of that kind whose workload the claim names, else the first.
fn figure(figures: &[&Figure], topic: Topic, claim: &str) -> Option<String> {
    let all = || {
        figures
            .iter()
            .filter(|f| f.topic == topic && !f.drawing.is_empty())
    };
    // As findings name a row, `LGWR-LAT1 with 8 jobs`; of several the first.
    let place = |f: &&Figure| match f.of.as_str() {
        "" => None,
        of => claim.find(&format!("{of} with ")),
    };
    all()
        .filter(|f| place(f).is_some())
        .min_by_key(|f| place(f))
        .or_else(|| all().next())
        .map(|f| f.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::judgement::Weight;

    fn finding(id: &str, claim: &str) -> Finding {
        Finding {
            id: id.to_owned(),
            weight: Weight::Info,
            claim: claim.to_owned(),
            numbers: Vec::new(),
            threshold: String::new(),
            source: String::new(),
            confidence: Default::default(),
            advice: String::new(),
        }
    }

    fn drawn(id: &str, topic: Topic, of: &str) -> Figure {
        Figure {
            id: id.to_owned(),
            topic,
            of: of.to_owned(),
            caption: String::new(),
            tags: String::new(),
            how: String::new(),
            drawing: "<svg></svg>".to_owned(),
            table: super::super::figure::Numbers::default(),
            is_wide: false,
            second: String::new(),
            zoom: None,
        }
    }

    #[test]
    fn a_finding_leads_to_the_figure_of_its_workload_and_back() {
        let figures = [
            drawn("pc0", Topic::Percentiles, "LGWR-LAT1"),
            drawn("pc1", Topic::Percentiles, "LGWR-LAT25"),
        ];
        let figures: Vec<&Figure> = figures.iter().collect();
        let tail = finding("latency.tail", "p99.9 of LGWR-LAT25 with 8 jobs is long.");
        let stack = finding("stack.volatile", "tmpfs");
        let links = Links::of(&[&tail, &stack], &figures, &[Topic::Stack]);
        assert!(links.forward(0).contains("href=\"#pc1\""));
        assert!(links.forward(1).contains("href=\"#stack\""));
        assert!(links.back("pc1").contains("href=\"#finding-1\""));
        assert_eq!(links.back("pc0"), "");
    }

    #[test]
    fn no_link_leads_nowhere() {
        let knee = finding("concurrency.knee", "");
        let links = Links::of(&[&knee], &[], &[]);
        assert_eq!(links.forward(0), "");
        assert_eq!(links.forward(7), "");
    }
}
