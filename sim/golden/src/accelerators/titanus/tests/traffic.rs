//! The traffic of jobs, by hand.

use super::*;

fn moved(bytes: u64, beats: u64) -> Moved {
    Moved { bytes, beats }
}

#[test]
fn weights_constants_rows_tags() {
    let (core, mut memory) = (core(), with_tokens());
    memory.store(0x2800, &records(&[(1.0, 0); 6]));
    let report = run(&core, &mut memory, &[load(), constants(), product().tagged(7, 0x7000)]);
    assert_eq!(report.end.code, 0);
    // Five rows of 6 weights, 6 records, two rows of 5 integers and of 6 halves.
    let expected = Traffic {
        descriptors: moved(384, 96),
        weights: moved(30, 10),
        constants: moved(48, 12),
        rows_in: moved(10, 4),
        rows_out: moved(24, 6),
        tags: moved(4, 1),
        ..Traffic::default()
    };
    assert_eq!(report.traffic(4), expected);
    assert_eq!((expected.read(), expected.written()), (moved(472, 122), moved(28, 7)));
    // On a wide bus each row, and the tag, takes a beat.
    let wide = report.traffic(64);
    assert_eq!((wide.read(), wide.written()), (moved(472, 6 + 5 + 1 + 2), moved(28, 3)));
}

/// Gains are read again for each row, and so are addends that all rows share.
#[test]
fn rows_that_come_again() {
    let steps = Descriptor::of(3).words(&[(32, 3), (36, 4), (56, 64), (92, 64)]);
    let steps = steps.longs(&[(64, 0x2000), (72, 0x3000), (96, 0x3800), (104, 0x6000)]);
    let (core, mut memory) = (core(), with_tokens());
    let report = run(&core, &mut memory, &[steps.clone().word(40, 0x30), steps.word(40, 2)]);
    assert_eq!(report.end.code, 0);
    let traffic = report.traffic(4);
    assert_eq!((traffic.rows_in, traffic.rows_out), (moved(4 * 24, 4 * 6), moved(2 * 24, 2 * 6)));
}

#[test]
fn streams() {
    let (core, mut memory) = (core(), with_tokens());
    let report = run(&core, &mut memory, &[append(24, 0).word(48, 3 | LINES << 16), restore_rows(24)]);
    // A block of keys is full, no block of values.
    let expected = Traffic {
        descriptors: moved(256, 64),
        rows_in: moved(192, 48),
        rows_out: moved(192, 48),
        blocks_in: moved(64, 16),
        blocks_out: moved(64, 16),
        ..Traffic::default()
    };
    assert_eq!((report.end.code, report.traffic(4)), (0, expected));
    let report = run(&core, &mut memory, &[append(6, 0), restore(6)]);
    let expected = Traffic { descriptors: moved(256, 16), rows_in: moved(48, 12), ..Traffic::default() };
    assert_eq!((report.end.code, report.traffic(16)), (0, expected), "all is on the chip");
}
