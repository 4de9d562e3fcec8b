//! The order of operations that overlap. An accelerator takes descriptors in the order of the chain, and each waits for
//! its engine. So descriptors of different engines should take turns, as far as their operands allow.

use std::fmt;

use host::{Chain, Descriptor};

/// About how many cycles an operation takes.
pub struct Cost(pub Box<dyn Fn(&Descriptor) -> u64 + Send>);

impl fmt::Debug for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cost")
    }
}

/// An operation of a chain.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its descriptor.
    pub descriptor: Descriptor,
    /// The engine that does it, from 0.
    pub engine: usize,
    /// About how many cycles it takes.
    pub cycles: u64,
}

/// A step that waits for its place.
struct Waiting {
    step: Step,
    /// Steps that must end before.
    before: Vec<usize>,
    /// Cycles from its start to the end of all that depends on it.
    urgency: u64,
    /// When all steps before it end, as far as they have a place.
    ready: u64,
    /// How many steps before it have no place yet.
    open: usize,
    placed: bool,
}

/// A chain of these steps with the same results: whatever depends on a step stays after it. Of all steps that may come
/// next the chain has the one that can start first, and of several the one on which the most work waits.
#[must_use]
pub fn ordered(steps: Vec<Step>) -> Chain {
    let mut waiting: Vec<Waiting> = Vec::with_capacity(steps.len());
    for step in steps {
        let depends = |(_, earlier): &(usize, &Waiting)| !step.descriptor.is_independent_of(&earlier.step.descriptor);
        let before: Vec<usize> = waiting.iter().enumerate().filter(depends).map(|(number, _)| number).collect();
        let open = before.len();
        waiting.push(Waiting { urgency: step.cycles, step, before, ready: 0, open, placed: false });
    }
    for number in (0..waiting.len()).rev() {
        let after = waiting[number].urgency;
        for earlier in waiting[number].before.clone() {
            let one = &mut waiting[earlier];
            one.urgency = one.urgency.max(one.step.cycles + after);
        }
    }
    let (mut chain, mut now) = (Chain::new(), 0);
    let mut free = vec![0; waiting.iter().map(|one| one.step.engine + 1).max().unwrap_or(0)];
    for _ in 0..waiting.len() {
        let start = |one: &Waiting| one.ready.max(free[one.step.engine]).max(now);
        let may_come = waiting.iter().enumerate().filter(|(_, one)| !one.placed && one.open == 0);
        let next = may_come.min_by_key(|(number, one)| (start(one), std::cmp::Reverse(one.urgency), *number));
        let Some((number, _)) = next else { break };
        now = start(&waiting[number]);
        let end = now + waiting[number].step.cycles;
        free[waiting[number].step.engine] = end;
        waiting[number].placed = true;
        chain = chain.then(waiting[number].step.descriptor.clone());
        for one in waiting.iter_mut().filter(|one| one.before.contains(&number)) {
            one.open -= 1;
            one.ready = one.ready.max(end);
        }
    }
    chain.overlapping()
}

#[cfg(test)]
mod tests {
    use host::Window;
    use host::vector::{Caps, Function, Operand, Units, VectorJob};

    use super::*;

    const WINDOW: Window = Window { base: 0, limit: 0xffff, address_width: 16 };

    /// A step from one place to another one.
    fn step(engine: usize, cycles: u64, [from, to]: [u64; 2]) -> Step {
        let units = Units { softmax: true, layer_norm: true, rotary: true };
        let caps = Caps { opcode: 3, lanes: 8, max_beats: 4, function: Function::Silu as u32, units };
        let place = |number| Operand { address: 64 * number, stride: 0 };
        Step { descriptor: VectorJob::new(1, 8, place(from), place(to)).build(&caps, &WINDOW).unwrap(), engine, cycles }
    }

    fn order(steps: Vec<Step>) -> Vec<usize> {
        let all: Vec<Descriptor> = steps.iter().map(|step| step.descriptor.clone()).collect();
        let chain = ordered(steps).place(0x8000, &WINDOW, 16).unwrap();
        let place = |bytes: &[u8]| all.iter().position(|one| one.bytes()[32..] == bytes[32..]).unwrap();
        chain.bytes.chunks(128).map(place).collect()
    }

    /// Two blocks of rows, of which each goes through both engines: the engines take turns.
    #[test]
    fn blocks_take_turns() {
        let block = |first: u64| [step(1, 100, [first, first + 1]), step(0, 30, [first + 1, first + 2])];
        let steps: Vec<Step> = [block(10), block(20)].concat();
        assert_eq!(order(steps), [0, 2, 1, 3]);
    }

    /// What depends on a step stays after it, in all three ways.
    #[test]
    fn what_depends_waits() {
        let uses_it = vec![step(0, 10, [1, 2]), step(1, 1, [2, 3])];
        let overwrites_its_operand = vec![step(0, 10, [1, 2]), step(1, 1, [3, 1])];
        let overwrites_its_result = vec![step(0, 10, [1, 2]), step(1, 1, [3, 2])];
        for steps in [uses_it, overwrites_its_operand, overwrites_its_result] {
            assert_eq!(order(steps), [0, 1]);
        }
    }

    /// Of two steps that can start at once, the one on which more work waits comes first.
    #[test]
    fn the_longer_path_comes_first() {
        let steps = vec![step(0, 10, [1, 2]), step(0, 10, [3, 4]), step(1, 500, [4, 5])];
        assert_eq!(order(steps), [1, 2, 0]);
    }

    #[test]
    fn nothing_is_a_chain_of_nothing() {
        assert_eq!(ordered(Vec::new()).bytes(), 0);
    }
}
