//! How long X, Q, K and V of an attention block live in Kelle's hardware, by the order of its operations.

use std::sync::Mutex;
use test_tag::tag;

use golden::accelerators::kelle::Replay;
use golden::kelle::edram_bank::Distribution;
use hdl::accelerators::kelle::{AttentionSpec, KelleSpec, KelleTop};
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::bus::AxiSpec;
use host::kelle::Caps;
use host::{Device, Window};
use jobs::hardware::{on_hardware, ready};
use sim::bus::AxiConfig;
use testbenches::accelerators::kelle::lifetimes::{Block, Lifetimes, Order, Size, watch};
use testbenches::accelerators::kelle::{decay, golden_of};

const WINDOW: Window = Window { base: 0x10_0000, limit: 0xff_ffff, address_width: 40 };
const SIZE: Size = Size { heads: 3, group: 3, elements: 32, channels: 128, slots: 24 };
/// Tokens of the prompt; the step after it fills the heads.
const PROMPT: usize = 23;
/// Cycles for which the weakest cell holds its bit at 1 GHz.
const SAFE: f64 = 45_000.0;

/// 8 x 8 PEs on a bus of 16 bytes.
fn block(overlaps: bool) -> KelleTop {
    let spec = KelleSpec {
        axi: AxiSpec { address_width: 40, data_width: 128, id_width: 1 },
        rows: 8,
        columns: 8,
        tokens: SIZE.slots as u32,
        inner: SIZE.channels as u32,
        weights: 64,
        ..KelleSpec::default()
    };
    let attention = AttentionSpec {
        spec: spec.clone(),
        heads: SIZE.heads as u32,
        slots: SIZE.slots as u32,
        width: SIZE.elements as u32,
        group: SIZE.group as u32,
        retention_model: true,
        ..AttentionSpec::default()
    };
    KelleTop {
        vector: VectorParameters { max_beats: 16, ..VectorParameters::all() },
        spec,
        attention,
        overlaps,
        ..KelleTop::default()
    }
}

/// Queries, keys, values of all heads, then their attention; head by head; head by head with values after the scores.
const ORDERS: [Order; 3] =
    [Order { by_head: false, late: false }, Order { by_head: true, late: false }, Order { by_head: true, late: true }];

/// A prompt and a step in each order: lives and cycles of both.
fn measured(overlaps: bool) -> [[(Lifetimes, u64); 2]; 3] {
    let block = block(overlaps);
    let golden = golden_of(&block).unwrap();
    let cells = Replay::new(golden.shape(), block.attention.banks, seeds::seed(1), &Distribution::tail());
    let all = Mutex::new(Vec::new());
    on_hardware(&block, &AxiConfig::ideal(20), |hardware| {
        decay::set_times(hardware, &block, &cells).unwrap();
        let seen = watch(hardware, 16).unwrap();
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 32).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        for order in ORDERS {
            device.soft_reset(1000).unwrap();
            let mut attention = Block::new((&caps, &WINDOW), golden.clone(), SIZE, seeds::seed(2)).unwrap();
            let measured = [PROMPT, 1].map(|tokens| {
                let pass = attention.pass(tokens, order).unwrap();
                seen.borrow_mut().forget();
                let cycles = pass.job.run(&mut device).unwrap_or_else(|e| panic!("{order:?}: {e:#}")).cycles;
                (pass.lifetimes(&seen.borrow(), block.attention.entries() as usize).unwrap(), cycles)
            });
            println!("{order:?}: {measured:?}");
            all.lock().unwrap().push(measured);
        }
    });
    all.into_inner().unwrap().try_into().unwrap()
}

/// By the equations, and all that is between: an operation begins, the array and the softmax have their latencies.
fn explains(lives: [f64; 4], formula: [f64; 4], operations: [f64; 4]) {
    for ((life, formula), operations) in lives.into_iter().zip(formula).zip(operations) {
        let more = life - formula;
        assert!((0.0..400.0 * operations).contains(&more), "{life}, by the formula {formula}");
    }
}

/// A step and a prompt in three orders, bit for bit right. In the paper's order, head by head, Q, K and V live less
/// than half as long, and X longer. Values after the scores make both shorter. In a step, no activation lives as long
/// as the weakest cell holds its bit.
#[tag(full)]
#[test]
#[ignore = "a simulation of a minute"]
fn lives_by_the_order_of_operations() {
    let [baseline, by_head, late] = measured(false);
    let accesses = SIZE.accesses(SIZE.slots, block(false).spec.columns as usize);
    println!("by the formula: {accesses:?}");
    println!("{:?} {:?} {:?}", accesses.baseline(), accesses.by_head(), accesses.parallel());
    for (all, parts) in [(&baseline, 1.0), (&by_head, 3.0), (&late, 3.0)] {
        let (step, _) = all[1];
        for (measured, formula) in step.weights.into_iter().zip(accesses.weights) {
            // The last of them wait in the weight SRAM when the bus is done.
            assert!((0.0..100.0 * parts).contains(&(formula - measured)), "{measured} beside {formula}");
        }
        let [keys, values] = step.cached;
        assert!(values == accesses.cached && (1.0..1.1).contains(&(keys / values)), "{keys}, {values}");
        assert!(step.longest.into_iter().all(|life| life < SAFE), "{step:?}");
    }
    // Of the prompt X outlives it, and queries where all heads wait.
    let short = [&baseline, &by_head, &late].map(|all| all[0].0.longest.map(|life| life < SAFE));
    assert_eq!(short, [[false, false, true, true], [false, true, true, true], [false, true, true, true]]);
    explains(baseline[1].0.lives, accesses.baseline(), [3.0, 4.0, 3.0, 2.0]);
    explains(by_head[1].0.lives, accesses.by_head(), [11.0, 3.0, 2.0, 1.0]);
    explains(late[1].0.lives, accesses.by_head(), [11.0, 3.0, 2.0, 1.0]);
    let sum = |lives: &[f64]| lives.iter().sum::<f64>();
    for k in 0..2 {
        let [first, second, third] = [&baseline, &by_head, &late].map(|all| all[k].0.lives);
        assert!(2.0 * sum(&second[1..]) < sum(&first[1..]) && second[0] > first[0]);
        assert!(third.iter().zip(&second).all(|(late, early)| late < early));
    }
    // A value is fetched when it would be waited for otherwise: 4 beats, and 4 cycles to its integers, of each head.
    assert_eq!(by_head[1].1 - late[1].1, 3 * (4 + 4));
    assert!(late[1].0.value_waits < by_head[1].0.value_waits);
}

/// Where operations overlap, weights of the next head are read while a head attends, as in equation 8: head by head, a
/// step and a prompt are sooner at their end, and all lives together are shorter.
#[tag(full)]
#[test]
#[ignore = "two simulations of a minute"]
fn lives_where_operations_overlap() {
    let sum = |lives: &[f64]| lives.iter().sum::<f64>();
    for (apart, together) in measured(false).into_iter().zip(measured(true)).skip(1) {
        for ((before, slow), (after, fast)) in apart.into_iter().zip(together) {
            assert!(fast < slow, "{fast} cycles, {slow} one by one");
            assert!(sum(&after.lives) < sum(&before.lives), "{after:?}, {before:?} one by one");
        }
    }
}
