//! Steps of attention: against real numbers, and cut into operations in any way.

use super::random::*;
use super::*;

/// T tokens in one operation are the same as T operations.
#[test]
fn tokens_may_come_in_any_parts() {
    for seed in 0..60 {
        let (mut whole, mut parts) = (Case::new(seed), Case::new(seed));
        let tops = [top_of(whole.shape), top_of(whole.shape)];
        let report = whole.run(&tops[0], 0, whole.tokens);
        let mut random = Random::new(seed + 1000);
        let (mut done, mut evictions) = (0, 0);
        while done < parts.tokens {
            let now = 1 + random.below(parts.tokens - done);
            evictions += parts.run(&tops[1], done, now).counts().evictions;
            done += now;
        }
        assert_eq!(tops[0].head(2), tops[1].head(2), "{seed}");
        assert_eq!(report.counts().evictions, evictions);
        assert_eq!(evictions, whole.tokens.saturating_sub(whole.budget));
        for token in 0..whole.tokens {
            assert_eq!(whole.results(token), parts.results(token), "{seed}");
        }
    }
}

/// Softmax attention in real numbers over the tokens of the head. The results differ only by roundings to integers, of
/// scores and of probabilities.
#[test]
fn results_are_those_of_real_numbers() {
    let mut largest = 0f64;
    for seed in 0..60 {
        let mut case = Case::new(seed);
        let top = top_of(case.shape);
        for token in 0..case.tokens {
            let before = top.head(2).tokens;
            case.run(&top, token, 1);
            let of_old = |vector: fn(&Token) -> &Vec<i64>| -> Vec<Vec<f64>> {
                before.iter().map(|t| vector(t).iter().map(|&x| x as f64).collect()).collect()
            };
            let (mut keys, mut values) = (of_old(|t| &t.key), of_old(|t| &t.value));
            keys.push(case.scaled(KEYS, token, 1));
            values.push(case.scaled(VALUES, token, 2));
            let queries = case.scaled(QUERIES, token, 0);
            let results = case.results(token);
            let elements = case.elements as usize;
            for (query, results) in queries.chunks(elements).zip(results.chunks(elements)) {
                let score = |key: &Vec<f64>| query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>() * case.scale(0);
                let weights = crate::kelle::aerp::softmax(&keys.iter().map(score).collect::<Vec<_>>());
                // Weights are integers; 1 is 2^15.
                let scale = case.scale(1) * 32768.0;
                let most = values.iter().flatten().map(|v| v.abs()).fold(0.0, f64::max) * scale;
                for (d, result) in results.iter().enumerate() {
                    let expected: f64 = weights.iter().zip(&values).map(|(w, v)| w * v[d]).sum::<f64>() * scale;
                    largest = largest.max((expected - result).abs() / most);
                }
            }
        }
    }
    // Scores of up to some tens in fp16: their error is 2^-6 at 32.
    assert!((1e-4..2e-2).contains(&largest), "{largest}");
}

/// A lower budget. The first and the recent tokens stay, and among the others the tokens with the highest scores; a tie
/// keeps the younger.
#[test]
fn a_lower_budget_keeps_the_best() {
    let mut shrunk = 0;
    for seed in 0..200 {
        let mut case = Case::new(seed);
        if case.shape.slots < 7 || case.tokens < 4 {
            continue;
        }
        let top = top_of(case.shape);
        let (budget, sink, window) = (case.budget, case.sink, case.window);
        (case.budget, case.sink, case.window) = (case.shape.slots.into(), 0, 0);
        case.run(&top, 0, case.tokens - 1);
        let before = top.head(2).tokens;
        (case.budget, case.sink, case.window) = (budget, sink, window);
        // Its products change the scores first. With this shift they are 0 or -1.
        case.shift = 47;
        let report = case.run(&top, case.tokens - 1, 1);
        let after = top.head(2).tokens;
        let over = (before.len() as u64 + 1).saturating_sub(budget);
        assert_eq!((report.counts().evictions, after.len()), (over, before.len() + 1 - over as usize), "{seed}");
        shrunk += u64::from(over > 1);
        let stays = |k: usize| (k as u64) < sink || k as u64 + window >= before.len() as u64;
        let gone: Vec<usize> = (0..before.len())
            .filter(|&k| !after.iter().any(|t| t.key == before[k].key && t.value == before[k].value))
            .collect();
        assert_eq!(gone.len() as u64, over, "keys of {seed} are all different");
        assert!(!gone.iter().any(|&k| stays(k)), "{seed}");
    }
    assert!(shrunk > 20, "{shrunk}");
}

/// Products of up to 2^30 times elements do not wrap, and scores saturate.
#[test]
fn the_largest_numbers() {
    let top = top_of(Shape { width: 8, ..SHAPE });
    let descriptor = Descriptor::attention().words(&[(40, 1), (44, 8), (72, 2f32.powi(-30).to_bits())]);
    let mut memory = attention_memory(&descriptor);
    for row in 0..2u64 {
        for at in [0x2000, 0x3000, 0x4000] {
            memory.store(at + 64 * row, &halves(&[-60_000.0; 8]));
        }
    }
    let report = run(&top, &mut memory);
    assert_eq!((report.end.code, report.counts().saturations), (0, 48));
    assert_eq!(floats(&memory, 0x6040, 8), [-32768.0; 8]);
    // 8 x 2^30 counts as 255, which is not above the top.
    assert_eq!(top.head(1).tokens[0].score, 255);
    run(&top, &mut memory);
    // 255 + 255 is above it.
    assert_eq!(top.head(1).tokens.iter().map(|t| t.score).collect::<Vec<_>>()[0], 127);
}
