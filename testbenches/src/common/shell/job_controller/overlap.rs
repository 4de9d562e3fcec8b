//! What a controller says to a dispatcher, and what it hears: operations that need not have ended, and errors of
//! earlier ones.

use std::collections::VecDeque;

use golden::common::shell::job_controller::{Action, End, Header, World};
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

use super::chain::Drawn;

/// The ports of a controller whose operations overlap.
#[derive(Clone, Copy)]
pub(super) struct OrderPins {
    independent_o: Out,
    early_o: Out,
    nothing_o: Out,
    waits_o: Out,
    kept_o: Out,
    back_i: In,
    kept_i: In,
}

/// What is said of an operation beside its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub independent: u8,
    pub early: u8,
    /// Only an end is asked for.
    nothing: bool,
    waits: bool,
    kept: Bits,
}

/// How an operation fails: so many operations before it, and what was kept with the one that did.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    back: u64,
    kept: Bits,
}

impl OrderPins {
    /// Where the controller has them.
    pub fn find(sim: &Sim) -> sim::Result<Self> {
        Ok(Self {
            independent_o: sim.output("operation_independent_o")?,
            early_o: sim.output("operation_early_o")?,
            nothing_o: sim.output("operation_nothing_o")?,
            waits_o: sim.output("operation_waits_o")?,
            kept_o: sim.output("operation_kept_o")?,
            back_i: sim.input("operation_end_back_i")?,
            kept_i: sim.input("operation_end_kept_i")?,
        })
    }

    pub fn said(&self, sim: &Sim) -> Said {
        Said {
            independent: sim.peek_u64(self.independent_o) as u8,
            early: sim.peek_u64(self.early_o) as u8,
            nothing: sim.peek_u64(self.nothing_o) == 1,
            waits: sim.peek_u64(self.waits_o) == 1,
            kept: sim.peek(self.kept_o),
        }
    }

    /// Shows which operation failed; without a failure, anything.
    pub fn tell(&self, sim: &mut Sim, rng: &mut StimulusRng, failure: Option<&Failure>) {
        sim.poke_u64(self.back_i, failure.map_or_else(|| rng.random_range(0..16), |failure| failure.back));
        let kept = failure.map_or_else(|| Bits::random(96, rng), |failure| failure.kept.clone());
        sim.poke(self.kept_i, &kept);
    }
}

/// The operations of a chain, as a controller whose operations overlap has to hand them over.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Of each operation, in order.
    said: VecDeque<Said>,
    /// How the last one fails, if one does.
    pub failure: Option<Failure>,
}

fn kept(address: u64, tag: u32) -> Bits {
    Bits::pack(32, [address & 0xffff_ffff, address >> 32, tag.into()])
}

impl Order {
    /// The operations of `actions`. An error of the controller itself is followed by an operation that asks for an end;
    /// some of these ends, and some errors of operations, are of an earlier one: `end` is then of that one.
    pub fn of(
        actions: &mut VecDeque<(Action, u8)>,
        (end, world): (&mut End, &mut Drawn),
        rng: &mut StimulusRng,
    ) -> Self {
        let (mut said, mut places, mut tag) = (VecDeque::new(), Vec::new(), 0);
        let fetched: Vec<u64> = actions
            .iter()
            .filter_map(|(action, _)| if let Action::Fetch(address) = action { Some(*address) } else { None })
            .collect();
        let operations = actions.iter().filter(|(action, _)| matches!(action, Action::Operation { .. })).count();
        for &address in &fetched[..operations] {
            let header = Header::of(&world.descriptor(address));
            let kept = kept(address, tag);
            places.push((address, tag));
            let waits = header.writes_tag || header.next == 0;
            said.push_back(Said { independent: header.independent, early: header.early, nothing: false, waits, kept });
            tag = header.tag;
        }
        let failed = match actions.back() {
            Some((Action::Operation { .. } | Action::Tag { .. }, code)) => *code != 0,
            _ => false,
        };
        let mut back = 0;
        let code = match actions.back_mut() {
            Some((Action::Operation { .. }, code)) if *code != 0 => {
                back = rng.random_range(0..operations.min(9));
                *code
            }
            _ if end.code != 0 && !failed => {
                // Of an operation that is no longer there, an earlier one may fail.
                back = if rng.random() { rng.random_range(0..=operations.min(8)) } else { 0 };
                let code = if back > 0 { rng.random_range(8..=255) } else { 0 };
                actions.push_back((Action::Operation { opcode: 0, independent: 0, early: 0, words: Vec::new() }, code));
                said.push_back(Said { independent: 0, early: 0, nothing: true, waits: false, kept: Bits::zero(96) });
                code
            }
            _ => 0,
        };
        let failure = (code != 0).then(|| {
            let at = end.descriptors as usize - back;
            let (address, tag) = places[at];
            *end = End { code, place: address, tag, descriptors: at as u32 };
            Failure { back: back as u64, kept: kept(address, tag) }
        });
        Self { said, failure }
    }

    /// Compares what is said of the next operation. The one that only asks for an end has no other meaning.
    pub fn next(&mut self, sim: &Sim, run: &mut Run, got: &Said) -> sim::Result<bool> {
        let expected = self.said.pop_front();
        let got = match &expected {
            Some(expected) if expected.nothing && got.nothing => expected.clone(),
            _ => got.clone(),
        };
        let nothing = got.nothing;
        run.expect_equal(sim, "operation_kept_o", "what is said", format!("{expected:?}"), format!("{:?}", Some(got)))?;
        Ok(nothing)
    }

    /// How the operation fails that was handed over last.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref().filter(|_| self.said.is_empty())
    }
}
