//! FIFO, in registers or in a memory whose read register is the last place.

use std::collections::VecDeque;

use super::{Inputs, Queue, Shown};

/// A FIFO.
#[derive(Clone, Debug)]
pub struct StreamFifo<T> {
    depth: usize,
    /// Beats that cannot be shown yet. In a memory, these are the beats that come after the read register's.
    stored: VecDeque<T>,
    shown: VecDeque<T>,
    memory: bool,
}

impl<T> StreamFifo<T> {
    /// An empty FIFO for `depth` beats.
    #[must_use]
    pub fn new(depth: usize, memory: bool) -> Self {
        Self { depth, stored: VecDeque::new(), shown: VecDeque::new(), memory }
    }
}

impl<T: Clone> Queue<T> for StreamFifo<T> {
    fn show(&self, inputs: &Inputs<T>) -> Shown<T> {
        let level = self.stored.len() + self.shown.len();
        Shown { ready: level < self.depth && !inputs.clear, beat: self.shown.front().cloned(), level }
    }

    fn edge(&mut self, inputs: &Inputs<T>) {
        let ready = self.show(inputs).ready;
        if inputs.ready {
            self.shown.pop_front();
        }
        if self.memory && self.shown.is_empty() {
            self.shown.extend(self.stored.pop_front());
        }
        if let Some(beat) = inputs.offer.clone().filter(|_| ready) {
            if self.memory { self.stored.push_back(beat) } else { self.shown.push_back(beat) }
        }
        if inputs.clear {
            self.stored.clear();
            self.shown.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(memory: bool, depth: usize, cycles: usize) -> Vec<Option<usize>> {
        let mut fifo = StreamFifo::new(depth, memory);
        let mut next = 0;
        let mut out = Vec::new();
        for _ in 0..cycles {
            let inputs = Inputs { clear: false, offer: Some(next), ready: true };
            let shown = fifo.show(&inputs);
            next += usize::from(shown.ready);
            out.push(shown.beat);
            fifo.edge(&inputs);
        }
        out
    }

    #[test]
    fn latency_and_throughput() {
        assert_eq!(run(false, 2, 5), [None, Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(run(true, 3, 5), [None, None, Some(0), Some(1), Some(2)]);
        // Without a second place, a beat has to leave before the next beat comes.
        assert_eq!(run(false, 1, 5), [None, Some(0), None, Some(1), None]);
    }
}
