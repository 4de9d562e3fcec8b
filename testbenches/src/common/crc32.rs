//! [`Crc32`] against the serial rule.

use golden::common::crc32::continued;
use hdl::blocks::common::Crc32;
use rand::{Rng, RngExt};
use sim::Bits;

/// The bench of `crc32`; a vector is a piece of bytes.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Crc32) -> anyhow::Result<Box<dyn sim::Bench>> {
    let count = p.bytes as usize;
    sim::kit::bench(p, move |sim, run| {
        let mut rng = run.rng("bytes");
        let (crc_i, data_i, crc_o) = (sim.input("crc_i")?, sim.input("data_i")?, sim.output("crc_o")?);
        let mut crc = 0;
        for _ in 0..run.vectors() {
            let mut bytes = vec![0u8; count];
            match rng.random_range(0..4u8) {
                // A single one.
                0 => bytes[rng.random_range(0..count)] = 1 << rng.random_range(0..8u8),
                _ => rng.fill_bytes(&mut bytes),
            }
            // A message goes on, or a new one begins.
            if rng.random_range(0..4u8) == 0 {
                crc = 0;
            }
            sim.poke_u64(crc_i, crc.into());
            sim.poke(data_i, &Bits::pack(8, bytes.iter().map(|&b| b.into())));
            sim.settle()?;
            crc = continued(crc, &bytes);
            run.expect_u64(sim, crc_o, crc.into())?;
        }
        Ok(())
    })
}
