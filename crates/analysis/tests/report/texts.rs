//! Every text that a run or a comparison can hold, in the report: none becomes markup.
//!
//! The texts are found in the data itself: each string of its JSON that may be any text is
//! replaced,
//! and each map whose keys are free gets one more entry. A field that is added later is filled as
//! soon as the fixture has it.

use super::compare::comparison_of;
use super::fixture::{data_of, evidence_of, judged, payloads, row, run_of, structure};
use analysis::account::columns::Columns;
use analysis::report::{self, compare};
use measure::comparison::Comparison;
use measure::judgement::{NeedQuantity, NeedSource};
use measure::run::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Places of texts in JSON, as pointers.
#[derive(Default)]
struct Places {
    texts: Vec<String>,
    /// Maps with free keys.
    maps: Vec<String>,
}

impl Places {
    /// Of `value`, but for texts whose name is in `kept`.
    fn of<T: Serialize + DeserializeOwned>(value: &T, kept: &[&str]) -> Places {
        let json = serde_json::to_value(value).expect("a value");
        let mut all = Places::default();
        all.collect(&json, &mut String::new());
        let is_kept = |at: &str| kept.contains(&at.rsplit('/').next().unwrap_or_default());
        let survives = |places: &Places, at: &str| {
            let mut json = json.clone();
            places.fill(&mut json, "any");
            let Ok(back) = serde_json::from_value::<T>(json) else {
                return false;
            };
            let back = serde_json::to_value(back).expect("a value");
            back.pointer(at).is_some_and(|value| value == "any")
                || back.pointer(&format!("{at}/any")).is_some()
        };
        let one = |texts: &str, maps: &str| Places {
            texts: [texts]
                .iter()
                .filter(|at| !at.is_empty())
                .map(|at| (*at).to_owned())
                .collect(),
            maps: [maps]
                .iter()
                .filter(|at| !at.is_empty())
                .map(|at| (*at).to_owned())
                .collect(),
        };
        all.texts
            .retain(|at| !is_kept(at) && survives(&one(at, ""), at));
        all.maps.retain(|at| survives(&one("", at), at));
        all
    }

    fn collect(&mut self, json: &Value, at: &mut String) {
        let length = at.len();
        match json {
            Value::String(_) => self.texts.push(at.clone()),
            Value::Array(all) => {
                for (i, value) in all.iter().enumerate() {
                    at.push_str(&format!("/{i}"));
                    self.collect(value, at);
                    at.truncate(length);
                }
            }
            Value::Object(all) => {
                if length > 0 && !all.is_empty() {
                    self.maps.push(at.clone());
                }
                for (key, value) in all {
                    at.push('/');
                    at.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    self.collect(value, at);
                    at.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn fill(&self, json: &mut Value, text: &str) {
        for at in &self.texts {
            *json.pointer_mut(at).expect("it was found there") = Value::from(text);
        }
        for at in &self.maps {
            let map = json
                .pointer_mut(at)
                .and_then(Value::as_object_mut)
                .expect("a map");
            let first = map.values().next().expect("it is not empty").clone();
            map.insert(text.to_owned(), first);
        }
    }

    fn filled<T: Serialize + DeserializeOwned>(&self, value: &T, text: &str) -> T {
        let mut json = serde_json::to_value(value).expect("a value");
        self.fill(&mut json, text);
        serde_json::from_value(json).expect("each place may have any text")
    }
}

/// Checks the page that `page` makes of `value` with each payload, in every place at once.
fn check<T: Serialize + DeserializeOwned>(value: &T, kept: &[&str], page: impl Fn(&T) -> String) {
    let places = Places::of(value, kept);
    assert!(places.texts.len() > 20, "{} texts", places.texts.len());
    let plain = structure(&page(&places.filled(value, "plain")));
    // That text is bounded has a test of its own; long texts in hundreds of places take seconds.
    for payload in payloads().into_iter().filter(|p| p.len() < 1000) {
        let html = page(&places.filled(value, &payload));
        let shown: String = payload.chars().take(40).collect();
        assert_eq!(structure(&html), plain, "{shown:?} changed the structure");
        let is_wrong = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!html.chars().any(is_wrong), "{shown:?}");
    }
}

/// Names from which the report chooses what to show: they are kept in one of two passes.
const CHOOSING: [&str; 3] = ["id", "metric", "workload"];

fn short(mut run: Run) -> Run {
    run.rows = vec![row("LGWR-LAT1", 1, 2, "x"), row("LGWR-THR", 8, 2, "x")];
    run
}

/// A run with notes, sources of its need, members, a ring, a stripe, several logs and a condition.
fn everywhere() -> Run {
    let mut run = short(run_of("x"));
    run.notes.label = Some("x".to_owned());
    run.notes.tags.insert("price".to_owned(), "x".to_owned());
    run.need.commit_rate = Some(500.0);
    run.need.sources = vec![NeedSource {
        quantity: NeedQuantity::CommitRate,
        place: "x".to_owned(),
    }];
    if let WorkloadInfo::Redo(redo) = &mut run.workload {
        redo.commit_api = Some("x".to_owned());
        redo.commit_write = [(
            "x".to_owned(),
            measure::workload::CommitMode::WAIT_IMMEDIATE,
        )]
        .into();
        redo.payload = Some(PayloadInfo {
            compressor: "x".to_owned(),
            ..PayloadInfo::default()
        });
    }
    let member = MemberFacts {
        directory: "x".to_owned(),
        log_writes: 5,
        ..MemberFacts::default()
    };
    if let TargetFacts::RedoLog(log) = &mut run.target.facts {
        log.log_file_sync = Some("x".to_owned());
        log.flush_triggers = Some("x".to_owned());
        log.members = vec![member; 2];
        log.ring = Some(Box::new(RingFacts {
            disk_directory: "x".to_owned(),
            directory: "x".to_owned(),
            ..RingFacts::default()
        }));
        log.stripe = Some(StripeFacts {
            width_bytes: 1 << 20,
            directories: vec!["x".to_owned(); 2],
        });
        log.node_directories = vec!["x".to_owned(); 2];
    }
    let row = &mut run.rows[0];
    row.by_node = vec![NodeFigures::default(); 2];
    row.condition = Some(RowCondition {
        commit_write: "x".to_owned(),
        log_file_sync: "x".to_owned(),
        busy_threads: 1,
        round: 1,
    });
    row.learning = Some(LearningFigures {
        log_file_sync_switch_log: vec![RecordedSyncSwitch {
            to: "x".to_owned(),
            ..RecordedSyncSwitch::default()
        }],
        ..LearningFigures::default()
    });
    judged(run)
}

/// A run of TPROC-C on a database.
fn database() -> Run {
    let mut run = short(run_of("x"));
    run.target.kind = "server".to_owned();
    run.target.facts = TargetFacts::Database(DatabaseFacts {
        product: "x".to_owned(),
        version: "x".to_owned(),
        settings: [("x".to_owned(), "x".to_owned())].into(),
        log_open_flags: Some("x".to_owned()),
        log_directory: Some("x".to_owned()),
        calibrations: vec![RedoCalibration {
            workload: "x".to_owned(),
            ..RedoCalibration::default()
        }],
    });
    let row = &mut run.rows[0];
    row.server = Some(ServerFigures {
        waits: Some(ServerWaits {
            readings: 9,
            sessions: [("x".to_owned(), 5)].into(),
            ..ServerWaits::default()
        }),
        notes: vec!["x".to_owned()],
        ..ServerFigures::default()
    });
    row.tproc_c = Some(TprocCFigures {
        detail: Some(TprocCDetail {
            latencies: [("x".to_owned(), super::fixture::stats(1e6))].into(),
            conditions: vec![ConsistencyCondition {
                name: "x".to_owned(),
                checked: 1,
                violated: 1,
                first_violation: Some("x".to_owned()),
            }],
            ..TprocCDetail::default()
        }),
        ..TprocCFigures::default()
    });
    judged(run)
}

#[test]
fn no_text_of_a_run_becomes_structure_wherever_it_is() {
    for run in [everywhere(), database(), evidence_of("x")] {
        for kept in [&CHOOSING[..], &[]] {
            check(&run, kept, |run| report::html(run, &data_of(run)));
        }
    }
}

#[test]
fn notes_of_the_user_are_on_the_first_screen() {
    let mut run = everywhere();
    let markdown = analysis::account::markdown::run(&run, &Columns::Usual, false);
    assert!(markdown.contains("- Label: x (price=x)\n"), "{markdown}");
    assert_eq!(markdown.matches("Label:").count(), 1);
    assert!(report::html(&run, &data_of(&run)).contains("<dt>Label</dt>"));
    run.notes = RunNotes::default();
    assert!(!analysis::account::markdown::run(&run, &Columns::Usual, false).contains("Label"));
}

#[test]
fn no_text_of_a_comparison_becomes_structure_wherever_it_is() {
    let (mut c, runs) = comparison_of("x");
    c.runs.iter_mut().for_each(|run| {
        run.valid = true;
        run.round_ids = vec!["x".to_owned()];
    });
    c.differences.retain(|d| d.metric != "log_file_sync.p99");
    let conditions = std::mem::take(&mut c.conditions);
    analysis::compare::decision::decide(&mut c, &[]);
    c.conditions = conditions;
    assert!(!c.answers.is_empty());
    let data = [data_of(&runs[0]), data_of(&runs[1])];
    let page = |c: &Comparison| {
        let with = [vec![(&runs[0], &data[0])], vec![(&runs[1], &data[1])]];
        compare::html(c, &with)
    };
    for kept in [&CHOOSING[..], &[]] {
        check(&c, kept, page);
    }
}
