//! What a queue keeps of its operations: each is divided into parts, one for each contiguous piece
//! in one file, and is complete when its parts are.
//!
//! What it must not know: rings, and how a part is handed to the kernel.

#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// `len` bytes from `at` in the region to `offset` in the file; `before` bytes of the
    /// operation lie before them.
    Write {
        at: usize,
        len: usize,
        offset: u64,
        before: u64,
    },
    /// Makes durable the writes of the file up to this count.
    Flush { written: u64 },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) operation: usize,
    pub(super) file: usize,
    pub(super) work: Work,
    /// The next part runs only after this one succeeded in full.
    pub(super) linked: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Underway {
    pub(super) id: u64,
    /// Parts that have not ended.
    pub(super) left: usize,
    /// Bytes up to the first gap so far.
    pub(super) reached: u64,
    /// The failed part that lies first.
    pub(super) failed: Option<(u64, i32)>,
}

impl Underway {
    /// Of several failures the one at the lowest offset is reported.
    pub(super) fn fail(&mut self, before: u64, errno: i32) {
        if self.failed.is_none_or(|(at, _)| before < at) {
            self.failed = Some((before, errno));
        }
    }
}

/// Values by small numbers that are used again.
#[derive(Debug)]
pub(super) struct Slots<T> {
    values: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots {
            values: Vec::new(),
            free: Vec::new(),
        }
    }
}

const IN_USE: &str = "only numbers in use are asked for";

impl<T: Copy> Slots<T> {
    pub(super) fn put(&mut self, value: T) -> usize {
        match self.free.pop() {
            Some(number) => {
                self.values[number] = Some(value);
                number
            }
            None => {
                self.values.push(Some(value));
                self.values.len() - 1
            }
        }
    }

    pub(super) fn at(&mut self, number: usize) -> &mut T {
        self.values[number].as_mut().expect(IN_USE)
    }

    pub(super) fn get(&self, number: usize) -> T {
        self.values[number].expect(IN_USE)
    }

    pub(super) fn take(&mut self, number: usize) -> T {
        self.free.push(number);
        self.values[number].take().expect(IN_USE)
    }

    /// The numbers in use.
    pub(super) fn all(&self) -> Vec<usize> {
        let numbered = self.values.iter().enumerate();
        numbered
            .filter_map(|(n, v)| v.is_some().then_some(n))
            .collect()
    }
}
