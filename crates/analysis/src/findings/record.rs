//! How often each finding was a false alarm on healthy inputs, and how many planted faults it
//! found: `cargo xtask prove findings` computes it, experiments/findings describes it.
//!
//! Invariant: a finding that was not tested has no record; none of so many is never called zero,
//! but "under" the bound that so many allow.

/// A line for each finding that was tested; lines that begin with `#` say what made them.
const DATA: &str = include_str!("record.csv");

/// The record of one finding.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FindingRecord {
    /// Healthy inputs made by other programs that contain what the rule reads.
    pub real_inputs: u64,
    /// Those on which the finding was a caution or worse.
    pub real_alarms: u64,
    /// Healthy inputs made by a generator that contain what the rule reads.
    pub generated_inputs: u64,
    /// Those on which the finding was a caution or worse.
    pub generated_alarms: u64,
    /// Inputs with one planted fault that the finding has to report.
    pub planted: u64,
    /// Those that it reported.
    pub found: u64,
}

impl FindingRecord {
    /// The record of a finding, by its id.
    #[must_use]
    pub fn of(id: &str) -> Option<FindingRecord> {
        find(DATA, id)
    }

    /// In words: false alarms on real and on generated inputs, faults that were found.
    #[must_use]
    pub fn words(&self) -> String {
        let found = match self.planted {
            0 => "no fault was planted".to_owned(),
            planted => format!("found {} of {planted} planted faults", self.found),
        };
        format!(
            "false alarms: {}, {}; {found}",
            alarms(self.real_alarms, self.real_inputs, "real"),
            alarms(self.generated_alarms, self.generated_inputs, "generated")
        )
    }
}

fn find(data: &str, id: &str) -> Option<FindingRecord> {
    let mut lines = data.lines().map(|line| line.split(','));
    let mut of = lines
        .find(|fields| fields.clone().next() == Some(id))?
        .skip(2);
    let mut next = || of.next()?.parse().ok();
    Some(FindingRecord {
        real_inputs: next()?,
        real_alarms: next()?,
        generated_inputs: next()?,
        generated_alarms: next()?,
        planted: next()?,
        found: next()?,
    })
}

/// `0 of 112 real (under 2.7 %)`: by the rule of three, none of n is under 3/n at 95 %.
fn alarms(alarms: u64, inputs: u64, what: &str) -> String {
    let share = |of: f64| format!("{:.1}", 100.0 * of / inputs as f64);
    let bound = match (alarms, inputs) {
        (_, 0) => return format!("no {what} input"),
        (0, 1..=3) => String::new(),
        (0, _) => format!(" (under {} %)", share(3.0)),
        _ => format!(" ({} %)", share(alarms as f64)),
    };
    format!("{alarms} of {inputs} {what}{bound}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::catalogue;
    use crate::thresholds::Thresholds;

    #[test]
    fn none_of_many_is_a_bound_and_not_zero() {
        let data =
            "finding,basis,a,b,c,d,e,f\n# commit\ndiagnosis.tail,opinion,112,0,200,1,20,19\n";
        let record = find(data, "diagnosis.tail").expect("a record");
        assert_eq!(
            record.words(),
            "false alarms: 0 of 112 real (under 2.7 %), 1 of 200 generated (0.5 %); \
             found 19 of 20 planted faults"
        );
        assert_eq!(find(data, "diagnosis"), None);
        assert_eq!(find(data, "finding"), None);
        assert_eq!(alarms(0, 2, "real"), "0 of 2 real");
        assert_eq!(alarms(0, 0, "real"), "no real input");
    }

    #[test]
    fn each_record_is_of_a_finding_with_its_basis() {
        let limits = Thresholds::default();
        for line in DATA.lines().skip(1).filter(|line| !line.starts_with('#')) {
            let mut fields = line.split(',');
            let entry = catalogue::entry(fields.next().unwrap_or_default());
            let basis = entry.map(|entry| entry.basis(&limits).word());
            assert_eq!(basis, fields.next(), "{line}: prove findings again");
            assert!(
                FindingRecord::of(entry.expect("found").id).is_some(),
                "{line}"
            );
        }
    }
}
