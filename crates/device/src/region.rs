//! Memory that devices write from: aligned, optionally in huge pages and locked, owned here.
//!
//! Invariants: the address never moves; the memory lives until the last `Arc` is dropped, and a
//! queue holds one, so it outlives every operation in flight. Safe code fills a region only while
//! it owns it alone, before it shares it with queues and threads. A shared region is read and
//! written by `unsafe` functions only: their caller has a protocol that orders all accesses (the
//! log buffer has one), and a [`LogDevice`](crate::LogDevice), an `unsafe` trait for this reason,
//! reads only what was submitted to it.
#![allow(unsafe_code)]

use crate::error::DeviceError;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

mod spare;

/// Smallest page of the machines that this runs on; regions are aligned to it at least.
pub const PAGE_BYTES: usize = 4096;
/// Size and alignment of a huge page.
const HUGE_BYTES: usize = 2 << 20;

/// What a region is asked to be; what it could not be had is said in [`Region::notes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegionOptions {
    /// In huge pages that were reserved (`vm.nr_hugepages`), else in transparent ones, else in
    /// normal ones, and what was refused is noted. Without it a region of at least a huge page has
    /// transparent ones where the system gives them, and nothing is noted where it does not:
    /// reserved ones may be meant for another, such as a database's shared memory.
    pub huge_pages: bool,
    /// Locked in memory, where the limit of locked memory allows it.
    pub lock: bool,
}

impl RegionOptions {
    /// Sets whether the region takes huge pages that were reserved.
    #[must_use]
    pub const fn huge_pages(mut self, huge_pages: bool) -> RegionOptions {
        self.huge_pages = huge_pages;
        self
    }

    /// Sets whether the region is locked in memory.
    #[must_use]
    pub const fn lock(mut self, lock: bool) -> RegionOptions {
        self.lock = lock;
        self
    }
}

/// The pages that hold a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Of the smallest size.
    Normal,
    /// Transparent huge pages, at least half of it as the system counted after it was filled.
    Transparent,
    /// Huge pages that were reserved for such use.
    Huge,
}

/// Aligned memory, zeroed when it is made.
///
/// Its owner fills it; once it is shared, safe code can no longer change it:
///
/// ```
/// use device::Region;
/// use std::sync::Arc;
///
/// let mut region = Region::new(4096)?;
/// region.fill(0, b"redo");
/// let mut shared = Arc::new(region);
/// assert!(Arc::get_mut(&mut shared).is_some(), "not shared with anybody yet");
/// # Ok::<(), device::DeviceError>(())
/// ```
///
/// ```compile_fail,E0596
/// let shared = std::sync::Arc::new(device::Region::new(4096).unwrap());
/// std::thread::scope(|scope| {
///     scope.spawn(|| shared.fill(0, b"one"));
///     scope.spawn(|| shared.fill(0, b"two"));
/// });
/// ```
///
/// ```compile_fail,E0133
/// let shared = std::sync::Arc::new(device::Region::new(4096).unwrap());
/// std::thread::scope(|scope| {
///     scope.spawn(|| shared.write(0, b"one"));
///     scope.spawn(|| shared.write(0, b"two"));
/// });
/// ```
///
/// ```compile_fail,E0133
/// let shared = std::sync::Arc::new(device::Region::new(4096).unwrap());
/// shared.copy_to(0, &mut [0; 3]);
/// ```
///
/// ```compile_fail,E0133
/// let shared = std::sync::Arc::new(device::Region::new(4096).unwrap());
/// let bytes: &[u8] = shared.slice(0, 3);
/// ```
#[derive(Debug)]
pub struct Region {
    base: NonNull<u8>,
    len: usize,
    mapped: usize,
    pages: Pages,
    notes: Vec<String>,
    /// Another region may have the mapping after this one.
    is_plain: AtomicBool,
}

// SAFETY: a region is plain memory of the process; no thread owns it.
unsafe impl Send for Region {}
// SAFETY: through `&Region` no safe function reads or writes the memory; what does is `unsafe`,
// and its caller orders it with all other accesses.
unsafe impl Sync for Region {}

impl Region {
    /// At least `len` bytes in normal pages.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn new(len: usize) -> Result<Region, DeviceError> {
        let mapped = len.max(1).div_ceil(PAGE_BYTES) * PAGE_BYTES;
        let region = match spare::take(mapped) {
            Some(base) => Region::of(base, len, mapped),
            None => {
                let region = Region::map(len, PAGE_BYTES, MapFlags::empty())?;
                region.populate().map_err(|e| region.no_memory(e))?;
                region
            }
        };
        region.is_plain.store(true, Ordering::Relaxed);
        Ok(region)
    }

    /// Of a mapping that nobody else has.
    fn of(base: NonNull<u8>, len: usize, mapped: usize) -> Region {
        Region {
            base,
            len: len.max(1),
            mapped,
            pages: Pages::Normal,
            notes: Vec::new(),
            is_plain: false.into(),
        }
    }

    /// At least as many bytes as `bytes` has, in normal pages, beginning with these.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn holding(bytes: &[u8]) -> Result<Region, DeviceError> {
        let mut region = Region::new(bytes.len())?;
        region.fill(0, bytes);
        Ok(region)
    }

    /// At least `len` bytes in huge pages where the system allows it.
    ///
    /// # Errors
    /// When the system has no memory at all.
    pub fn huge(len: usize) -> Result<Region, DeviceError> {
        Region::with(
            len,
            RegionOptions {
                huge_pages: true,
                lock: false,
            },
        )
    }

    /// At least `len` bytes, as near to `options` as the system allows.
    ///
    /// # Errors
    /// When the system has no memory at all.
    pub fn with(len: usize, options: RegionOptions) -> Result<Region, DeviceError> {
        let mut region = if options.huge_pages {
            match Region::reserved(len) {
                Ok(region) => region,
                Err(refused) => Region::transparent(len, Some(refused))?,
            }
        } else if len >= HUGE_BYTES {
            Region::transparent(len, None)?
        } else {
            Region::new(len)?
        };
        if options.lock {
            region.is_plain.store(false, Ordering::Relaxed);
            // SAFETY: locks our own mapping.
            let locked = unsafe { rustix::mm::mlock(region.base().cast(), region.mapped) };
            if let Err(errno) = locked {
                let bytes = region.mapped;
                region.notes.push(format!(
                    "locking {bytes} bytes of the log buffer in memory refused: {} (ulimit -l): \
                     it is not locked",
                    std::io::Error::from(errno)
                ));
            }
        }
        Ok(region)
    }

    /// In huge pages that were reserved. Filled here, since a page that the system does not have
    /// would otherwise end the process at its first use.
    fn reserved(len: usize) -> Result<Region, Errno> {
        let mut region = Region::map(len, HUGE_BYTES, MapFlags::HUGETLB)
            .map_err(|e| e.errno().unwrap_or(Errno::NOMEM))?;
        region.populate()?;
        region.pages = Pages::Huge;
        Ok(region)
    }

    /// Asks for transparent huge pages, and looks what came. Noted where reserved ones were
    /// `refused`.
    fn transparent(len: usize, refused: Option<Errno>) -> Result<Region, DeviceError> {
        let mut region = Region::map(len, HUGE_BYTES, MapFlags::empty())?;
        // SAFETY: advice on our own mapping changes no byte of it.
        let advised = unsafe {
            let all = region.base().cast();
            rustix::mm::madvise(all, region.mapped, Advice::LinuxHugepage)
        };
        region.populate().map_err(|e| region.no_memory(e))?;
        let held = match advised {
            Ok(()) => transparent_bytes(region.base() as usize),
            Err(_) => Some(0),
        };
        let held = held.map_or(0, |bytes| bytes.min(region.mapped));
        let instead = if held >= region.mapped / 2 {
            region.pages = Pages::Transparent;
            "transparent huge pages"
        } else {
            "normal pages"
        };
        if let Some(refused) = refused {
            region.notes.push(format!(
                "reserved huge pages refused: {} (vm.nr_hugepages): {instead} instead, {} of {} \
                 MiB of the log buffer in huge pages",
                std::io::Error::from(refused),
                held >> 20,
                region.mapped >> 20
            ));
        }
        Ok(region)
    }

    /// Maps memory whose address and length are multiples of `unit`.
    fn map(len: usize, unit: usize, flags: MapFlags) -> Result<Region, DeviceError> {
        let mapped = len.max(1).div_ceil(unit) * unit;
        // The system aligns to its pages; what lies outside the aligned part is given back.
        let spare = match flags.contains(MapFlags::HUGETLB) {
            true => 0,
            false => unit - PAGE_BYTES,
        };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = flags | MapFlags::PRIVATE;
        // SAFETY: a fresh anonymous mapping at an address of the system's choice aliases nothing.
        let start = unsafe {
            let anywhere = std::ptr::null_mut();
            rustix::mm::mmap_anonymous(anywhere, mapped + spare, protection, flags)
        };
        let start = start.map_err(|e| DeviceError::Memory {
            bytes: mapped,
            source: e.into(),
        })?;
        let start = start.cast::<u8>();
        let before = start.align_offset(unit);
        // SAFETY: both ends lie in the mapping, and nobody has seen it yet.
        let base = unsafe {
            let base = start.add(before);
            give_back(start, before);
            give_back(base.add(mapped), spare - before);
            base
        };
        let base = NonNull::new(base).expect("mmap never returns null");
        Ok(Region::of(base, len, mapped))
    }

    /// Has the system find every page now, not in somebody's commit.
    fn populate(&self) -> Result<(), Errno> {
        // SAFETY: writes nothing; the pages are ours.
        let filled = unsafe {
            let all = self.base().cast();
            rustix::mm::madvise(all, self.mapped, Advice::LinuxPopulateWrite)
        };
        // Kernels before 5.14 do not know it: there each page comes at its first use.
        match filled {
            Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
            other => other,
        }
    }

    fn no_memory(&self, errno: Errno) -> DeviceError {
        DeviceError::Memory {
            bytes: self.mapped,
            source: errno.into(),
        }
    }

    /// Keeps the memory out of processes that this one forks, from now on: a child has nothing at
    /// these addresses. Otherwise the first write behind a fork may give the process another page
    /// than the one that the kernel has pinned for a device.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn keep_from_children(&self) -> Result<(), Errno> {
        self.is_plain.store(false, Ordering::Relaxed);
        // SAFETY: the advice changes no byte of our own mapping, and this process keeps it.
        unsafe { rustix::mm::madvise(self.base().cast(), self.mapped, Advice::LinuxDontFork) }
    }

    /// First byte.
    #[inline]
    #[must_use]
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Usable bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never; a region has at least one byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Huge pages hold it, reserved or transparent ones.
    #[must_use]
    pub fn is_huge(&self) -> bool {
        self.pages != Pages::Normal
    }

    /// What holds it.
    #[must_use]
    pub fn pages(&self) -> Pages {
        self.pages
    }

    /// What it was asked to be and is not, each in words with the reason.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// All bytes, for the only owner.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: all of the mapping, initialised by mmap; the exclusive borrow excludes every
        // other access, also a device's, since a queue holds an `Arc` of its region.
        unsafe { std::slice::from_raw_parts_mut(self.base(), self.len) }
    }

    /// Copies `bytes` to offset `at`, for the only owner.
    ///
    /// # Panics
    /// When the range lies outside the region.
    pub fn fill(&mut self, at: usize, bytes: &[u8]) {
        let range = self.bytes_mut().get_mut(at..);
        let range = range.and_then(|rest| rest.get_mut(..bytes.len()));
        range
            .expect("range outside the region")
            .copy_from_slice(bytes);
    }

    /// The bytes `at..at + len`.
    ///
    /// # Safety
    /// Nobody writes them while the slice lives.
    ///
    /// # Panics
    /// When the range lies outside the region.
    #[inline]
    #[must_use]
    pub unsafe fn slice(&self, at: usize, len: usize) -> &[u8] {
        assert!(
            at <= self.len && len <= self.len - at,
            "range outside the region"
        );
        // SAFETY: in bounds by the assert, initialised by mmap, unaliased by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.base().add(at), len) }
    }

    /// Copies `bytes` to offset `at` of a region that is shared.
    ///
    /// # Safety
    /// Every other access to these bytes happens before or after this one: of other threads, and
    /// of devices, which read them from the submission of a write that names them until its
    /// completion was returned.
    ///
    /// # Panics
    /// When the range lies outside the region.
    #[inline]
    pub unsafe fn write(&self, at: usize, bytes: &[u8]) {
        assert!(
            at <= self.len && bytes.len() <= self.len - at,
            "range outside the region"
        );
        // SAFETY: in bounds by the assert; `bytes` lies elsewhere, since a slice of these bytes
        // would be an access at the same time, which the caller excludes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base().add(at), bytes.len()) }
    }

    /// Copies the bytes from offset `at` of a region that is shared to `out`.
    ///
    /// # Safety
    /// Nobody writes them meanwhile; a device may rely on that for the bytes of a write between
    /// its submission and the return of its completion.
    ///
    /// # Panics
    /// When the range lies outside the region.
    pub unsafe fn copy_to(&self, at: usize, out: &mut [u8]) {
        assert!(
            at <= self.len && out.len() <= self.len - at,
            "range outside the region"
        );
        // SAFETY: in bounds by the assert, initialised by mmap, and not written meanwhile by the
        // caller's promise; `out` is borrowed exclusively and thus lies elsewhere.
        unsafe {
            std::ptr::copy_nonoverlapping(self.base().add(at), out.as_mut_ptr(), out.len());
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // Nobody has the mapping any more.
        if *self.is_plain.get_mut() && spare::keep(self.base, self.mapped) {
            return;
        }
        // SAFETY: the mapping is ours and no queue holds it any more.
        let unmapped = unsafe { rustix::mm::munmap(self.base().cast(), self.mapped) };
        debug_assert!(unmapped.is_ok(), "unmapping our own memory cannot fail");
    }
}

/// Gives whole pages back to the system.
///
/// # Safety
/// They are ours, and nobody uses them.
unsafe fn give_back(at: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: by the caller's promise.
        let unmapped = unsafe { rustix::mm::munmap(at.cast(), len) };
        debug_assert!(unmapped.is_ok(), "unmapping our own memory cannot fail");
    }
}

/// Bytes of the mapping around an address that transparent huge pages hold, by the system's count;
/// a neighbour that the system has merged with it is counted too.
fn transparent_bytes(address: usize) -> Option<usize> {
    let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    anonymous_huge(&maps, address)
}

/// As [`transparent_bytes`], in the text of `smaps`.
fn anonymous_huge(maps: &str, address: usize) -> Option<usize> {
    let mut inside = false;
    for line in maps.lines() {
        let first = line.split(' ').next()?;
        if let Some((from, to)) = first.split_once('-') {
            let hex = |text| usize::from_str_radix(text, 16).ok();
            inside = (hex(from)?..hex(to)?).contains(&address);
        } else if inside && first == "AnonHugePages:" {
            let mut words = line.split_whitespace();
            return Some(words.nth(1)?.parse::<usize>().ok()? << 10);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_aligned_and_zeroed() {
        for len in [1, 511, 4096, 70_000] {
            let region = Region::new(len).expect("memory");
            assert_eq!(region.base() as usize % PAGE_BYTES, 0);
            // SAFETY: nobody writes it.
            assert!(unsafe { region.slice(0, len) }.iter().all(|b| *b == 0));
        }
    }

    #[test]
    fn huge_pages_are_found_in_the_systems_list() {
        let maps = "\
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      2048 kB
7f0000400000-7f0000800000 rw-p 00000000 00:00 0 [heap]
AnonHugePages:      4096 kB
";
        for (address, held) in [
            (0x7f00_0000_0000, Some(2 << 20)),
            (0x7f00_003f_ffff, Some(2 << 20)),
            (0x7f00_0040_0000, Some(4 << 20)),
            (0x7f00_0080_0000, None),
        ] {
            assert_eq!(anonymous_huge(maps, address), held, "{address:x}");
        }
    }

    #[test]
    fn memory_that_may_not_be_locked_is_had_all_the_same() {
        let options = RegionOptions {
            huge_pages: false,
            lock: true,
        };
        // Locking is a right of the thread, and this one ends.
        let thread = std::thread::spawn(move || {
            use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
            let small = Region::with(4096, options).expect("memory");
            let mut sets = capabilities(None).expect("own capabilities");
            sets.effective.remove(CapabilitySet::IPC_LOCK);
            set_capabilities(None, sets).expect("less is always allowed");
            let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock);
            let limit = limit.current.unwrap_or(u64::MAX);
            if limit > 256 << 20 {
                println!("skipped: the limit of locked memory is {limit} bytes");
                return;
            }
            let large = Region::with(limit as usize + (1 << 20), options).expect("memory");
            assert!(large.notes()[0].contains("not locked"));
            assert!(small.notes().is_empty() || limit < 4096);
        });
        thread.join().expect("no panic");
    }

    #[test]
    fn reserved_pages_are_taken_only_on_request_and_nothing_is_said_without_one() {
        for len in [4096, 3 << 20] {
            let region = Region::with(len, RegionOptions::default()).expect("memory");
            assert_ne!(region.pages(), Pages::Huge);
            assert_eq!(region.notes(), [""; 0]);
            assert!(region.len() >= len);
        }
    }

    #[test]
    fn huge_falls_back_and_says_so() {
        let mut region = Region::huge(3 << 20).expect("memory");
        assert_eq!(region.base() as usize % HUGE_BYTES, 0);
        assert_eq!(region.notes().is_empty(), region.pages() == Pages::Huge);
        for note in region.notes() {
            assert!(note.contains("vm.nr_hugepages"), "{note}");
        }
        region.fill((3 << 20) - 4, b"tail");
        assert_eq!(&region.bytes_mut()[(3 << 20) - 4..3 << 20], b"tail");
    }

    #[test]
    fn only_huge_pages_count_as_huge() {
        let mut region = Region::new(4096).expect("memory");
        for (pages, is_huge) in [
            (Pages::Normal, false),
            (Pages::Transparent, true),
            (Pages::Huge, true),
        ] {
            region.pages = pages;
            assert_eq!((region.pages(), region.is_huge()), (pages, is_huge));
        }
    }

    /// Where the system gives no transparent huge pages, a large region is in normal ones.
    #[test]
    fn pages_that_the_system_does_not_give_are_not_claimed() {
        const CHILD: &str = "REDOLAB_TEST_WITHOUT_HUGE_PAGES";
        if std::env::var_os(CHILD).is_some() {
            // Of the process: so this one is a child.
            if rustix::thread::disable_transparent_huge_pages(true).is_err() {
                println!("skipped: the system does not take transparent huge pages away");
                return;
            }
            let region = Region::with(3 << 20, RegionOptions::default()).expect("memory");
            assert_eq!(region.pages(), Pages::Normal);
            return;
        }
        let mut child = std::process::Command::new(std::env::current_exe().expect("a path"));
        let name = "region::tests::pages_that_the_system_does_not_give_are_not_claimed";
        let output = child.args(["--exact", name]).env(CHILD, "1").output();
        let output = output.expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}"
        );
    }
}
