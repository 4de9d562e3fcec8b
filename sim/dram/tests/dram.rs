//! DRAM by itself.

use dram::{Dram, Kind};
use sim::bus::MemoryTiming;

const BURST: u64 = 256;

/// Bytes of a nanosecond of so many bursts, of which `most` are open at a time.
fn stream(kind: Kind, bursts: u64, most: usize, address: impl Fn(u64) -> u64) -> f64 {
    let mut dram = Dram::new(kind, 1.0).unwrap();
    let (mut asked, mut open, mut cycles) = (0, Vec::new(), 0u64);
    while asked < bursts || !open.is_empty() {
        while asked < bursts && open.len() < most {
            open.push(dram.ask(address(asked), BURST, false));
            asked += 1;
        }
        dram.cycle();
        cycles += 1;
        assert!(cycles < 1000 * bursts, "{} bursts are never done", open.len());
        open.retain(|&number| {
            let done = dram.done(number) >= BURST;
            if done {
                dram.answered(number);
            }
            !done
        });
    }
    (bursts * BURST) as f64 / cycles as f64
}

/// Shares of the peak: nearly all of it if enough is open at a time.
#[test]
fn streams() {
    for kind in [Kind::Hbm2, Kind::Lpddr4] {
        let peak = Dram::new(kind, 1.0).unwrap().peak();
        let scattered = |k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 36 << 8;
        let mut shares = Vec::new();
        for most in [1, 8, 32, 256] {
            let in_order = stream(kind, 4000, most, |k| k * BURST) / peak;
            let scattered = stream(kind, 4000, most, scattered) / peak;
            println!("| {kind:?} | {peak:.1} | {most} | {in_order:.2} | {scattered:.2} |");
            shares.push([in_order, scattered]);
        }
        let [one, .., all] = &shares[..] else { unreachable!() };
        assert!(one[1] < one[0] && one[0] < 0.5, "{shares:?}");
        assert!(all.iter().all(|share| (0.9..=1.0).contains(share)), "{shares:?}");
    }
}

/// Parts of lines, lines twice at a time, and requests from before a reset.
#[test]
fn all_that_is_asked_for_is_done() {
    let mut dram = Dram::new(Kind::Lpddr4, 1.0).unwrap();
    assert_eq!(dram.line(), 128);
    let _lost = dram.ask(0x1000, 512, false);
    dram.reset();
    let numbers = [(0x1040, 512), (0x1000, 512), (0x10c0, 16), (0x1000, 128)]
        .map(|(at, bytes)| (dram.ask(at, bytes, false), bytes));
    for _ in 0..1000 {
        dram.cycle();
    }
    for (number, bytes) in numbers {
        assert!(dram.done(number) >= bytes, "{number}: {} of {bytes}", dram.done(number));
        dram.answered(number);
    }
    assert!((20..100).contains(&dram.latency()), "{}", dram.latency());
}
