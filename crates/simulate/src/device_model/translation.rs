//! The translation of flash: pages are never written twice, so a map says where each is, and a
//! collector moves what is valid out of the block with the least of it (greedy) and erases that.
//!
//! What is called a row here lies across all dies. It knows no time.

/// Pages of a row.
pub(super) const ROW: usize = 256;
/// Rows that are erased before the collector begins.
const LOW: usize = 2;
/// Rows that a device has beyond what it offers, at least.
const SPARE_ROWS: usize = LOW + 2;
/// Marks of rows that cannot be collected, above every number of valid pages.
const IN_USE: u16 = 0x4000;
const ERASED: u16 = 0x8000;
const NOWHERE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Translation {
    /// Of each page that is offered: where it is.
    map: Vec<u32>,
    /// Of each place: the page that was written there.
    owners: Vec<u32>,
    /// Of each row: its valid pages, and a mark.
    valid: Vec<u16>,
    erased: Vec<u32>,
    /// The row that is written, and its pages so far.
    open: usize,
    filled: usize,
    /// The row that is collected: the next place in it, and how many of its pages move for each
    /// page that is written.
    victim: Option<(usize, u32)>,
    /// Pages that were written, by the device's users and in all.
    pub(super) written: u64,
    pub(super) programmed: u64,
}

impl Translation {
    /// Offers `pages`, with so much more beyond as `over_provisioning` is of them.
    pub(super) fn new(pages: usize, over_provisioning: f64) -> Translation {
        let all = libm::ceil(pages as f64 * (1.0 + over_provisioning)) as usize;
        let rows = all.div_ceil(ROW).max(pages.div_ceil(ROW) + SPARE_ROWS);
        let mut valid = vec![ERASED; rows];
        valid[0] = IN_USE;
        Translation {
            map: vec![NOWHERE; pages],
            owners: vec![NOWHERE; rows * ROW],
            valid,
            erased: (1..rows as u32).rev().collect(),
            open: 0,
            filled: 0,
            victim: None,
            written: 0,
            programmed: 0,
        }
    }

    pub(super) fn is_written(&self, page: usize) -> bool {
        self.map[page] != NOWHERE
    }

    /// Writes a page. How many others were moved for it.
    pub(super) fn write(&mut self, page: usize) -> u32 {
        self.written += 1;
        self.append(page);
        self.collect()
    }

    fn append(&mut self, page: usize) {
        let old = self.map[page];
        if old != NOWHERE {
            self.valid[old as usize / ROW] -= 1;
        }
        if self.filled == ROW {
            self.valid[self.open] -= IN_USE;
            let next = self.erased.pop().expect("the collector keeps rows erased");
            (self.open, self.filled) = (next as usize, 0);
            self.valid[self.open] = IN_USE;
        }
        let place = self.open * ROW + self.filled;
        self.filled += 1;
        self.owners[place] = page as u32;
        self.map[page] = place as u32;
        self.valid[self.open] += 1;
        self.programmed += 1;
    }

    fn collect(&mut self) -> u32 {
        if self.victim.is_none() && self.erased.len() < LOW {
            let least = self.valid.iter().copied().min().unwrap_or(ERASED);
            let row = self.valid.iter().position(|valid| *valid == least);
            if let Some(row) = row.filter(|_| usize::from(least) < ROW) {
                let gains = ROW as u32 - u32::from(least);
                self.valid[row] += IN_USE;
                self.victim = Some((row * ROW, u32::from(least).div_ceil(gains)));
            }
        }
        let Some((mut place, each)) = self.victim else {
            return 0;
        };
        let row = place / ROW;
        let mut moved = 0;
        loop {
            if self.valid[row] == IN_USE {
                self.valid[row] = ERASED;
                self.erased.push(row as u32);
                self.victim = None;
                return moved;
            }
            let page = self.owners[place] as usize;
            if self.map[page] as usize == place {
                if moved == each {
                    self.victim = Some((place, each));
                    return moved;
                }
                self.append(page);
                moved += 1;
            }
            place += 1;
        }
    }
}
