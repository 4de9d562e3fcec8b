//! [`AntDecoder`]: all types and codes.

use golden::baselines::ant_decoder::{Type, decode};
use hdl::blocks::baselines::AntDecoder;
use hdl::blocks::baselines::ant_decoder::Sign;

/// The bench of a decoder; it takes all types and codes, however many vectors there are.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &AntDecoder) -> anyhow::Result<Box<dyn sim::Bench>> {
    let signed = p.sign == Sign::Signed;
    sim::kit::bench(p, move |sim, run| {
        let (type_i, code_i) = (sim.input("type_i")?, sim.input("code_i")?);
        let (integer_o, exponent_o) = (sim.output("integer_o")?, sim.output("exponent_o")?);
        for (number, of) in [Type::Int, Type::PowerOfTwo, Type::Flint, Type::Flint].into_iter().enumerate() {
            for code in 0..16u8 {
                sim.poke_u64(type_i, number as u64);
                sim.poke_u64(code_i, code.into());
                sim.settle()?;
                let exponent = sim.peek_u64(exponent_o);
                let (value, expected) = (sim.peek_i64(integer_o) << exponent, decode(of, signed, code));
                let place = format!("value of code {code} as {of:?}");
                run.expect_equal(sim, "integer_o, exponent_o", &place, expected, value)?;
                if expected == 0 {
                    run.expect_equal(sim, "exponent_o", &format!("exponent of code {code} as {of:?}"), 0, exponent)?;
                }
            }
        }
        Ok(())
    })
}
