//! Arbiter: whose turn it is.

/// Rules of an arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether streams have turns in order; otherwise the lowest number goes first.
    pub round_robin: bool,
    /// Whether a turn lasts until `last`; otherwise it lasts one beat.
    pub packets: bool,
}

/// An arbiter.
#[derive(Clone, Debug)]
pub struct StreamArbiter {
    rules: Rules,
    inputs: usize,
    /// The stream whose turn goes on.
    turn: Option<usize>,
    /// The stream at which the search begins.
    start: usize,
}

impl StreamArbiter {
    /// An arbiter of `inputs` streams.
    #[must_use]
    pub fn new(inputs: usize, rules: Rules) -> Self {
        Self { rules, inputs, turn: None, start: 0 }
    }

    /// One cycle. `offers` says which streams offer a beat, and whether it is the last of a packet. `ready` says
    /// whether the taker is ready. Returns the stream whose beat is shown.
    pub fn cycle(&mut self, clear: bool, offers: &[Option<bool>], ready: bool) -> Option<usize> {
        let mut order = (0..self.inputs).map(|k| (self.start + k) % self.inputs);
        let found = self.turn.or_else(|| order.find(|&k| offers[k].is_some()));
        let shown = found.filter(|&k| offers[k].is_some() && !clear);
        let keeps = if self.rules.packets { self.turn } else { None };
        self.turn = match shown {
            Some(k) if ready => {
                if self.rules.round_robin {
                    self.start = (k + 1) % self.inputs;
                }
                (self.rules.packets && offers[k] == Some(false)).then_some(k)
            }
            Some(k) => Some(k),
            None => keeps,
        };
        if clear {
            self.turn = None;
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns() {
        let all = [Some(true); 3];
        let mut turn = StreamArbiter::new(3, Rules { round_robin: true, packets: false });
        let shown: Vec<_> = (0..5).map(|k| turn.cycle(false, &all, k != 1)).collect();
        assert_eq!(shown, [Some(0), Some(1), Some(1), Some(2), Some(0)]);
        let mut rank = StreamArbiter::new(3, Rules { round_robin: false, packets: true });
        let open = [None, Some(false), Some(true)];
        assert_eq!(rank.cycle(false, &open, true), Some(1));
        // Stream 1 pauses within its packet, so stream 0 has to wait.
        assert_eq!(rank.cycle(false, &[Some(true), None, Some(true)], true), None);
        assert_eq!(rank.cycle(false, &all, true), Some(1));
        assert_eq!(rank.cycle(false, &all, true), Some(0));
    }
}
