//! [`OrizuruUnit`]: loads in any group order, pops from both trees at random times, exact latencies. Before each load
//! comes a time of wrong inputs, and a clear.

use golden::format::Format;
use golden::kllm::orizuru_unit::{NanPolicy, Side, Timing, Tree};
use hdl::blocks::kllm::OrizuruUnit;
use hdl::blocks::kllm::orizuru_tree::{Comparators, NodeState};
use rand::RngExt;
use rand::seq::SliceRandom;
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

use super::vectors::vector;

/// The bench of a unit; a test vector is one load and a random number of pops.
///
/// # Errors
/// Parameters that the block refuses, or keys wider than the golden model's 32 bits.
pub fn bench(p: &OrizuruUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    let format = Format::Uint { bits: p.key_width };
    format.check().map_err(|e| anyhow::anyhow!("key_width: {e}"))?;
    let bench = Bench { p: p.clone(), format };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    p: OrizuruUnit,
    format: Format,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("vectors");
        let ports = Ports::find(sim, self.p.tree.count_comparisons)?;
        ports.idle(sim);
        run.reset(sim, 2)?;
        sim.settle()?;
        self.expect_done(sim, run, &ports, 0)?;
        for number in 0..run.vectors() {
            self.one(sim, run, &ports, number, &mut rng)?;
        }
        Ok(())
    }

    /// Cycles from the start to the first winners, and from a pop to the next winner.
    fn cycles(&self) -> [u64; 2] {
        let radix = self.p.radix.into();
        let timing = Timing {
            n: radix,
            lanes: self.p.lanes.into(),
            radix,
            levels_per_cycle: self.p.tree.levels_per_cycle.into(),
            shared: self.p.tree.comparators == Comparators::Shared,
        };
        [timing.unit_start(radix), timing.unit_pop(radix)]
    }

    fn one(&self, sim: &mut Sim, run: &mut Run, ports: &Ports, number: u64, rng: &mut StimulusRng) -> sim::Result<()> {
        let n = self.p.radix as usize;
        let keys = vector(number, n, self.format, rng);
        // Some leaves are padding, in whole groups that are never written or lane by lane.
        let lanes = self.p.lanes as usize;
        let written: Vec<bool> = (0..n / lanes).map(|_| rng.random_range(0..5u8) > 0).collect();
        let present: Vec<bool> =
            (0..n).map(|i| written[i / lanes] && (number.is_multiple_of(2) || rng.random_range(0..3u8) > 0)).collect();
        self.misuse(sim, ports, rng)?;
        if rng.random_range(0..8u8) == 0 {
            run.reset(sim, 1)?;
            sim.settle()?;
            self.expect_done(sim, run, ports, 0)?;
        }
        self.load(sim, run, ports, &Leaves { keys: &keys, present: &present, written: &written }, rng)?;
        let mut golden = Golden::new(&keys, &present, self.format)?;
        let mut compared = 0;
        let [start, pop_cycles] = self.cycles();
        // A start while the trees decide begins anew.
        let early = if rng.random_range(0..4u8) == 0 { rng.random_range(0..start) } else { 0 };
        for cycle in 0..early + start {
            sim.poke_u64(ports.start, u64::from(cycle == 0 || cycle == early));
            self.expect_done(sim, run, ports, 0)?;
            let now = self.step(sim, ports)?;
            compared = if cycle > early { compared + now } else { 0 };
        }
        sim.poke_u64(ports.start, 0);
        self.expect_done(sim, run, ports, 1)?;
        // Cycles until a side may pop again.
        let mut busy = [0_u64; 2];
        for _ in 0..rng.random_range(0..4 * n + 8) {
            for (side, port) in ports.sides.iter().enumerate() {
                let state = golden.best(side);
                let ready = busy[side] == 0;
                if ready {
                    run.expect_u64(sim, port.available, u64::from(state.is_some()))?;
                    if let Some((index, key)) = state {
                        run.expect_u64(sim, port.index, index as u64)?;
                        run.expect_u64(sim, port.key, key)?;
                    }
                }
                let pop = ready && state.is_some() && rng.random_range(0..3u8) > 0;
                sim.poke_u64(port.pop, u64::from(pop));
                if pop {
                    golden.pop(side);
                    busy[side] = pop_cycles;
                }
            }
            compared += self.step(sim, ports)?;
            for (side, port) in ports.sides.iter().enumerate() {
                busy[side] = busy[side].saturating_sub(1);
                sim.poke_u64(port.pop, 0);
                // Done shows in the cycle in which the tree is right again, and in no other.
                let done = u64::from(busy[side] == 0 && golden.popping(side));
                run.expect_u64(sim, port.done, done)?;
                if done == 1 {
                    golden.settled(side);
                }
            }
            let mask = Bits::pack(1, golden.outliers.iter().map(|&b| u64::from(b)));
            run.expect(sim, ports.outlier, &mask)?;
        }
        while busy != [0; 2] {
            compared += self.step(sim, ports)?;
            busy = busy.map(|b| b.saturating_sub(1));
        }
        self.written_again(sim, run, ports, &mut golden, rng)?;
        if ports.compared.is_some() {
            let expected = golden.comparisons();
            let got = sim::Difference::Value {
                port: "compared_o".into(),
                expected: expected.to_string(),
                got: compared.to_string(),
                place: "sum since start_i".into(),
            };
            if compared != expected {
                return Err(run.fail(sim.cycle_count(), got));
            }
        }
        Ok(())
    }

    /// Writes after the last pop: they remove the marks of the written leaves, and the outputs stay.
    fn written_again(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        ports: &Ports,
        golden: &mut Golden,
        rng: &mut StimulusRng,
    ) -> sim::Result<()> {
        let lanes = self.p.lanes as usize;
        let shown = [golden.best(0), golden.best(1)];
        for _ in 0..rng.random_range(0..3u8) {
            self.garble(sim, ports, rng);
            let groups = Bits::random(sim.port_of_input(ports.load).width, rng);
            sim.poke(ports.load, &groups);
            sim.tick()?;
            sim.settle()?;
            for (leaf, outlier) in golden.outliers.iter_mut().enumerate() {
                *outlier &= !groups.bit((leaf / lanes) as u32);
            }
            let mask = Bits::pack(1, golden.outliers.iter().map(|&b| u64::from(b)));
            run.expect(sim, ports.outlier, &mask)?;
            // Pointers lead to the new values.
            let keeps = self.p.tree.node_state == NodeState::Value;
            for (state, port) in shown.iter().zip(&ports.sides).filter(|_| keeps) {
                run.expect_u64(sim, port.available, u64::from(state.is_some()))?;
                if let Some((index, key)) = *state {
                    run.expect_u64(sim, port.index, index as u64)?;
                    run.expect_u64(sim, port.key, key)?;
                }
            }
        }
        ports.idle(sim);
        sim.settle()
    }

    /// Writes, starts and pops at any time, of leaves that mean nothing.
    fn misuse(&self, sim: &mut Sim, ports: &Ports, rng: &mut StimulusRng) -> sim::Result<()> {
        for _ in 0..rng.random_range(0..3 * self.p.radix) {
            self.garble(sim, ports, rng);
            let groups = sim.port_of_input(ports.load).width;
            sim.poke(ports.load, &if rng.random() { Bits::random(groups, rng) } else { Bits::zero(groups) });
            sim.poke_u64(ports.start, u64::from(rng.random_range(0..6u8) == 0));
            sim.poke_u64(ports.clear, u64::from(rng.random_range(0..12u8) == 0));
            for port in &ports.sides {
                sim.poke_u64(port.pop, u64::from(rng.random_range(0..3u8) == 0));
            }
            sim.tick()?;
        }
        ports.idle(sim);
        Ok(())
    }

    /// Keys that are not written must not matter.
    fn garble(&self, sim: &mut Sim, ports: &Ports, rng: &mut StimulusRng) {
        for port in [ports.key, ports.present] {
            let width = sim.port_of_input(port).width;
            sim.poke(port, &Bits::random(width, rng));
        }
    }

    /// `init_done_o` as given, no pop is done, and since the clear none was made.
    fn expect_done(&self, sim: &Sim, run: &mut Run, ports: &Ports, init: u64) -> sim::Result<()> {
        run.expect_u64(sim, ports.init_done, init)?;
        run.expect(sim, ports.outlier, &Bits::zero(self.p.radix))?;
        ports.sides.iter().try_for_each(|side| run.expect_u64(sim, side.done, 0))
    }

    fn load(
        &self,
        sim: &mut Sim,
        run: &mut Run,
        ports: &Ports,
        leaves: &Leaves<'_>,
        rng: &mut StimulusRng,
    ) -> sim::Result<()> {
        let lanes = self.p.lanes as usize;
        let groups = leaves.written.len();
        let mut order: Vec<usize> = (0..groups).filter(|&g| leaves.written[g]).collect();
        order.shuffle(rng);
        // A clear and a write may come in the same cycle: the write stays. A pop with a clear does not count.
        sim.poke_u64(ports.clear, 1);
        if order.is_empty() || rng.random() {
            ports.sides.iter().for_each(|side| sim.poke_u64(side.pop, u64::from(rng.random::<bool>())));
            sim.tick()?;
            sim.poke_u64(ports.clear, 0);
            ports.idle(sim);
            sim.settle()?;
            self.expect_done(sim, run, ports, 0)?;
        }
        for group in order {
            let range = group * lanes..(group + 1) * lanes;
            sim.poke(ports.key, &Bits::pack(self.p.key_width, leaves.keys[range.clone()].iter().copied()));
            sim.poke(ports.present, &Bits::pack(1, leaves.present[range].iter().map(|&b| u64::from(b))));
            let mut enable = Bits::zero(groups as u32);
            enable.set_bit(group as u32, true);
            sim.poke(ports.load, &enable);
            sim.tick()?;
            sim.poke_u64(ports.clear, 0);
            sim.settle()?;
            // The dropped vector never ends.
            self.expect_done(sim, run, ports, 0)?;
        }
        sim.poke(ports.load, &Bits::zero(groups as u32));
        self.garble(sim, ports, rng);
        sim.settle()
    }

    /// One cycle; returns the comparisons made in it.
    fn step(&self, sim: &mut Sim, ports: &Ports) -> sim::Result<u64> {
        sim.settle()?;
        let compared = ports.compared.map_or(0, |port| sim.peek_u64(port));
        sim.tick()?;
        sim.settle()?;
        Ok(compared)
    }
}

/// Leaves to be written, and the groups that are.
struct Leaves<'a> {
    keys: &'a [u64],
    present: &'a [bool],
    written: &'a [bool],
}

/// The expected outputs, by a search of all leaves; and the golden tree, which knows no absent leaves.
struct Golden {
    tree: Option<Tree>,
    n: usize,
    pending: [bool; 2],
    outliers: Vec<bool>,
    keys: Vec<u64>,
    present: Vec<bool>,
    popped: [Vec<bool>; 2],
    maintenance: u64,
    initial: u64,
}

impl Golden {
    fn new(keys: &[u64], present: &[bool], format: Format) -> sim::Result<Self> {
        let whole = present.iter().all(|&p| p);
        let tree = if whole {
            let tree = Tree::new(keys, format, NanPolicy::TotalOrder);
            Some(tree.map_err(|e| sim::Error::Unsupported(e.to_string()))?)
        } else {
            None
        };
        let mut golden = Self {
            tree,
            n: keys.len(),
            pending: [false; 2],
            outliers: vec![false; keys.len()],
            keys: keys.to_vec(),
            present: present.to_vec(),
            popped: [vec![false; keys.len()], vec![false; keys.len()]],
            maintenance: 0,
            initial: 0,
        };
        golden.initial = golden.count_nodes(0, |_| true, true) + golden.count_nodes(1, |_| true, false);
        Ok(golden)
    }

    fn available(&self, side: usize, leaf: usize) -> bool {
        self.present[leaf] && !self.popped[side][leaf]
    }

    /// Comparisons of the nodes that `decided(leaves)` selects: one where both halves have an available leaf.
    fn count_nodes(&self, side: usize, decided: impl Fn(&std::ops::Range<usize>) -> bool, leaf_pairs: bool) -> u64 {
        let mut count = 0;
        let mut size = if leaf_pairs { 2 } else { 4 };
        while size <= self.n {
            for start in (0..self.n).step_by(size) {
                let any = |range: std::ops::Range<usize>| range.into_iter().any(|i| self.available(side, i));
                let both = any(start..start + size / 2) && any(start + size / 2..start + size);
                count += u64::from(both && decided(&(start..start + size)));
            }
            size *= 2;
        }
        count
    }

    fn best(&self, side: usize) -> Option<(usize, u64)> {
        let candidates = (0..self.n).filter(|&i| self.available(side, i));
        let better = |a: usize, b: usize| match side {
            0 => self.keys[b] > self.keys[a],
            _ => self.keys[b] < self.keys[a],
        };
        candidates.reduce(|a, b| if better(a, b) { b } else { a }).map(|i| (i, self.keys[i]))
    }

    fn pop(&mut self, side: usize) {
        let Some((index, key)) = self.best(side) else { return };
        if let Some(tree) = &mut self.tree {
            let popped = tree.pop(if side == 0 { Side::Max } else { Side::Min });
            assert_eq!(popped.map(|p| (p.index, p.value)), Some((index, key)), "the golden models disagree");
        }
        self.popped[side][index] = true;
        self.outliers[index] = true;
        self.pending[side] = true;
        self.maintenance += self.count_nodes(side, |leaves| leaves.contains(&index), false);
    }

    fn popping(&self, side: usize) -> bool {
        self.pending[side]
    }

    fn settled(&mut self, side: usize) {
        self.pending[side] = false;
    }

    fn comparisons(&self) -> u64 {
        let counted = self.initial + self.maintenance;
        if let Some(tree) = &self.tree {
            assert_eq!(tree.total_count(), counted, "the golden models disagree on comparisons");
        }
        counted
    }
}

struct SidePorts {
    pop: In,
    done: Out,
    key: Out,
    available: Out,
    index: Out,
}

struct Ports {
    clear: In,
    load: In,
    key: In,
    present: In,
    start: In,
    init_done: Out,
    sides: [SidePorts; 2],
    outlier: Out,
    compared: Option<Out>,
}

impl Ports {
    fn find(sim: &Sim, counted: bool) -> sim::Result<Self> {
        let side = |name: &str| -> sim::Result<SidePorts> {
            Ok(SidePorts {
                pop: sim.input(&format!("{name}_pop_i"))?,
                done: sim.output(&format!("{name}_done_o"))?,
                key: sim.output(&format!("{name}_key_o"))?,
                available: sim.output(&format!("{name}_available_o"))?,
                index: sim.output(&format!("{name}_index_o"))?,
            })
        };
        Ok(Self {
            clear: sim.input("clear_i")?,
            load: sim.input("load_i")?,
            key: sim.input("key_i")?,
            present: sim.input("present_i")?,
            start: sim.input("start_i")?,
            init_done: sim.output("init_done_o")?,
            sides: [side("max")?, side("min")?],
            outlier: sim.output("outlier_o")?,
            compared: if counted { Some(sim.output("compared_o")?) } else { None },
        })
    }

    fn idle(&self, sim: &mut Sim) {
        for input in [self.clear, self.load, self.start, self.sides[0].pop, self.sides[1].pop] {
            let width = sim.port_of_input(input).width;
            sim.poke(input, &Bits::zero(width));
        }
    }
}
