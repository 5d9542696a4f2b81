//! The values of a device model as its file names them: key, unit and range of each.
//!
//! One list of fields per kind serves reading, writing, scaling and varying, so that a value cannot
//! be read and not be varied. It knows no kind of device.

/// Where a value is.
pub(crate) enum Place<'a> {
    Number(&'a mut f64),
    Count(&'a mut u32),
    Switch(&'a mut bool),
    /// A number that may be missing, which is not the same as 0.
    Perhaps(&'a mut Option<f64>),
    List(&'a mut Vec<f64>),
    Rows(&'a mut Vec<Vec<f64>>),
}

/// What happens to a value where the device takes so many times as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Microseconds in a file, nanoseconds in a model.
    Time,
    /// Something per second.
    Rate,
    Other,
}

/// The longest time of a file, microseconds: ten minutes.
pub(crate) const MOST_US: f64 = 6e8;

/// A value of a model.
pub(crate) struct Field<'a> {
    pub(crate) key: &'static str,
    pub(crate) unit: Unit,
    /// The range that a file may give.
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// A file has to give it.
    pub(crate) needed: bool,
    pub(crate) place: Place<'a>,
}

impl<'a> Field<'a> {
    fn new(key: &'static str, unit: Unit, most: f64, place: Place<'a>) -> Field<'a> {
        Field {
            key,
            unit,
            least: 0.0,
            most,
            needed: true,
            place,
        }
    }

    /// Microseconds.
    pub(crate) fn time(key: &'static str, ns: &'a mut f64) -> Field<'a> {
        Field::new(key, Unit::Time, MOST_US, Place::Number(ns))
    }

    pub(crate) fn perhaps_time(key: &'static str, ns: &'a mut Option<f64>) -> Field<'a> {
        Field::new(key, Unit::Time, MOST_US, Place::Perhaps(ns)).optional()
    }

    /// Something per second.
    pub(crate) fn rate(key: &'static str, value: &'a mut f64) -> Field<'a> {
        Field::new(key, Unit::Rate, 1e9, Place::Number(value))
    }

    /// From 0 to `most`.
    pub(crate) fn number(key: &'static str, most: f64, value: &'a mut f64) -> Field<'a> {
        Field::new(key, Unit::Other, most, Place::Number(value))
    }

    /// From 1 to `most`.
    pub(crate) fn count(key: &'static str, most: u32, value: &'a mut u32) -> Field<'a> {
        Field::new(key, Unit::Other, most.into(), Place::Count(value)).from(1.0)
    }

    pub(crate) fn switch(key: &'static str, value: &'a mut bool) -> Field<'a> {
        Field::new(key, Unit::Other, 1.0, Place::Switch(value)).optional()
    }

    /// Numbers in one row, or microseconds.
    pub(crate) fn list(key: &'static str, unit: Unit, most: f64, list: &'a mut Vec<f64>) -> Self {
        Field::new(key, unit, most, Place::List(list))
    }

    /// Microseconds in several rows.
    pub(crate) fn rows(key: &'static str, rows: &'a mut Vec<Vec<f64>>) -> Field<'a> {
        Field::new(key, Unit::Time, MOST_US, Place::Rows(rows))
    }

    /// A file may leave it out: it is 0 then, or nothing.
    pub(crate) fn optional(self) -> Field<'a> {
        Field {
            needed: false,
            ..self
        }
    }

    /// From `least` on.
    pub(crate) fn from(self, least: f64) -> Field<'a> {
        Field { least, ..self }
    }

    /// A number of a file, in the unit of the model.
    pub(crate) fn inward(&self, value: f64) -> f64 {
        match self.unit {
            Unit::Time => value * 1e3,
            Unit::Rate | Unit::Other => value,
        }
    }

    fn outward(&self, value: f64) -> f64 {
        match self.unit {
            Unit::Time => value / 1e3,
            Unit::Rate | Unit::Other => value,
        }
    }

    /// As a file has it; `None` where a file leaves it out.
    pub(crate) fn in_toml(&self) -> Option<String> {
        let out = |value: &f64| self.outward(*value);
        let row = |list: &Vec<f64>| list.iter().map(out).collect::<Vec<f64>>();
        match &self.place {
            Place::Number(value) => {
                (self.needed || **value != 0.0).then(|| format!("{:?}", out(value)))
            }
            Place::Count(value) => (self.needed || **value != 0).then(|| value.to_string()),
            Place::Switch(value) => value.then(|| "true".to_owned()),
            Place::Perhaps(value) => value.as_ref().map(|value| format!("{:?}", out(value))),
            Place::List(list) => {
                (self.needed || !list.is_empty()).then(|| format!("{:?}", row(list)))
            }
            Place::Rows(rows) => Some(format!("{:?}", rows.iter().map(row).collect::<Vec<_>>())),
        }
    }

    /// So many times as large. `false` where that changes nothing, or leaves the range.
    pub(crate) fn vary(&mut self, factor: f64) -> bool {
        let (least, most) = (self.inward(self.least), self.inward(self.most));
        let mut changed = true;
        let mut times = |value: &mut f64| {
            *value *= factor;
            changed &= (least..=most).contains(value);
        };
        match &mut self.place {
            Place::Number(value) => times(value),
            Place::Count(value) => {
                let more = (f64::from(**value) * factor).ceil();
                changed = more <= most && **value > 0;
                **value = more as u32;
            }
            Place::Switch(_) => return false,
            Place::Perhaps(value) => match value {
                Some(value) => times(value),
                None => return false,
            },
            Place::List(list) => list.iter_mut().for_each(times),
            Place::Rows(rows) => rows.iter_mut().flatten().for_each(times),
        }
        changed
    }
}
