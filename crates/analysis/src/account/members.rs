//! The members of a log: who was first, outliers, and what one of them alone held.

use super::{AccountColumn, AccountTable, Body, Section, Shown, detail, figure, label};
use measure::run::{MemberFacts, Run};

/// The members and what their counts mean; `None` of a log without.
#[must_use]
pub fn members(run: &Run) -> Option<Section> {
    let log = run.target.redo_log()?;
    let kind = log.members_kind()?;
    let ahead = |of: &MemberFacts| of.margin_ns as f64 / of.first as f64;
    let stale = |of: &MemberFacts| match of.in_sync {
        true => of.directory.clone(),
        false => format!("{} (stale)", of.directory),
    };
    let columns: [AccountColumn<'_, (usize, &MemberFacts)>; 9] = [
        (label("Member"), &|(at, _)| (at + 1).into()),
        (figure("Log writes", ""), &|(_, of)| of.log_writes.into()),
        (figure("First", ""), &|(_, of)| of.first.into()),
        (figure("Ahead", "ms"), &|(_, of)| {
            (of.first > 0).then(|| Shown::Ns(ahead(of))).into()
        }),
        (figure("Longest", "ms"), &|(_, of)| {
            Shown::Ns(of.longest_ns as f64)
        }),
        (figure("Outliers", ""), &|(_, of)| of.outliers.into()),
        (detail("Window", "kB"), &|(_, of)| {
            of.window_bytes.div_ceil(1000).into()
        }),
        (detail("Window", "ms"), &|(_, of)| {
            Shown::Ns(of.window_ns as f64)
        }),
        (detail("Directory", ""), &|(_, of)| Shown::Text(stale(of))),
    ];
    let mut body = vec![Body::Table(AccountTable::of(
        log.members.iter().enumerate(),
        &columns,
    )?)];
    let races = log.members.windows(2).any(|m| m[0].cell == m[1].cell);
    if races {
        body.push(Body::Text(
            "Window: what was acknowledged and not durable on this member; it is lost with the \
             others of its race. Members flush volatile caches here. The caches of an Exadata cell \
             are protected, so its counters are not comparable with these."
                .to_owned(),
        ));
        body.extend(flash(&log.members).into_iter().flatten());
    }
    Some(Section {
        id: "members".into(),
        title: format!("Members: {kind}"),
        about: "Who of them completed a log write first, and by how much. All counts are of the \
                whole life of the log, warm-ups included."
            .to_owned(),
        body,
    })
}

/// The counters of a race of two as Oracle names them; the first member is the disk.
fn flash(members: &[MemberFacts]) -> Option<[Body; 3]> {
    let [disk, flash] = members else { return None };
    let both = disk.outliers_of_all;
    let prevented = disk.outliers.saturating_sub(both);
    let efficiency = (prevented + both > 0)
        .then(|| Shown::Share(prevented as f64 * 100.0 / (prevented + both) as f64));
    let writes = disk.log_writes.max(flash.log_writes);
    let part = |n: u64| 100.0 * n as f64 / writes.max(1) as f64;
    let product = part(disk.outliers) * part(flash.outliers) / 100.0;
    let fact = |name: &str, value: Shown| (name.to_owned(), value);
    let facts = vec![
        fact("FL_DISK_FIRST", disk.first.into()),
        fact("FL_FLASH_FIRST", flash.first.into()),
        fact("FL_PREVENTED_OUTLIERS", prevented.into()),
        fact("FL_ACTUAL_OUTLIERS", both.into()),
        fact(
            "FL_FLASH_ONLY_OUTLIERS",
            flash.outliers.saturating_sub(both).into(),
        ),
        fact("FL_EFFICIENCY_PERCENTAGE", efficiency.into()),
        fact("Log writes slow on both", Shown::Share(part(both))),
        fact("If they were independent", Shown::Share(product)),
    ];
    Some([
        Body::Text(
            "As Oracle counts, with member 1 as disk and member 2 as flash. FL_IO_W_SKIP_BUSY and \
             FL_IO_W_SKIP_LARGE do not apply: every log write goes to each member that is in use."
                .to_owned(),
        ),
        Body::Facts(facts),
        Body::Text(
            "These counters do not show what the race gains: measure interleaved rounds with and \
             without it (redolab compare --on disk=DISK --on race=race:DISK,FLASH)."
                .to_owned(),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::words_of;
    use crate::findings::fixture::clean_run;

    fn member(cell: u64, first: u64, directory: &str) -> MemberFacts {
        MemberFacts {
            cell,
            first,
            log_writes: 100,
            margin_ns: first * 2_000_000,
            longest_ns: 15_000_000,
            outliers: 10,
            outliers_of_all: 4,
            window_bytes: 4096,
            directory: directory.to_owned(),
            in_sync: first > 0,
            ..MemberFacts::default()
        }
    }

    #[test]
    fn a_race_has_the_counters_of_oracle_and_a_mirror_has_none() {
        let mut run = clean_run();
        assert_eq!(members(&run), None);
        for (cells, counters) in [([0, 0], true), ([0, 1], false)] {
            run.target.redo_log_mut().members =
                vec![member(cells[0], 60, "/u01"), member(cells[1], 0, "/u02")];
            let section = members(&run).expect("two members");
            let lines = words_of(&section);
            assert_eq!(lines[0][1..6], ["100", "60", "2.00", "15.0", "10"]);
            assert_eq!(lines[1][3], "–", "it was never ahead");
            assert_eq!((&*lines[1][6], &*lines[1][8]), ("5", "/u02 (stale)"));
            let facts = section.body.iter().find_map(|body| match body {
                Body::Facts(facts) => Some(facts),
                _ => None,
            });
            assert_eq!(facts.is_some(), counters, "{section:?}");
            let of = |name: &str| facts.map(|all| all.iter().find(|(n, _)| n == name).cloned());
            let prevented = of("FL_PREVENTED_OUTLIERS").map(|found| found.expect("one").1);
            assert_eq!(prevented, counters.then_some(Shown::Count(6)));
            let both = of("If they were independent").map(|found| found.expect("one").1);
            assert_eq!(both, counters.then_some(Shown::Share(1.0)));
        }
    }
}
