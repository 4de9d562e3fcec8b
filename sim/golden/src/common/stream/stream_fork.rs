//! Fork: which takers have taken the current beat.

/// A fork to several takers.
#[derive(Clone, Debug)]
pub struct StreamFork {
    has: Vec<bool>,
}

impl StreamFork {
    /// A fork whose takers wait for their first beat.
    #[must_use]
    pub fn new(outputs: usize) -> Self {
        Self { has: vec![false; outputs] }
    }

    /// One cycle: whether a beat is offered, and which takers are ready. Returns whether the beat is finished, and to
    /// whom it is shown.
    pub fn cycle(&mut self, clear: bool, offered: bool, ready: &[bool]) -> (bool, Vec<bool>) {
        let goes = offered && !clear;
        let shown: Vec<bool> = self.has.iter().map(|&has| goes && !has).collect();
        let done = !clear && self.has.iter().zip(ready).all(|(&has, &ready)| has || ready);
        for (has, &ready) in self.has.iter_mut().zip(ready) {
            *has = goes && !done && (*has || ready);
        }
        (done, shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_taker_at_its_own_time() {
        let mut fork = StreamFork::new(2);
        assert_eq!(fork.cycle(false, true, &[true, false]), (false, vec![true, true]));
        assert_eq!(fork.cycle(false, true, &[true, false]), (false, vec![false, true]));
        assert_eq!(fork.cycle(false, true, &[false, true]), (true, vec![false, true]));
        assert_eq!(fork.cycle(false, true, &[true, true]), (true, vec![true, true]));
    }
}
