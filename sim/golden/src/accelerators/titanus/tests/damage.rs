//! Streams that differ from the written ones; areas that are too small; errors of the bus.

use proptest::prelude::*;

use super::*;

/// Tokens in memory: two whole blocks of keys, and at least one block of values.
const HELD: u32 = 48;

fn written() -> (TitanusCore, SparseMemory) {
    let core = core_of(Shape { context: 60, ..SHAPE });
    let mut memory = with_tokens();
    let report = run(&core, &mut memory, &[append(HELD, 0).word(48, 2 | LINES << 16)]);
    assert_eq!(report.end.code, 0);
    (core, memory)
}

/// The code of a job and its damage. Nothing else may have been written.
fn ends(core: &TitanusCore, memory: &SparseMemory, descriptor: Descriptor) -> (u8, Option<Damage>) {
    let (core, mut after) = (core.clone(), memory.clone());
    let report = run(&core, &mut after, &[descriptor]);
    assert_eq!(report.end.code == 0, core.cache_tokens() > 0);
    let allowed = report.written();
    for (at, (old, new)) in (0x2000u64..).zip(memory.bytes(0x2000, 0x6000).iter().zip(&after.bytes(0x2000, 0x6000))) {
        assert!(old == new || allowed.iter().any(|range| range.contains(&at)), "byte {at:#x}");
    }
    (report.end.code, report.damage())
}

fn damage(kind: u8, side: usize) -> (u8, Option<Damage>) {
    (code::FIELD, Some(Damage { kind, values: side == 1, area: AREAS[side] }))
}

/// A checksum finds any flipped bit.
#[test]
fn each_bit_of_a_stream() {
    let (core, good) = written();
    let blocks = core.state.borrow().streams().unwrap().each_ref().map(|stream| stream.blocks());
    assert!(blocks[0] >= 2 && blocks[1] >= 1, "{blocks:?}");
    for restore in [restore(HELD), restore_rows(HELD)] {
        assert_eq!(ends(&core, &good, restore.clone()), (0, None));
        for (side, area) in AREAS.into_iter().enumerate() {
            for bit in (0..512 * blocks[side]).step_by(5) {
                let (mut memory, at) = (good.clone(), area + bit / 8);
                memory.store(at, &[memory.bytes(at, 1)[0] ^ 1 << (bit % 8)]);
                assert_eq!(ends(&core, &memory, restore.clone()), damage(DAMAGE_STREAM, side), "bit {bit} of {side}");
            }
            // Bytes after the stream are not read.
            let mut memory = good.clone();
            memory.store(area + 64 * blocks[side], &[0xff; 64]);
            assert_eq!(ends(&core, &memory, restore.clone()), (0, None));
        }
    }
    // An append does not read earlier blocks.
    let mut memory = good.clone();
    AREAS.into_iter().for_each(|area| memory.store(area, &[0xff; 640]));
    assert_eq!(ends(&core, &memory, append(2, HELD)), (0, None));
    assert_eq!(ends(&core, &memory, restore(HELD)), damage(DAMAGE_STREAM, 0), "keys before values");
}

proptest! {
    #![proptest_config(seeds::proptest(256))]

    /// Any bytes, missing blocks, blocks from elsewhere.
    #[test]
    fn anything_in_place_of_a_stream(
        side in 0..2usize,
        bytes in prop::collection::vec(any::<u8>(), 1..128),
        at in 0..64usize,
        to_rows in any::<bool>(),
    ) {
        let (core, good) = written();
        let mut memory = good.clone();
        let here = &bytes[..bytes.len().min(64 - at)];
        memory.store(AREAS[side] + at as u64, here);
        let restore = if to_rows { restore_rows(HELD) } else { restore(HELD) };
        let same = memory.bytes(AREAS[side], 64) == good.bytes(AREAS[side], 64);
        let expected = if same { (0, None) } else { damage(DAMAGE_STREAM, side) };
        prop_assert_eq!(ends(&core, &memory, restore), expected);
    }
}

#[test]
fn registers_say_where() {
    let (core, mut memory) = written();
    memory.store(AREAS[1] + 3, &[0xaa]);
    memory.store(0x1000, &restore(HELD).0);
    let mut device = Device::new(core, 4, 16, memory);
    assert_eq!(device.read(0x138).unwrap(), HELD);
    for (offset, value) in [(0x28, 0x1000), (0x30, 0x1000), (0x38, 0xffff), (0x3c, 0), (0x08, 1)] {
        device.write(offset, value).unwrap();
    }
    let found = [0x0c, 0x1c, 0x20, 0x138, 0x150, 0x158, 0x15c].map(|at| device.read(at).unwrap());
    assert_eq!(found, [4, 15, 0x1000, 0, 2 | 1 << 8, AREAS[1] as u32, 0]);
    // The next job is valid, and reports no damage.
    device.memory.store(0x1000, &append(4, 0).next(0x1080).0);
    device.memory.store(0x1080, &restore(4).0);
    device.write(0x08, 1).unwrap();
    let found = [0x0c, 0x138, 0x150, 0x158].map(|at| device.read(at).unwrap());
    assert_eq!(found, [6, 4, 0, 0]);
}

#[test]
fn no_room() {
    let (core, memory) = written();
    let blocks = core.state.borrow().streams().unwrap().each_ref().map(|stream| stream.blocks() as u32);
    assert!(blocks[0] > blocks[1]);
    let with_lines = |lines: u32, descriptor: Descriptor| ends(&core, &memory, descriptor.word(48, lines << 16));
    assert_eq!(with_lines(blocks[0], restore(HELD)), (0, None));
    assert_eq!(with_lines(blocks[0] - 1, restore(HELD)), (code::SIZE, None));
    assert_eq!(with_lines(blocks[0], append(HELD, 0)), (0, None));
    assert_eq!(with_lines(blocks[0] - 1, append(HELD, 0)), damage(DAMAGE_ROOM, 0));
    // Fewer lines than blocks, but no block becomes full.
    assert_eq!(with_lines(1, append(1, HELD)), (0, None));
    // Only values: all keys are zero.
    let mut memory = memory.clone();
    put_rows(&mut memory, ROWS[0], &vec![vec![0; 4]; HELD as usize]);
    assert_eq!(ends(&core, &memory, append(HELD, 0).word(48, blocks[1] << 16)), (0, None));
    let wide = append(HELD, 0).words(&[(48, 1 << 16), (52, 0x0803_0002)]);
    assert_eq!(ends(&core, &memory, wide), damage(DAMAGE_ROOM, 1));
}

#[test]
fn errors_of_the_bus() {
    let codes = |place: u64, descriptor: Descriptor| {
        let (core, mut memory) = written();
        memory.fail(place..=place, BusError::Decode);
        run(&core, &mut memory, &[descriptor]).executed.pop().unwrap().codes
    };
    for place in [AREAS[0], AREAS[0] + 127, AREAS[1] + 63] {
        assert_eq!(codes(place, restore(HELD))[0], code::DECERR, "{place:#x}");
        assert_eq!(codes(place, append(HELD, 0)), [code::DECERR], "{place:#x}");
        assert!(codes(place, append(1, HELD)).is_empty(), "{place:#x}: what is there is not touched");
    }
    for place in ROWS.map(|rows| rows + 64 * u64::from(HELD)) {
        assert_eq!(codes(place, append(1, HELD))[0], code::DECERR, "{place:#x}");
    }
    for place in [0x6000, 0x7003 + 64 * u64::from(HELD - 1)] {
        assert_eq!(codes(place, restore_rows(HELD)), [code::DECERR], "{place:#x}");
        assert!(codes(place, restore(HELD)).is_empty());
    }
}
