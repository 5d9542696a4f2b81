//! A bounded sample of events for scatter plots that keeps the extremes.
//!
//! Invariants: of each stretch of time the longest waits are kept, all others are drawn alike; the
//! same events give the same sample; `seen` counts all. Stretches double when they become too
//! many, so that memory is bounded.

use measure::workload::split_mix;

/// Stretches whose longest waits are kept.
const STRETCHES: usize = 256;
/// Longest waits that are kept of each.
pub const LONGEST: usize = 4;
/// Others that are kept.
pub const DRAWN: usize = 2_500;
/// Finest stretch: 2^20 ns, about a millisecond.
const FINEST: u32 = 20;

/// One wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampledEvent {
    /// When it began: nanoseconds after the first one, or its number where there is no time.
    pub at: u64,
    /// How long it was.
    pub ns: u64,
    /// Bytes written, where the evidence contains it.
    pub bytes: Option<u64>,
}

/// A sample in the making.
#[derive(Clone, Debug)]
pub struct EventSample {
    seen: u64,
    shift: u32,
    longest: Vec<Vec<SampledEvent>>,
    drawn: Vec<SampledEvent>,
    state: u64,
    /// Where `add_at` counts from.
    origin_ns: Option<i64>,
}

impl Default for EventSample {
    fn default() -> EventSample {
        EventSample {
            seen: 0,
            shift: FINEST,
            longest: Vec::new(),
            drawn: Vec::new(),
            state: 0x5eed,
            origin_ns: None,
        }
    }
}

impl EventSample {
    /// Takes an event; they may come in any order.
    pub fn add(&mut self, event: SampledEvent) {
        self.seen += 1;
        self.draw(event);
        while event.at >> self.shift >= STRETCHES as u64 {
            self.halve();
        }
        let index = (event.at >> self.shift) as usize;
        if index >= self.longest.len() {
            self.longest.resize(index + 1, Vec::new());
        }
        keep(&mut self.longest[index], event);
    }

    /// Takes an event that began at a time of any clock, in nanoseconds: the sample counts from the
    /// first that it was given, and what began before that stands at its beginning.
    pub fn add_at(&mut self, start_ns: i64, ns: u64, bytes: Option<u64>) {
        let origin = *self.origin_ns.get_or_insert(start_ns);
        let at = start_ns.saturating_sub(origin).max(0).unsigned_abs();
        self.add(SampledEvent { at, ns, bytes });
    }

    /// Reservoir sampling (Vitter's algorithm R): each event with the same probability.
    fn draw(&mut self, event: SampledEvent) {
        if self.drawn.len() < DRAWN {
            self.drawn.push(event);
            return;
        }
        let place = split_mix(&mut self.state) % self.seen;
        if let Some(old) = usize::try_from(place)
            .ok()
            .and_then(|i| self.drawn.get_mut(i))
        {
            *old = event;
        }
    }

    #[cold]
    fn halve(&mut self) {
        self.shift += 1;
        let pairs = self.longest.chunks(2).map(|pair| {
            let mut both = Vec::new();
            pair.iter().flatten().for_each(|e| keep(&mut both, *e));
            both
        });
        self.longest = pairs.collect();
    }

    /// Events that were given.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The sample, by time; no event twice.
    #[must_use]
    pub fn events(&self) -> Vec<SampledEvent> {
        let mut all: Vec<SampledEvent> = self.longest.iter().flatten().copied().collect();
        all.extend(&self.drawn);
        all.sort_by_key(|e| (e.at, e.ns, e.bytes));
        all.dedup();
        all
    }

    /// What the sample is, in words; empty where it is everything.
    #[must_use]
    pub fn note(&self) -> String {
        if self.seen <= DRAWN as u64 {
            return String::new();
        }
        format!(
            "The figure shows {} of {} events: the {LONGEST} longest of each of {} stretches, and others drawn at random.",
            crate::format::count(self.events().len() as u64),
            crate::format::count(self.seen),
            self.longest.len(),
        )
    }
}

fn keep(longest: &mut Vec<SampledEvent>, event: SampledEvent) {
    let at = longest.partition_point(|e| e.ns >= event.ns);
    if at < LONGEST {
        longest.insert(at, event);
        longest.truncate(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_stay_and_the_sample_is_bounded() {
        let mut sample = EventSample::default();
        let n = 1_000_000_u64;
        for i in 0..n {
            let peak = i % 100_000 == 77;
            sample.add(SampledEvent {
                at: i * 1_000_000,
                ns: if peak {
                    700_000_000 + i
                } else {
                    90_000 + i % 1000
                },
                bytes: Some(512 * (1 + i % 8)),
            });
        }
        let events = sample.events();
        assert_eq!(sample.seen(), n);
        assert!(events.len() <= DRAWN + STRETCHES * LONGEST);
        assert_eq!(events.iter().filter(|e| e.ns > 1_000_000).count(), 10);
        assert!(events.is_sorted_by_key(|e| e.at));
        assert!(sample.note().contains("of 1,000,000 events"));
        // Drawn alike: about as many of the first half as of the second.
        let first = events.iter().filter(|e| e.at < n / 2 * 1_000_000).count();
        let share = first as f64 / events.len() as f64;
        assert!((0.4..0.6).contains(&share), "{share}");
    }

    #[test]
    fn few_events_are_all_shown() {
        let mut sample = EventSample::default();
        for i in 0..100 {
            sample.add(SampledEvent {
                at: u64::MAX - i,
                ns: i,
                bytes: None,
            });
        }
        assert_eq!(sample.events().len(), 100);
        assert_eq!(sample.note(), "");
    }
}
