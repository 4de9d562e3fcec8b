//! [`BitSerialPe`] with groups of weights of six and eight bits and of FP4, term by term, and with random terms.
//! Activations have all exponents or few, are subnormal or zero. Scales come while the next group is summed. Groups
//! begin and resets come at any time.

use golden::baselines::bit_serial_pe::{BitSerialPe as Golden, Cycle, Term, Widths, halves_terms, integer_terms};
use hdl::blocks::baselines::BitSerialPe;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

/// The bench of a PE; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &BitSerialPe) -> anyhow::Result<Box<dyn sim::Bench>> {
    let widths = Widths {
        exponent: p.exponent_width,
        fraction: p.fraction_width,
        accumulator: p.accumulator_width,
        scale: p.scale_width,
    };
    let fresh = Golden::new(widths).map_err(anyhow::Error::msg)?;
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| random(&p, &fresh, sim, run))
}

/// Kinds of activations of a group.
struct Activations {
    /// Lowest and highest exponent.
    exponents: (u32, u32),
}

impl Activations {
    fn draw(rng: &mut StimulusRng, p: &BitSerialPe) -> Self {
        let top = (1 << p.exponent_width) - 1;
        let exponents = match rng.random_range(0..8u8) {
            0 => (0, top),
            1 => (0, 1),
            2 => (top - 1, top - 1),
            _ => {
                let low = rng.random_range(0..top);
                (low, (low + rng.random_range(0..=4)).min(top - 1))
            }
        };
        Self { exponents }
    }

    fn one(&self, rng: &mut StimulusRng, p: &BitSerialPe) -> u32 {
        let exponent = rng.random_range(self.exponents.0..=self.exponents.1);
        let all = (1u32 << p.fraction_width) - 1;
        let fraction = match rng.random_range(0..6u8) {
            0 => 0,
            1 => all,
            _ => rng.random_range(0..=all),
        };
        let sign = u32::from(rng.random::<bool>());
        (sign << (p.exponent_width + p.fraction_width)) | (exponent << p.fraction_width) | fraction
    }
}

/// Terms of all lanes, a step each, with their significance.
fn weights(rng: &mut StimulusRng, lanes: usize) -> Vec<(Vec<Term>, u32)> {
    let kind = rng.random_range(0..5u8);
    let turned = |all: Vec<Vec<Term>>, places: u32| {
        (0..all[0].len()).map(|k| (all.iter().map(|terms| terms[k]).collect(), places * k as u32)).collect()
    };
    match kind {
        0 => turned((0..lanes).map(|_| integer_terms(rng.random_range(-128..128), 8)).collect(), 2),
        1 => turned((0..lanes).map(|_| integer_terms(rng.random_range(-32..32), 6)).collect(), 2),
        2 => {
            const FP4: [i64; 11] = [0, 1, 2, 3, 4, 6, 8, 12, 16, -10, -16];
            let mut one = || halves_terms(FP4[rng.random_range(0..FP4.len())]).unwrap_or_default().to_vec();
            turned((0..lanes).map(|_| one()).collect(), 1)
        }
        3 => vec![(vec![Term::default(); lanes], rng.random_range(0..8))],
        _ => {
            let mut one = || Term { negative: rng.random(), exponent: rng.random_range(0..4), some: rng.random() };
            let terms = (0..lanes).map(|_| one()).collect();
            vec![(terms, rng.random_range(0..8))]
        }
    }
}

fn random(p: &BitSerialPe, fresh: &Golden, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("cycles");
    let ports = Ports::find(sim)?;
    let mut golden = fresh.clone();
    let lanes = p.lanes as usize;
    run.reset(sim, 2)?;
    let (mut left, mut kind, mut cycles) = (0u32, Activations::draw(&mut rng, p), 0u64);
    // Bits of a scale that are still to come, the first one apart.
    let mut bits: Option<(u32, bool)> = None;
    while cycles < run.vectors() {
        if rng.random_range(0..500u16) == 0 {
            run.reset(sim, rng.random_range(1..=2))?;
            (golden, left, bits) = (fresh.clone(), 0, None);
        }
        let first = left == 0 || rng.random_range(0..60u8) == 0;
        if left == 0 {
            (left, kind) = (rng.random_range(1..=24), Activations::draw(&mut rng, p));
        }
        left -= 1;
        let acts: Vec<u32> = (0..lanes).map(|_| kind.one(&mut rng, p)).collect();
        let steps = weights(&mut rng, lanes);
        let count = steps.len();
        for (k, (terms, significance)) in steps.into_iter().enumerate() {
            let last = (left == 0 && k + 1 == count) || rng.random_range(0..80u8) == 0;
            if bits.is_none() && rng.random_range(0..4u8) == 0 {
                bits = Some((rng.random_range(1..=p.scale_width + 1), true));
            }
            let scale = match &mut bits {
                Some((_, first)) if rng.random_range(0..5u8) != 0 => Some((std::mem::take(first), rng.random())),
                _ => None,
            };
            if scale.is_some() {
                bits = bits.and_then(|(left, _)| (left > 1).then_some((left - 1, false)));
            }
            let cycle = Cycle { first: first && k == 0, last, acts: acts.clone(), terms, significance, scale };
            ports.step(p, sim, run, &mut golden, &cycle)?;
            cycles += 1;
        }
    }
    Ok(())
}

struct Ports {
    controls: [In; 5],
    acts: In,
    signs: In,
    exponents: In,
    mantissas: In,
    significance: In,
    result: Out,
    exponent: Out,
    invalid: Out,
}

impl Ports {
    fn find(sim: &Sim) -> sim::Result<Self> {
        let input = |name: &str| sim.input(name);
        Ok(Self {
            controls: [
                input("first_i")?,
                input("last_i")?,
                input("scale_valid_i")?,
                input("scale_first_i")?,
                input("scale_i")?,
            ],
            acts: input("acts_i")?,
            signs: input("term_signs_i")?,
            exponents: input("term_exponents_i")?,
            mantissas: input("term_mantissas_i")?,
            significance: input("significance_i")?,
            result: sim.output("result_o")?,
            exponent: sim.output("exponent_o")?,
            invalid: sim.output("invalid_o")?,
        })
    }

    fn step(
        &self,
        p: &BitSerialPe,
        sim: &mut Sim,
        run: &mut Run,
        golden: &mut Golden,
        cycle: &Cycle,
    ) -> sim::Result<()> {
        // A bit that is not valid may be anything.
        let (first, bit) = cycle.scale.unwrap_or((cycle.first, cycle.last));
        let controls = [cycle.first, cycle.last, cycle.scale.is_some(), first, bit];
        for (port, value) in self.controls.iter().zip(controls) {
            sim.poke_u64(*port, value.into());
        }
        let width = 1 + p.exponent_width + p.fraction_width;
        sim.poke(self.acts, &Bits::pack(width, cycle.acts.iter().map(|&act| act.into())));
        sim.poke(self.signs, &Bits::pack(1, cycle.terms.iter().map(|term| term.negative.into())));
        sim.poke(self.exponents, &Bits::pack(2, cycle.terms.iter().map(|term| term.exponent.into())));
        sim.poke(self.mantissas, &Bits::pack(1, cycle.terms.iter().map(|term| term.some.into())));
        sim.poke_u64(self.significance, cycle.significance.into());
        sim.tick()?;
        let Some(result) = golden.step(cycle) else { return Ok(()) };
        run.expect_i64(sim, self.result, result.mantissa as i64)?;
        run.expect_u64(sim, self.exponent, result.exponent.into())?;
        run.expect_u64(sim, self.invalid, result.invalid.into())
    }
}
