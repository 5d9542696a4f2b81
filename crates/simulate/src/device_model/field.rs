//! The values of a device model as its file names them: key, unit and range of each.
//!
//! One list of fields per kind serves reading, writing, scaling and varying, so that a value cannot
//! be read and not be varied. It knows no kind of device.

/// Where a value is.
pub(crate) enum Place<'a> {
    Number(&'a mut f64),
    Count(&'a mut u32),
    /// A number that may be missing, which is not the same as 0.
    Perhaps(&'a mut Option<f64>),
    List(&'a mut Vec<f64>),
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
    pub(crate) range: (f64, f64),
    /// A file has to give it.
    pub(crate) needed: bool,
    pub(crate) place: Place<'a>,
}

impl<'a> Field<'a> {
    fn new(key: &'static str, unit: Unit, most: f64, place: Place<'a>) -> Field<'a> {
        Field {
            key,
            unit,
            range: (0.0, most),
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

    /// Microseconds in a row.
    pub(crate) fn times(key: &'static str, ns: &'a mut Vec<f64>) -> Field<'a> {
        Field::new(key, Unit::Time, MOST_US, Place::List(ns))
    }

    /// Something per second.
    pub(crate) fn rate(key: &'static str, value: &'a mut f64) -> Field<'a> {
        Field::new(key, Unit::Rate, 1e9, Place::Number(value))
    }

    /// From 0 to `most`.
    pub(crate) fn number(key: &'static str, most: f64, value: &'a mut f64) -> Field<'a> {
        Field::new(key, Unit::Other, most, Place::Number(value))
    }

    pub(crate) fn list(key: &'static str, most: f64, list: &'a mut Vec<f64>) -> Field<'a> {
        Field::new(key, Unit::Other, most, Place::List(list))
    }

    /// From 1 to `most`.
    pub(crate) fn count(key: &'static str, most: u32, value: &'a mut u32) -> Field<'a> {
        Field::new(key, Unit::Other, most.into(), Place::Count(value)).from(1.0)
    }

    /// A file may leave it out: it is 0 then, or nothing.
    pub(crate) fn optional(mut self) -> Field<'a> {
        self.needed = false;
        self
    }

    /// From `least` on.
    pub(crate) fn from(mut self, least: f64) -> Field<'a> {
        self.range.0 = least;
        self
    }

    fn per_file_unit(&self) -> f64 {
        if self.unit == Unit::Time { 1e3 } else { 1.0 }
    }

    /// As a file has it; nothing where a file leaves it out.
    pub(crate) fn get(&self) -> Vec<f64> {
        let all = match &self.place {
            Place::Number(value) => vec![**value],
            Place::Count(value) => vec![f64::from(**value)],
            Place::Perhaps(value) => value.iter().copied().collect(),
            Place::List(list) => list.to_vec(),
        };
        let left_out = !self.needed && all == [0.0] && !matches!(self.place, Place::Perhaps(_));
        let all = all.into_iter().filter(|_| !left_out);
        all.map(|value| value / self.per_file_unit()).collect()
    }

    /// Takes what a file has: one number, but for a list.
    pub(crate) fn set(&mut self, mut values: Vec<f64>) {
        let unit = self.per_file_unit();
        values.iter_mut().for_each(|value| *value *= unit);
        let one = values.first().copied();
        match &mut self.place {
            Place::Number(place) => **place = one.unwrap_or_default(),
            Place::Count(place) => **place = one.unwrap_or_default() as u32,
            Place::Perhaps(place) => **place = one,
            Place::List(place) => **place = values,
        }
    }

    /// So many times as large, whole numbers rounded up.
    pub(crate) fn vary(&mut self, factor: f64) {
        let mut values = self.get();
        values.iter_mut().for_each(|value| *value *= factor);
        if matches!(self.place, Place::Count(_)) {
            values.iter_mut().for_each(|value| *value = value.ceil());
        }
        self.set(values);
    }

    pub(crate) fn is_in_range(&self) -> bool {
        let (least, most) = self.range;
        self.get()
            .iter()
            .all(|value| (least..=most).contains(value))
    }
}

/// A value that contradicts another one: its key, and what to do.
pub(crate) type Contradiction = Option<(&'static str, String)>;

/// A value that is given without another one that it needs.
pub(crate) fn lone(has: (&'static str, f64), lacks: (&'static str, f64)) -> Contradiction {
    let what = format!("{} without {}: give both", has.0, lacks.0);
    (has.1 > 0.0 && lacks.1 == 0.0).then_some((has.0, what))
}
