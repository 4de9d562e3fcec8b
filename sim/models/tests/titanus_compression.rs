//! What the documentation says about CPQ on the real keys and values: orderings and bounds, from the same code as its tables.

use models::titanus::compression::{errors, levels, traffic};

#[test]
fn hqe_needs_few_levels_and_saves_most_of_the_work() {
    let halves: Vec<_> = [32, 64, 128, 256, 384].map(|n| (n, n / 2)).into();
    let rows = levels(3, &halves).unwrap_or_else(|e| panic!("{e}"));
    for pair in rows.windows(2) {
        assert!(pair[1].opened < pair[0].opened, "{pair:?}");
        assert!(pair[1].saved > pair[0].saved, "{pair:?}");
    }
    // Fewer levels than the paper's at every context, within the 16 that the hardware has.
    for (row, paper) in rows.iter().zip([3.1, 4.41, 5.97, 7.74, 9.92]) {
        assert!(row.levels < paper && row.most <= 16, "{row:?}");
    }
    // With a short prefill, levels grow with the context.
    let short: Vec<_> = [32, 64, 128, 256, 384].map(|n| (n, 8)).into();
    let rows = levels(3, &short).unwrap_or_else(|e| panic!("{e}"));
    assert!(rows.windows(2).all(|p| p[1].levels > p[0].levels), "{rows:?}");
    assert!(rows.iter().all(|r| r.most <= 16), "{rows:?}");
}

#[test]
fn cpq_moves_less_than_half() {
    let rows = traffic(0.338, [3, 2]).unwrap_or_else(|e| panic!("{e}"));
    for r in &rows {
        let [pruning, cpq, blocks] = r.saved();
        assert!(pruning > 0.2 && cpq > 0.55 && blocks > 0.53 && cpq > blocks, "{r:?}");
        // Quantization adds zeros to those of pruning; dequantization adds those at the zero point and loses those at label 0.
        assert!(r.zeros[1] > r.zeros[0] && r.zeros[2] > r.zeros[0], "{r:?}");
        // Break points are far cheaper than level numbers that travel along, and records are a small part.
        assert!(100.0 * r.break_points < r.level_numbers && r.records < 0.03 * r.cpq, "{r:?}");
        let all = r.work.index_skips + r.work.label_skips + r.work.zero_point_skips + r.work.multiplications;
        assert!(3 * r.work.multiplications < 2 * all, "{r:?}");
    }
    let mean = |i: usize| rows.iter().map(|r| r.saved()[i]).sum::<f64>() / rows.len() as f64;
    assert!(mean(0) > 0.223 && mean(1) > 0.589, "{} {}", mean(0), mean(1));
    // More pruning, fewer bytes; without pruning the index costs more than it saves.
    let saved: Vec<f64> = [0.0, 0.2, 0.338, 0.5]
        .map(|share| traffic(share, [3, 2]).unwrap_or_else(|e| panic!("{e}")).iter().map(|r| r.saved()[1]).sum())
        .into();
    assert!(saved.windows(2).all(|p| p[1] > p[0]), "{saved:?}");
}

#[test]
fn hqe_is_as_exact_as_requantization_and_smaller_than_groups() {
    for bits in [2, 3, 4] {
        let rows = errors(bits, 0.338).unwrap_or_else(|e| panic!("{e}"));
        let [hqe, channel, groups, token, token_groups] = &rows[..] else { panic!("{rows:?}") };
        assert!(hqe.error < channel.error && hqe.error < token_groups.error && hqe.error < token.error, "{rows:?}");
        assert!(groups.error < hqe.error, "{rows:?}");
        assert!(hqe.bits < groups.bits && hqe.bits < token.bits && hqe.bits < 1.02 * channel.bits, "{rows:?}");
    }
}
