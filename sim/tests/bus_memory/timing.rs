//! A memory whose answers come when a [`MemoryTiming`] has them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use sim::bus::{AxiConfig, MemoryTiming, Partner};
use sim::stimulus::Stall;

use crate::{COPIER, Copy, DST, SRC, model};

/// A memory that moves 16 bytes in so many cycles, one burst behind the other.
#[derive(Default)]
struct OneByOne {
    cycles: u64,
    now: u64,
    free: u64,
    /// When a burst begins, and its bytes.
    open: BTreeMap<u64, (u64, u64)>,
    asked: Vec<(u64, u64, bool)>,
    resets: u64,
}

#[derive(Clone, Default)]
struct Slow(Rc<RefCell<OneByOne>>);

impl MemoryTiming for Slow {
    fn ask(&mut self, address: u64, bytes: u64, write: bool) -> u64 {
        let mut memory = self.0.borrow_mut();
        let (number, start) = (memory.asked.len() as u64, memory.free.max(memory.now));
        memory.free = start + bytes.div_ceil(16) * memory.cycles;
        memory.open.insert(number, (start, bytes));
        memory.asked.push((address, bytes, write));
        number
    }

    fn done(&self, number: u64) -> u64 {
        let memory = self.0.borrow();
        let (start, bytes) = memory.open[&number];
        bytes.min(memory.now.saturating_sub(start) / memory.cycles * 16)
    }

    fn answered(&mut self, number: u64) {
        assert!(self.0.borrow_mut().open.remove(&number).is_some());
    }

    fn cycle(&mut self) {
        self.0.borrow_mut().now += 1;
    }

    fn reset(&mut self) {
        let mut memory = self.0.borrow_mut();
        memory.open.clear();
        memory.resets += 1;
    }
}

#[test]
fn a_timing_says_when_answers_come() {
    let model = model("copier", COPIER, "");
    for (cycles, config) in
        [(1, AxiConfig::ideal(1)), (3, AxiConfig::ideal(1)), (3, AxiConfig::rough(Stall::Random { num: 1, den: 8 }))]
    {
        let (slow, bursts) = (Slow::default(), 40);
        slow.0.borrow_mut().cycles = cycles;
        let mut copy = Copy::new(&model, &config, 5, bursts);
        copy.memory.timed_by(Box::new(slow.clone()));
        let took = copy.finish(60_000).unwrap();
        copy.check(bursts);
        let memory = slow.0.borrow();
        assert!(memory.open.is_empty(), "{} bursts are not answered", memory.open.len());
        let asked = |write| memory.asked.iter().filter(move |burst| burst.2 == write).map(|burst| (burst.0, burst.1));
        assert!(asked(false).eq((0..bursts).map(|k| (SRC + 256 * k, 256))));
        assert!(asked(true).eq((0..bursts).map(|k| (DST + 256 * k, 256))));
        // The copier holds eight bursts: reads and writes overlap up to the first and the last few.
        let busy = 2 * bursts * 16 * cycles;
        let most = busy + if cycles == 1 { 700 } else { 300 };
        assert!((busy..most).contains(&took), "{took} cycles, the memory is busy for {busy}");
    }
}

#[test]
fn a_reset_forgets_what_a_timing_was_asked_for() {
    let model = model("copier", COPIER, "");
    let slow = Slow::default();
    slow.0.borrow_mut().cycles = 50;
    let mut copy = Copy::new(&model, &AxiConfig::ideal(1), 5, 4);
    copy.memory.timed_by(Box::new(slow.clone()));
    for _ in 0..100 {
        copy.step().unwrap();
    }
    assert!(!slow.0.borrow().open.is_empty() && !copy.memory.is_idle());
    copy.sim.reset(2).unwrap();
    copy.step().unwrap();
    assert!(slow.0.borrow().open.is_empty() && slow.0.borrow().resets == 1);
    assert!(copy.memory.is_idle(), "{}", copy.memory.state());
}
