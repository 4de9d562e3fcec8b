//! [`OliveDecoder`]: every pair of both types at every place, beside random pairs.

use golden::baselines::olive_decoder::{Normal, decode};
use hdl::blocks::baselines::OliveDecoder;
use rand::RngExt;

/// The bench of a decoder; it takes all pairs, however many vectors there are.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &OliveDecoder) -> anyhow::Result<Box<dyn sim::Bench>> {
    let pairs = p.pairs as usize;
    sim::kit::bench(p, move |sim, run| {
        let mut rng = run.rng("pairs");
        let (flint_i, pairs_i) = (sim.input("flint_i")?, sim.input("pairs_i")?);
        let invalid_o = sim.output("invalid_o")?;
        let (integers_o, exponents_o) = (sim.output("integers_o")?, sim.output("exponents_o")?);
        for normal in [Normal::Int4, Normal::Flint4] {
            for (place, pair) in (0..pairs).flat_map(|place| (0..=255u8).map(move |pair| (place, pair))) {
                let mut bytes: Vec<u8> = (0..pairs).map(|_| rng.random()).collect();
                bytes[place] = pair;
                sim.poke_u64(flint_i, (normal == Normal::Flint4).into());
                sim.poke(pairs_i, &sim::Bits::pack(8, bytes.iter().map(|&byte| byte.into())));
                sim.settle()?;
                let values: Vec<_> = bytes.iter().map(|byte| decode(normal, [byte & 15, byte >> 4])).collect();
                run.expect_u64(sim, invalid_o, values.iter().any(Option::is_none).into())?;
                let (integers, exponents) = (sim.peek(integers_o).unpack(5), sim.peek(exponents_o).unpack(3));
                for (k, expected) in values.iter().flat_map(|pair| pair.unwrap_or_default()).enumerate() {
                    let integer = integers[k] as i64 - if integers[k] >= 16 { 32 } else { 0 };
                    let value = integer << exponents[k];
                    let name = format!("value {k} of {:02x}, {normal:?}", bytes[k / 2]);
                    run.expect_equal(sim, "integers_o, exponents_o", &name, expected, value)?;
                    if bytes[k / 2] >> (4 * (k % 2)) & 15 == 8 {
                        run.expect_equal(sim, "exponents_o", &format!("exponent of victim {k}"), 0, exponents[k])?;
                    }
                }
            }
        }
        Ok(())
    })
}
