//! Two models of one design in lockstep: they get the same random inputs, and every output is compared before and after
//! each edge.
//!
//! ```no_run
//! # fn example(design: &sim::Design) -> sim::Result<()> {
//! use sim::{Engine, Lockstep};
//! let mut pair = Lockstep::of_engines(design)?;
//! assert_eq!(pair.run(1, 1000)?, None);
//! # Ok(())
//! # }
//! ```

use std::fmt;

use rand::RngExt;

use crate::stimulus::rng;
use crate::{Bits, BuildOptions, Design, Dir, Engine, Model, Opt, Port, Result, Sim};

/// Cycles between two resets.
const BETWEEN_RESETS: u64 = 97;

/// Two instances that get the same inputs.
pub struct Lockstep {
    /// The instance under test.
    pub first: Sim,
    /// The reference.
    pub second: Sim,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    has_clock: bool,
    has_reset: bool,
}

/// An output that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfStep {
    /// Name of the output.
    pub port: String,
    /// Rising clock edges before the difference.
    pub cycle: u64,
    /// Whether an edge came after the last inputs.
    pub after_edge: bool,
    /// Value in the first instance.
    pub first: Bits,
    /// Value in the second instance.
    pub second: Bits,
}

impl fmt::Display for OutOfStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.after_edge { "after its edge" } else { "before its edge" };
        write!(f, "`{}` in cycle {}, {when}: {} and {}", self.port, self.cycle, self.first, self.second)
    }
}

impl Lockstep {
    /// Two instances of models of `design`.
    #[must_use]
    pub fn new(design: &Design, first: Sim, second: Sim) -> Self {
        let clocks = [&design.clock, &design.reset];
        let is_clock = |port: &Port| clocks.iter().any(|name| name.as_ref() == Some(&port.name));
        let of = |dir| design.ports.iter().filter(move |p| p.dir == dir && !is_clock(p)).cloned().collect();
        let (inputs, outputs) = (of(Dir::Input), of(Dir::Output));
        Self { first, second, inputs, outputs, has_clock: design.clock.is_some(), has_reset: design.reset.is_some() }
    }

    /// The native model and Verilator's, which is made for a short run.
    ///
    /// # Errors
    /// A model cannot be built.
    pub fn of_engines(design: &Design) -> Result<Self> {
        let instance = |engine| {
            let options = BuildOptions { engine: Some(engine), opt: Opt::O0, ..BuildOptions::default() };
            Model::build(design, &options)?.instance()
        };
        Ok(Self::new(design, instance(Engine::Native)?, instance(Engine::Verilator)?))
    }

    /// Calls `f` for both instances.
    ///
    /// # Errors
    /// `f` fails.
    pub fn both(&mut self, mut f: impl FnMut(&mut Sim) -> Result<()>) -> Result<()> {
        f(&mut self.first)?;
        f(&mut self.second)
    }

    /// Random inputs for a number of cycles, with resets in the middle. Returns the first difference.
    ///
    /// # Errors
    /// A simulation fails.
    pub fn run(&mut self, seed: u64, cycles: u64) -> Result<Option<OutOfStep>> {
        let mut rng = rng(seed);
        if self.has_reset {
            self.both(|sim| sim.reset(2))?;
        }
        for cycle in 1..=cycles {
            // In cycles without a change of inputs only the state has an effect.
            let is_quiet = rng.random_ratio(1, 3);
            for port in self.inputs.iter().filter(|_| !is_quiet) {
                // Often all zero, often unchanged: much hardware has such inputs for long.
                if rng.random_ratio(1, 3) {
                    continue;
                }
                let zero = rng.random_ratio(1, 4);
                let words: Vec<u32> =
                    (0..port.width.div_ceil(32)).map(|_| if zero { 0 } else { rng.random() }).collect();
                let value = match port.width {
                    1 => Bits::truncated(1, u64::from(rng.random_ratio(3, 4))),
                    width => Bits::from_words(width, &words),
                };
                for sim in [&mut self.first, &mut self.second] {
                    sim.poke(sim.input(&port.name)?, &value);
                }
            }
            self.both(Sim::settle)?;
            let mut difference = self.compare(false)?;
            if self.has_clock && difference.is_none() {
                self.both(Sim::tick)?;
                difference = self.compare(true)?;
            }
            if difference.is_some() {
                return Ok(difference);
            }
            if self.has_reset && cycle % BETWEEN_RESETS == 0 {
                self.both(|sim| sim.reset(1))?;
            }
        }
        Ok(None)
    }

    /// The first output that differs.
    fn compare(&self, after_edge: bool) -> Result<Option<OutOfStep>> {
        for port in &self.outputs {
            let value = |sim: &Sim| Ok::<_, crate::Error>(sim.peek(sim.output(&port.name)?));
            let (first, second) = (value(&self.first)?, value(&self.second)?);
            if first != second {
                let (port, cycle) = (port.name.clone(), self.first.cycle_count());
                return Ok(Some(OutOfStep { port, cycle, after_edge, first, second }));
            }
        }
        Ok(None)
    }
}
