//! Register slice: up to two places.

use std::collections::VecDeque;

use super::{Inputs, Queue, Shown};

/// The paths that are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Valid and data.
    Forward,
    /// Ready.
    Backward,
    /// Both.
    Both,
}

/// A register slice.
#[derive(Clone, Debug)]
pub struct StreamRegister<T> {
    cut: Cut,
    held: VecDeque<T>,
}

impl<T> StreamRegister<T> {
    /// An empty register slice.
    #[must_use]
    pub fn new(cut: Cut) -> Self {
        Self { cut, held: VecDeque::new() }
    }
}

impl<T: Clone> Queue<T> for StreamRegister<T> {
    fn show(&self, inputs: &Inputs<T>) -> Shown<T> {
        let room = match self.cut {
            Cut::Forward => self.held.is_empty() || inputs.ready,
            Cut::Backward => self.held.is_empty(),
            Cut::Both => self.held.len() < 2,
        };
        let ready = room && !inputs.clear;
        let passes = if self.cut == Cut::Backward && ready { inputs.offer.clone() } else { None };
        Shown { ready, beat: self.held.front().cloned().or(passes), level: self.held.len() }
    }

    fn edge(&mut self, inputs: &Inputs<T>) {
        let shown = self.show(inputs);
        if shown.ready {
            self.held.extend(inputs.offer.clone());
        }
        if inputs.ready && shown.beat.is_some() {
            self.held.pop_front();
        }
        if inputs.clear {
            self.held.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_places_bridge_a_pause() {
        let mut register = StreamRegister::new(Cut::Both);
        let cycle = |offer, ready| Inputs { clear: false, offer, ready };
        for (inputs, shown) in [
            (cycle(Some(1), false), (true, None)),
            (cycle(Some(2), false), (true, Some(1))),
            (cycle(Some(3), false), (false, Some(1))),
            (cycle(Some(3), true), (false, Some(1))),
            (cycle(Some(3), true), (true, Some(2))),
            (cycle(None, true), (true, Some(3))),
            (cycle(None, true), (true, None)),
        ] {
            let got = register.show(&inputs);
            assert_eq!((got.ready, got.beat), shown, "{inputs:?}");
            register.edge(&inputs);
        }
    }

    #[test]
    fn backward_passes_and_keeps() {
        let mut register = StreamRegister::new(Cut::Backward);
        let inputs = Inputs { clear: false, offer: Some(7), ready: false };
        assert_eq!(register.show(&inputs), Shown { ready: true, beat: Some(7), level: 0 });
        register.edge(&inputs);
        assert_eq!(register.show(&inputs), Shown { ready: false, beat: Some(7), level: 1 });
        register.edge(&Inputs { clear: true, ..inputs });
        assert_eq!(register.show(&Inputs { clear: false, offer: None, ready: true }).beat, None);
    }
}
