//! Counters of events. They show their count a few cycles late.

use std::collections::VecDeque;

/// A counter.
#[derive(Clone, Debug)]
pub struct EventCounter {
    width: u32,
    count: u64,
    /// Its values of the coming cycles.
    late: VecDeque<u64>,
    latency: usize,
}

impl EventCounter {
    /// A counter of `width` bits at 0. It has segments of `segment` bits, and a carry takes a cycle from segment to
    /// segment.
    #[must_use]
    pub fn new(width: u32, segment: u32) -> Self {
        let latency = width.div_ceil(segment) as usize;
        Self { width, count: 0, late: VecDeque::from(vec![0; latency]), latency }
    }

    /// The value that it shows.
    #[must_use]
    pub fn shown(&self) -> u64 {
        self.late[0]
    }

    /// One cycle with so many events.
    pub fn cycle(&mut self, clear: bool, events: u64) {
        if clear {
            *self = Self { count: 0, late: VecDeque::from(vec![0; self.latency]), ..*self };
            return;
        }
        let count = u128::from(self.count) + u128::from(events);
        self.count = (count % (1u128 << self.width)) as u64;
        self.late.pop_front();
        self.late.push_back(self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_late_and_wraps() {
        let mut counter = EventCounter::new(2, 1);
        let shown: Vec<u64> = [1, 1, 1, 0, 1, 1]
            .map(|events| {
                counter.cycle(false, events);
                counter.shown()
            })
            .to_vec();
        assert_eq!(shown, [0, 1, 2, 3, 3, 0]);
        counter.cycle(true, 1);
        assert_eq!(counter.shown(), 0);
    }

    #[test]
    fn several_at_once() {
        let mut counter = EventCounter::new(4, 2);
        let mut shown = Vec::new();
        for events in [3, 2, 3, 3, 3, 0, 0] {
            counter.cycle(false, events);
            shown.push(counter.shown());
        }
        assert_eq!(shown, [0, 3, 5, 8, 11, 14, 14]);
    }
}
