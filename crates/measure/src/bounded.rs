//! Lists that are read with a limit: a histogram of one value may take a quarter of a megabyte, and
//! a file that claims a million of them is short. What is beyond the limit is not kept in memory.

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

struct Limited<T> {
    most: usize,
    of: PhantomData<T>,
}

impl<T> Limited<T> {
    fn to(most: usize) -> Limited<T> {
        let of = PhantomData;
        Limited { most, of }
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Limited<Vec<T>> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a list of at most {}", self.most)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            if all.len() == self.most {
                return Err(A::Error::invalid_length(self.most + 1, &self));
            }
            all.push(item);
        }
        Ok(all)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Limited<BTreeMap<String, T>> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an object of at most {} fields", self.most)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut all = BTreeMap::new();
        while let Some((name, item)) = items.next_entry()? {
            if all.len() == self.most {
                return Err(A::Error::invalid_length(self.most + 1, &self));
            }
            all.insert(name, item);
        }
        Ok(all)
    }
}

/// Reads a list of at most `MOST`.
pub(crate) fn list<'de, D, T, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_seq(Limited::<Vec<T>>::to(MOST))
}

/// Reads an object of at most `MOST` fields.
pub(crate) fn fields<'de, D, T, const MOST: usize>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_map(Limited::<BTreeMap<String, T>>::to(MOST))
}

/// Reads a set of at most `MOST` strings.
pub(crate) fn names<'de, D, const MOST: usize>(
    deserializer: D,
) -> Result<BTreeSet<String>, D::Error>
where
    D: Deserializer<'de>,
{
    let all = deserializer.deserialize_seq(Limited::<Vec<String>>::to(MOST))?;
    Ok(all.into_iter().collect())
}
