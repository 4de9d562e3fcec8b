//! [`ConcatUnit`] cycle by cycle against its register in the golden model, with resets at random moments.

use golden::kllm::concat_unit::ConcatUnit as Golden;
use hdl::blocks::kllm::ConcatUnit;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Run, Sim};

/// The bench of a concat unit; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ConcatUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (a_bits, b_bits) = (p.a_bits, p.b_bits);
    sim::kit::bench(p, move |sim, run| check(sim, run, a_bits, b_bits))
}

fn check(sim: &mut Sim, run: &mut Run, a_bits: u32, b_bits: u32) -> sim::Result<()> {
    let mut rng = run.rng("pairs");
    let mut golden = Golden::new(b_bits);
    let [enable, valid, outlier, a, w] = ["enable_i", "valid_i", "outlier_i", "a_i", "w_i"].map(|name| sim.input(name));
    let (enable, valid, outlier, a, w) = (enable?, valid?, outlier?, a?, w?);
    let (index, present) = (sim.output("index_o")?, sim.output("present_o")?);
    run.reset(sim, 2)?;
    run.expect_u64(sim, present, 0)?;
    for _ in 0..run.vectors() {
        if rng.random_range(0..64u8) == 0 {
            run.reset(sim, 1)?;
            golden = Golden::new(b_bits);
            run.expect_u64(sim, present, 0)?;
        }
        let bit = |num: u32, rng: &mut StimulusRng| rng.random_range(0..num) != 0;
        let (e, v, o) = (bit(3, &mut rng), bit(4, &mut rng), !bit(4, &mut rng));
        let (av, wv) = (rng.random_range(0..1u64 << a_bits), rng.random_range(0..1u64 << b_bits));
        sim.poke_u64(enable, e.into());
        sim.poke_u64(valid, v.into());
        sim.poke_u64(outlier, o.into());
        sim.poke_u64(a, av);
        sim.poke_u64(w, wv);
        sim.tick()?;
        golden.step(e, v, o, av, wv);
        run.expect_u64(sim, present, golden.present.into())?;
        // Unknown until the first load.
        if let Some(expected) = golden.index {
            run.expect_u64(sim, index, expected)?;
        }
    }
    Ok(())
}
