//! [`OutlierMask`]: rows that are filled and used in any order of words, elements that are marked once and again, clears.

use golden::accelerators::outlier_mask::OutlierMask as Golden;
use hdl::accelerators::kllm::OutlierMask;
use rand::RngExt;

/// The bench; a vector is a cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &OutlierMask) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (depth, lanes) = (p.depth as usize, p.lanes);
    sim::kit::bench(p, move |sim, run| {
        let mut rng = run.rng("rows");
        let names =
            ["clear_i", "blank_i", "mark_i", "word_i", "lane_i", "fill_last_i", "read_i", "read_word_i", "use_last_i"];
        let inputs = names.iter().map(|name| sim.input(name)).collect::<sim::Result<Vec<_>>>()?;
        let (fresh_o, mask_o) = (sim.output("fresh_o")?, sim.output("mask_o")?);
        inputs.iter().for_each(|&input| sim.poke_u64(input, 0));
        sim.reset(2)?;
        let mut golden = Golden::new(depth);
        // The last read data, if it is known.
        let mut shown = None;
        for _ in 0..run.vectors() {
            let clear = rng.random_range(0..60u8) == 0;
            let (word, lane) = (rng.random_range(0..depth), rng.random_range(0..lanes));
            let read_word = rng.random_range(0..depth);
            let (fills, uses) = (golden.fills() && !clear, golden.uses() && !clear);
            let kind = rng.random_range(0..5u8);
            let (blank, mark) = (fills && kind < 2, fills && (2..4).contains(&kind));
            let fill_last = fills && rng.random_range(0..12u8) == 0;
            let (read, use_last) = (uses && rng.random(), uses && rng.random_range(0..12u8) == 0);
            // A mark that comes with a clear does not count.
            let dropped = clear && golden.fills() && rng.random();
            let bits = [clear, blank, mark || dropped].map(u64::from);
            let values = [
                bits[0],
                bits[1],
                bits[2],
                word as u64,
                lane.into(),
                fill_last.into(),
                read.into(),
                read_word as u64,
                use_last.into(),
            ];
            for (&input, value) in inputs.iter().zip(values) {
                sim.poke_u64(input, value);
            }
            sim.tick()?;
            if blank {
                golden.blank(word);
            }
            let fresh = if mark { golden.mark(word, lane) } else { Some(false) };
            if let Some(fresh) = fresh {
                run.expect_u64(sim, fresh_o, fresh.into())?;
            }
            if read {
                shown = golden.read(read_word);
            }
            if use_last {
                golden.use_last();
                shown = None;
            }
            if fill_last {
                golden.fill_last();
            }
            if clear {
                (golden, shown) = (Golden::new(depth), None);
            }
            if let Some(shown) = shown {
                run.expect_u64(sim, mask_o, shown)?;
            }
        }
        Ok(())
    })
}
