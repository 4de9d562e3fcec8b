//! [`TenderPe`] in the place of any PE of a row: tiles with and without pauses, single and consecutive rescales, a left
//! neighbour with random sums. Sums overflow by products and by rescales, and come back. Tiles begin, rows shift and
//! resets come in any cycle, in the middle of a multiplication too.

use golden::tender::accumulator::Overflow as Policy;
use golden::tender::tender_pe::{Drain as GoldenDrain, Inputs, Pe, Work};
use hdl::blocks::tender::{Drain, Overflow, Rescale, TenderPe};
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{In, Out, Run, Sim};

/// The bench of a PE; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &TenderPe) -> anyhow::Result<Box<dyn sim::Bench>> {
    let golden = Pe::new(p.accumulator_width, policy(p.overflow), drain(p.drain)).map_err(anyhow::Error::msg)?;
    let golden = if p.pipelined { golden.pipelined() } else { golden };
    let bench = Bench { p: p.clone(), golden };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

/// The golden model's name of it.
#[must_use]
pub fn policy(overflow: Overflow) -> Policy {
    match overflow {
        Overflow::Wrap => Policy::Wrap,
        Overflow::Saturate => Policy::Saturate,
    }
}

/// The golden model's name of it.
#[must_use]
pub fn drain(drain: Drain) -> GoldenDrain {
    match drain {
        Drain::Single => GoldenDrain::Single,
        Drain::Double => GoldenDrain::Double,
    }
}

struct Bench {
    p: TenderPe,
    golden: Pe,
}

/// The controller's steps in the next cycles.
#[derive(Clone, Copy)]
enum Mood {
    /// Random operands of either sign.
    Random,
    /// The largest products of one sign.
    Extreme { negative: bool },
    /// One rescale after the other.
    Rescales,
    /// Nothing.
    Pause,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("cycles");
        let mut aborts = run.rng("aborts");
        let ports = Ports::find(sim, &self.p)?;
        let mut golden = self.golden.clone();
        run.reset(sim, 2)?;
        let (mut mood, mut left) = (Mood::Random, 0u32);
        // Digits of a multiplication that are still to come.
        let (mut digits, mut alpha, mut spoiled) = (0, 0, false);
        let (mut overflows, mut started, mut shifts) = (0u64, false, false);
        // The step before spoiled a sum that it reaches only now.
        let mut spoils = false;
        for _ in 0..run.vectors() {
            if left == 0 {
                left = rng.random_range(1..=20);
                mood = match rng.random_range(0..8u8) {
                    0..=2 => Mood::Random,
                    3 | 4 => Mood::Extreme { negative: rng.random() },
                    5 | 6 => Mood::Rescales,
                    _ => Mood::Pause,
                };
            }
            left -= 1;
            if aborts.random_range(0..300u16) == 0 {
                run.reset(sim, aborts.random_range(1..=2))?;
                golden = self.golden.clone();
                (digits, started, shifts, spoiled, spoils) = (0, false, false, false, false);
            }
            let first = !started || spoiled || rng.random_range(0..40u8) == 0;
            started = true;
            if first {
                digits = 0;
            }
            // The controller breaks a rule: a multiplication breaks off, or a rescale cycle has a product.
            let breaks = !first && self.p.rescale != Rescale::None && aborts.random_range(0..60u8) == 0;
            spoiled = breaks && (digits > 0 || self.p.rescale != Rescale::Factor);
            if spoiled {
                digits = 0;
            }
            let busy = digits > 0;
            let drain = rng.random_range(0..12u8) == 0;
            shifts = (shifts | drain) && !first && self.p.drain == Drain::Single;
            // A multiplication by digits needs the accumulator for itself.
            let may_rescale =
                self.p.rescale != Rescale::None && !(self.p.rescale == Rescale::Factor && shifts && !busy);
            let wants =
                matches!(mood, Mood::Rescales) || (matches!(mood, Mood::Random) && rng.random_range(0..10u8) == 0);
            let rescales = busy || (wants && may_rescale) || (spoiled && self.p.rescale != Rescale::Factor);
            let (mut act, mut weight) = self.operands(mood, &mut rng);
            let (mut amount, mut ends) = (0, false);
            let mut work = Work::Add(i128::from(act) * i128::from(weight));
            if rescales && self.p.rescale == Rescale::Factor {
                if !busy {
                    digits = self.p.accumulator_width / self.p.operand_width;
                    alpha = rng.random_range(0..1i64 << self.p.operand_width);
                }
                digits -= 1;
                (act, amount, ends) = (alpha, 1, digits == 0);
                work = if ends { Work::Scale(i128::from(alpha)) } else { Work::Add(0) };
            } else if rescales {
                amount = rng.random_range(1..=self.p.max_shift);
                // The bubble: one side is zero.
                if !spoiled {
                    *(if rng.random() { &mut act } else { &mut weight }) = 0;
                }
                work = Work::Shift(amount);
            }
            if shifts {
                // The row takes the accumulator away from a multiplication.
                digits = 0;
            }
            let last = digits == 0 && !spoiled && rng.random_range(0..15u8) == 0;
            let neighbour: i64 = rng.random_range(self.limits().0..=self.limits().1);
            let flag: bool = rng.random();
            sim.poke_u64(ports.first, first.into());
            sim.poke_u64(ports.last, last.into());
            sim.poke_u64(ports.drain, drain.into());
            sim.poke_i64(ports.act, act);
            sim.poke_i64(ports.weight, weight);
            sim.poke_i64(ports.result, neighbour);
            sim.poke_u64(ports.overflow, flag.into());
            if let Some(rescale) = ports.rescale {
                sim.poke_u64(rescale, amount.into());
            }
            if let Some(port) = ports.rescale_last {
                sim.poke_u64(port, ends.into());
            }
            sim.tick()?;
            let shown = golden.step(&Inputs { first, last, work, drain, neighbour: (i128::from(neighbour), flag) });
            run.expect_u64(sim, ports.first_o, first.into())?;
            run.expect_u64(sim, ports.last_o, last.into())?;
            run.expect_i64(sim, ports.act_o, act)?;
            run.expect_i64(sim, ports.weight_o, weight)?;
            if let Some(port) = ports.rescale_o {
                run.expect_u64(sim, port, amount.into())?;
            }
            if let Some(port) = ports.rescale_last_o {
                run.expect_u64(sim, port, ends.into())?;
            }
            // Between the digits of a multiplication the accumulator holds parts of two values.
            let arrived = if self.p.pipelined { spoils } else { spoiled && !shifts };
            let whole = digits == 0 && !arrived;
            spoils = spoiled;
            if let Some((sum, flag)) = shown.filter(|_| whole || self.p.drain == Drain::Double) {
                run.expect_i64(sim, ports.result_o, sum as i64)?;
                run.expect_u64(sim, ports.overflow_o, flag.into())?;
                overflows += u64::from(flag);
            }
        }
        if run.vectors() >= 1000 && overflows == 0 {
            return Err(sim::Error::Unsupported("no sum overflowed: the stimuli are too tame".into()));
        }
        Ok(())
    }

    fn limits(&self) -> (i64, i64) {
        let half = 1i128 << (self.p.accumulator_width - 1);
        (-half as i64, (half - 1) as i64)
    }

    fn operands(&self, mood: Mood, rng: &mut StimulusRng) -> (i64, i64) {
        let bits = self.p.operand_width;
        let (low, high, unsigned) = (-1i64 << (bits - 1), (1i64 << (bits - 1)) - 1, (1i64 << bits) - 1);
        let mut operand = || if rng.random() { rng.random_range(low..=high) } else { rng.random_range(0..=unsigned) };
        match mood {
            Mood::Random | Mood::Rescales => (operand(), operand()),
            Mood::Extreme { negative: false } => (unsigned, unsigned),
            Mood::Extreme { negative: true } => (low, unsigned),
            Mood::Pause => (0, operand()),
        }
    }
}

struct Ports {
    first: In,
    rescale: Option<In>,
    rescale_last: Option<In>,
    last: In,
    act: In,
    weight: In,
    drain: In,
    result: In,
    overflow: In,
    first_o: Out,
    rescale_o: Option<Out>,
    rescale_last_o: Option<Out>,
    last_o: Out,
    act_o: Out,
    weight_o: Out,
    result_o: Out,
    overflow_o: Out,
}

impl Ports {
    fn find(sim: &Sim, p: &TenderPe) -> sim::Result<Self> {
        let rescales = p.rescale != Rescale::None;
        let digits = p.rescale == Rescale::Factor;
        let input = |name: &str, there: bool| if there { sim.input(name).map(Some) } else { Ok(None) };
        let output = |name: &str, there: bool| if there { sim.output(name).map(Some) } else { Ok(None) };
        Ok(Self {
            first: sim.input("first_i")?,
            rescale: input("rescale_i", rescales)?,
            rescale_last: input("rescale_last_i", digits)?,
            last: sim.input("last_i")?,
            act: sim.input("act_i")?,
            weight: sim.input("weight_i")?,
            drain: sim.input("drain_i")?,
            result: sim.input("result_i")?,
            overflow: sim.input("overflow_i")?,
            first_o: sim.output("first_o")?,
            rescale_o: output("rescale_o", rescales)?,
            rescale_last_o: output("rescale_last_o", digits)?,
            last_o: sim.output("last_o")?,
            act_o: sim.output("act_o")?,
            weight_o: sim.output("weight_o")?,
            result_o: sim.output("result_o")?,
            overflow_o: sim.output("overflow_o")?,
        })
    }
}
