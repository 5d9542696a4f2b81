//! A short queue in place: what is in flight, oldest first. It never allocates, and looking
//! through it costs what is in it, not what would fit.

/// At most `N` items in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo<T: Copy + Default, const N: usize> {
    items: [T; N],
    len: usize,
}

impl<T: Copy + Default, const N: usize> Default for Fifo<T, N> {
    fn default() -> Fifo<T, N> {
        Fifo {
            items: [T::default(); N],
            len: 0,
        }
    }
}

impl<T: Copy + Default, const N: usize> Fifo<T, N> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends an item.
    ///
    /// # Panics
    /// When it is full: its owner bounds what is in flight.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        assert!(self.len < N, "no more than {N} in flight");
        self.items[self.len] = item;
        self.len += 1;
    }

    /// Removes the oldest item, if there is one.
    #[inline]
    pub(crate) fn drop_front(&mut self) {
        if self.len > 1 {
            self.items.copy_within(1..self.len, 0);
        }
        self.len = self.len.saturating_sub(1);
    }

    /// Removes the oldest item that is `wanted`.
    #[inline]
    pub(crate) fn take(&mut self, wanted: impl FnMut(&T) -> bool) -> Option<T> {
        let at = self.iter().position(wanted)?;
        let item = self.items[at];
        if at + 1 < self.len {
            self.items.copy_within(at + 1..self.len, at);
        }
        self.len -= 1;
        Some(item)
    }

    /// The oldest item that is `wanted`.
    #[inline]
    pub(crate) fn find_mut(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Option<&mut T> {
        self.iter_mut().find(|item| wanted(item))
    }

    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut T> {
        self.iter_mut().next()
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.iter().next()
    }

    #[inline]
    pub(crate) fn back(&self) -> Option<&T> {
        self.items[..self.len].last()
    }

    #[inline]
    pub(crate) fn back_mut(&mut self) -> Option<&mut T> {
        self.items[..self.len].last_mut()
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items[..self.len].iter()
    }

    #[inline]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items[..self.len].iter_mut()
    }
}
