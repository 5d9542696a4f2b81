//! What the probe found before the log was opened, and how the log was written then.

use super::{AccountColumn, AccountTable, Body, Section, Shown, detail, figure, label};
use measure::run::{ProbeRow, Run};

/// The probe at open; `None` without one.
#[must_use]
pub fn probe(run: &Run) -> Option<Section> {
    let log = run.target.redo_log()?;
    let remark = |of: &ProbeRow| {
        let chosen = of.chosen.then_some("chosen");
        let remarks: Vec<&str> = chosen.into_iter().chain(of.refused.as_deref()).collect();
        (!remarks.is_empty()).then(|| Shown::Text(remarks.join("; ")))
    };
    let columns: [AccountColumn<'_, &ProbeRow>; 7] = [
        (label("Sync method"), &|of| Shown::text(&of.sync_method)),
        (label("Engine"), &|of| Shown::text(&of.io)),
        (label("Bytes"), &|of| Shown::Bytes(of.write_bytes)),
        (detail("Writes", ""), &|of| of.writes.into()),
        (figure("p50", "ms"), &|of| Shown::ns(of.p50_ns)),
        (figure("Mean", "ms"), &|of| of.mean_ns.map(Shown::Ns).into()),
        (figure("Remark", ""), &|of| remark(of).into()),
    ];
    let table = AccountTable::of(&log.probe, &columns)?;
    let with = log.io.as_deref().map(|io| format!(" with {io}"));
    let chosen = format!("Chosen: {}{}.", log.sync_method, with.unwrap_or_default());
    Some(Section {
        id: "probe".into(),
        title: "The probe at open".to_owned(),
        about:
            "A short measurement with one durable write at a time. The log uses the sync method \
                and I/O engine for which the product of the medians over the sizes is smallest."
                .to_owned(),
        body: vec![Body::Table(table), Body::Text(chosen)],
    })
}
