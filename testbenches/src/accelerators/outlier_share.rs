//! [`OutlierShare`]: rows of any number of outliers and segments, clears at any moment.

use golden::accelerators::outlier_share::share;
use hdl::accelerators::kllm::OutlierShare;
use rand::RngExt;

/// The bench; a vector is a segment.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &OutlierShare) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (most, segments_most) = ((1u64 << p.count_width) - 1, (1u64 << p.segment_width) - 1);
    sim::kit::bench(p, move |sim, run| {
        let mut rng = run.rng("rows");
        let (clear, next) = (sim.input("clear_i")?, sim.input("next_i")?);
        let (count_i, segments_i) = (sim.input("count_i")?, sim.input("segments_i")?);
        let (ready, share_o) = (sim.output("ready_o")?, sim.output("share_o")?);
        sim.poke_u64(next, 0);
        sim.reset(2)?;
        let mut left = 0;
        let (mut count, mut segments, mut segment) = (0, 1, 0);
        for _ in 0..run.vectors() {
            let begins = left == 0;
            if begins {
                // Outliers and segments: few, more, or nearly the most.
                let any = |rng: &mut sim::stimulus::StimulusRng, most: u64| match rng.random_range(0..3u8) {
                    0 => rng.random_range(0..=most.min(5)),
                    1 => rng.random_range(0..=most.min(60)),
                    _ => most - rng.random_range(0..=most.min(3)),
                };
                count = any(&mut rng, most);
                // Such that a share does not take too long.
                segments = any(&mut rng, segments_most).max(1).max(count / 500).min(segments_most);
                (segment, left) = (0, rng.random_range(1..3 * segments.min(20)));
                sim.poke_u64(count_i, count);
                sim.poke_u64(segments_i, segments);
            } else {
                segment = (segment + 1) % segments;
                left -= 1;
            }
            sim.poke_u64(clear, begins.into());
            // With clear_i it has no say.
            sim.poke_u64(next, (!begins || rng.random()).into());
            sim.tick()?;
            sim.poke_u64(clear, 0);
            sim.poke_u64(next, 0);
            let expected = share(count, segment, segments);
            if begins && left > 1 && expected > 1 && rng.random_range(0..8u8) == 0 {
                // A clear while it counts.
                left = 0;
                continue;
            }
            for _ in 0..expected {
                sim.settle()?;
                run.expect_u64(sim, ready, 0)?;
                sim.tick()?;
            }
            for _ in 0..rng.random_range(1..3u8) {
                sim.settle()?;
                run.expect_u64(sim, ready, 1)?;
                run.expect_u64(sim, share_o, expected)?;
                sim.tick()?;
            }
        }
        Ok(())
    })
}
