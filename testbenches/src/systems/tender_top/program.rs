//! Jobs of the Tender accelerator: descriptors, right and wrong, and their operands.

use golden::systems::tender_top::{Layout, Shape};
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::super::draw::{area, area_bytes, often, size};
use super::super::program::Program;
use super::super::vector_top::program as vector;

/// Bits of the flags.
const INT8: u32 = 0;
const A_UNSIGNED: u32 = 1;
const B_UNSIGNED: u32 = 2;
const INTEGERS: u32 = 4;
const OUT_UNSIGNED: u32 = 5;
const RELU: u32 = 6;
const PER_ROW: u32 = 7;
const EXPLICIT: u32 = 8;
const EXACT: u32 = 12;

/// Entry of a table that is no channel.
const RESCALE: u16 = 0x8000;

/// A product or a pack, field by field; fields that an operation does not have are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// 1 or 2.
    pub opcode: u8,
    /// Bit 0 writes the tag, bit 1 says that it does not depend on the one before.
    pub header_flags: u16,
    /// The tag.
    pub tag: u32,
    /// Where it is written.
    pub tag_address: u64,
    /// Rows, columns, channels, steps.
    pub sizes: [u32; 4],
    /// Mode, signs, format of results.
    pub flags: u32,
    /// Address and stride of A or x, B, the table, the constants, the results; table and constants have no stride.
    pub places: [(u64, u32); 5],
}

impl Descriptor {
    /// Its bytes; there is no next one.
    #[must_use]
    pub fn bytes(&self) -> [u8; 128] {
        let mut bytes = [0; 128];
        let mut put = |at: usize, value: u64, count: usize| {
            bytes[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
        };
        put(0, 0x5a42_4e53, 4);
        put(4, 1, 1);
        put(5, self.opcode.into(), 1);
        put(6, self.header_flags.into(), 2);
        put(16, self.tag.into(), 4);
        put(24, self.tag_address, 8);
        for (k, size) in self.sizes.into_iter().enumerate() {
            put(32 + 4 * k, size.into(), 4);
        }
        put(48, self.flags.into(), 4);
        let [a, b, table, constants, out] = self.places;
        put(56, a.1.into(), 4);
        put(60, b.1.into(), 4);
        put(64, a.0, 8);
        put(72, b.0, 8);
        put(80, table.0, 8);
        put(88, constants.0, 8);
        put(96, out.1.into(), 4);
        put(104, out.0, 8);
        bytes
    }
}

/// Results that a later operation of the chain may take.
#[derive(Clone, Copy, Debug)]
enum Results {
    /// Rows and columns of fp16, and where they are.
    Rows([u32; 2], (u64, u32)),
    /// Panels of integers, the mode, and where they are.
    Panels([u32; 2], bool, (u64, u32)),
}

/// A job: a chain of one to `chain` descriptors, over all operations that the shape has; of each four chains one is spoilt.
///
/// # Panics
/// The shape is one that the accelerator refuses.
pub fn draw(rng: &mut StimulusRng, shape: &Shape, chain: u32) -> Program {
    let mut before = None;
    Program::draw(rng, shape.vector.address_width, chain, |rng, program| match rng.random_range(0..8u8) {
        0 | 1 => {
            let mut one = vector::descriptor(rng, program, &shape.vector);
            let fp16 = one.steps >> 8 & 3 == 0;
            before = fp16.then_some(Results::Rows([one.rows, one.columns], one.places[4]));
            if often(rng, 16) {
                program.plain = false;
                vector::spoil(rng, &mut one);
            }
            let mut bytes = one.bytes();
            bytes[5] = 3;
            bytes
        }
        kind => {
            let mut one = match kind {
                2 | 3 => pack(rng, program, shape, &mut before),
                _ => product(rng, program, shape, &mut before),
            };
            if often(rng, 16) {
                program.plain = false;
                spoil(rng, shape, &mut one);
            }
            one.bytes()
        }
    })
}

/// Makes a field wrong that a check of its own is for.
fn spoil(rng: &mut StimulusRng, shape: &Shape, one: &mut Descriptor) {
    let any = if one.opcode == 1 { [0, 1, 2, 3, 4] } else { [0, 0, 3, 4, 4] };
    let place = any[rng.random_range(0..5usize)];
    match rng.random_range(0..6u8) {
        0 if one.opcode == 1 && !shape.explicit && rng.random() => one.flags |= 1 << EXPLICIT,
        0 => one.flags |= 1 << [3, 9, 11, 13, 31][rng.random_range(0..5usize)],
        // Of a pack these must be 0.
        1 => one.flags |= 1 << [A_UNSIGNED, B_UNSIGNED, INTEGERS, PER_ROW, EXPLICIT][rng.random_range(0..5usize)],
        2 => {
            let at = rng.random_range(0..4usize);
            let most = [65535, 65535, shape.depth, shape.steps][at];
            one.sizes[at] = [0, most + 1, u32::MAX][rng.random_range(0..3usize)];
        }
        3 => one.places[place].0 |= 1 << rng.random_range(0..6u8),
        // A table and constants have no stride: that field must be 0.
        4 if place == 0 || place == 4 => one.places[place].1 |= 1 << rng.random_range(0..6u8),
        _ => one.places[place].0 ^= 1 << rng.random_range(12..64u8),
    }
}

/// Flags, each up half of the time; EXACT is up seldom.
fn flags(rng: &mut StimulusRng, int8: bool, bits: &[u32]) -> u32 {
    let flags = bits.iter().fold(u32::from(int8) << INT8, |flags, bit| flags | u32::from(rng.random::<bool>()) << bit);
    flags | u32::from(often(rng, 8)) << EXACT
}

fn panels(lines: u32, in_panel: u64) -> u32 {
    lines.div_ceil(in_panel as u32)
}

/// The bytes of a word of a panel, as it comes in fp16 or not.
fn out_rows(layout: Layout, [rows, columns]: [u32; 2], integers: bool) -> (u32, u32) {
    if integers { (panels(rows, layout.rows), columns * layout.row_word_bytes() as u32) } else { (rows, 2 * columns) }
}

fn header(rng: &mut StimulusRng, program: &mut Program, depends: bool) -> (u16, u32, u64) {
    let flags = rng.random_range(0..4u16) & if depends { 1 } else { 3 };
    (flags, rng.random(), program.take(rng, 64))
}

/// Constants such that results are about `most` where numbers are about `number`; special ones now and then. Results of
/// fp16 have no `most`: nothing is multiplied by their quantizers, which are any bits.
fn constants(rng: &mut StimulusRng, program: &mut Program, records: u32, number: f32, most: Option<f32>) -> (u64, u32) {
    let wild = often(rng, 6);
    let special = [0, 0x8000_0000, 1, 0x807f_ffff, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xff80_0001, 0x7f7f_ffff];
    let scale = 2f32.powi(rng.random_range(-6..7));
    let mut bytes = Vec::new();
    for _ in 0..records {
        let sign = if often(rng, 4) { -1.0 } else { 1.0 };
        let near = |rng: &mut StimulusRng, x: f32| x * rng.random_range(0.5..1.5f32);
        let mut record = [
            sign * near(rng, scale / number),
            if rng.random() { 0.0 } else { rng.random_range(-scale..scale) },
            near(rng, 0.4 * most.unwrap_or(1.0) / scale),
        ]
        .map(f32::to_bits);
        if most.is_none() {
            record[2] = rng.random();
        }
        if wild && often(rng, 3) {
            record[rng.random_range(0..3usize)] = special[rng.random_range(0..special.len())];
        }
        bytes.extend(record.iter().chain([&rng.random()]).flat_map(|word: &u32| word.to_le_bytes()));
    }
    let address = program.take(rng, bytes.len() as u64);
    program.put(address, &bytes);
    (address, 0)
}

/// A bound that results should not exceed by much, where they are integers.
fn most(layout: Layout, flags: u32) -> Option<f32> {
    let has = |bit: u32| flags >> bit & 1 == 1;
    has(INTEGERS).then(|| layout.range(!has(OUT_UNSIGNED)).1 as f32)
}

/// fp16 numbers that become integers.
fn pack(rng: &mut StimulusRng, program: &mut Program, shape: &Shape, before: &mut Option<Results>) -> Descriptor {
    let int8 = shape.int8 && rng.random();
    let layout = shape.layout(int8);
    let taken = match *before {
        Some(Results::Rows(sizes, place)) if often(rng, 2) => Some((sizes, place)),
        _ => None,
    };
    let mut sizes = [size(rng, 3 * layout.rows as u32), size(rng, 100)];
    if let Some((of, _)) = taken {
        sizes = of;
    }
    let share = program.left() as u32 / 4;
    let bytes = |[rows, columns]: [u32; 2]| {
        let out = out_rows(layout, [rows, columns], true);
        area_bytes(rows, 2 * columns) + area_bytes(out.0, out.1) + area_bytes(1, 16 * columns) + 256
    };
    // Fewer of the rows that are there are right too.
    while bytes(sizes) > share && sizes != [1, 1] {
        sizes = if sizes[0] > 1 { [sizes[0].div_ceil(2), sizes[1]] } else { [1, sizes[1].div_ceil(2)] };
    }
    let [rows, columns] = sizes;
    let flags = flags(rng, int8, &[OUT_UNSIGNED, RELU]);
    let x = taken.map_or_else(
        || {
            let place = area(rng, program, rows, 2 * columns, true);
            // Elsewhere are numbers of all kinds, which hardly fit.
            if !often(rng, 3) {
                moderate(rng, program, place, (rows, columns));
            }
            place
        },
        |(_, place)| place,
    );
    let constants = constants(rng, program, columns, 4.0, most(layout, flags | 1 << INTEGERS));
    let (panels, panel_bytes) = out_rows(layout, sizes, true);
    let out = area(rng, program, panels, panel_bytes, false);
    let (header_flags, tag, tag_address) = header(rng, program, taken.is_some());
    *before = Some(Results::Panels(sizes, int8, out));
    let places = [x, (0, 0), (0, 0), constants, out];
    Descriptor { opcode: 2, header_flags, tag, tag_address, sizes: [rows, columns, 0, 0], flags, places }
}

/// Rows of fp16 numbers of up to 8.
fn moderate(rng: &mut StimulusRng, program: &mut Program, (address, stride): (u64, u32), (rows, columns): (u32, u32)) {
    for row in 0..if stride == 0 { 1 } else { rows } {
        let number =
            |rng: &mut StimulusRng| rng.random_range(0x3000..0x4800u16) | u16::from(rng.random::<bool>()) << 15;
        let bytes: Vec<u8> = (0..columns).flat_map(|_| number(rng).to_le_bytes()).collect();
        program.put(address + u64::from(row * stride), &bytes);
    }
}

/// A table over `channels` channels: groups, some of them empty; any order; hardly anything but doublings. And seldom one
/// with an entry that means nothing.
fn table(rng: &mut StimulusRng, channels: u32, most: u32) -> Vec<u16> {
    let mut entries = Vec::new();
    let any = |rng: &mut StimulusRng| rng.random_range(0..channels) as u16;
    match rng.random_range(0..6u8) {
        0 => {
            let steps = size(rng, most.min(2 * channels + 8));
            entries.extend((0..steps).map(|_| if often(rng, 9) { RESCALE } else { any(rng) }));
        }
        1 => {
            let steps = size(rng, most.min(60));
            entries.extend((0..steps).map(|_| if often(rng, 4) { any(rng) } else { RESCALE }));
        }
        _ => {
            let groups = rng.random_range(1..=8usize.min(most as usize));
            let mut passes = vec![Vec::new(); groups];
            (0..channels as u16).for_each(|channel| passes[rng.random_range(0..groups)].push(channel));
            for (k, pass) in passes.into_iter().enumerate() {
                entries.extend((k > 0).then_some(RESCALE));
                entries.extend(pass);
            }
            entries.truncate(most as usize);
        }
    }
    if often(rng, 24) {
        let at = rng.random_range(0..entries.len());
        entries[at] = [channels as u16, 0x7fff, 0x8001, 0xffff, 0xc000][rng.random_range(0..5usize)];
    }
    entries
}

/// Integers of `bytes` bytes: any, small ones, or the ends.
fn integers(rng: &mut StimulusRng, program: &mut Program, address: u64, bytes: u32) {
    let kind = rng.random_range(0..4u8);
    let byte = |rng: &mut StimulusRng| match kind {
        0 => [0x11, 0x00, 0xff, 0x01, 0xf0][rng.random_range(0..5usize)],
        1 => [0x88, 0x77, 0x80, 0x7f, 0xff][rng.random_range(0..5usize)],
        _ => rng.random(),
    };
    let data: Vec<u8> = (0..bytes).map(|_| byte(rng)).collect();
    program.put(address, &data);
}

/// A product of matrices.
fn product(rng: &mut StimulusRng, program: &mut Program, shape: &Shape, before: &mut Option<Results>) -> Descriptor {
    let mut int8 = shape.int8 && rng.random();
    let taken = match *before {
        Some(Results::Panels(sizes, mode, place)) if sizes[1] <= shape.depth && often(rng, 2) => {
            int8 = mode;
            Some((sizes, place))
        }
        _ => None,
    };
    let layout = shape.layout(int8);
    let (a_word, b_word) = (layout.row_word_bytes() as u32, layout.column_word_bytes() as u32);
    let mut flags = flags(rng, int8, &[A_UNSIGNED, B_UNSIGNED, INTEGERS, OUT_UNSIGNED, RELU, PER_ROW]);
    if shape.explicit && rng.random() {
        flags |= 1 << EXPLICIT;
    }
    let has = |bit: u32| flags >> bit & 1 == 1;
    let [mut rows, mut columns] = [layout.rows, layout.columns].map(|lines| size(rng, 3 * lines as u32));
    let mut channels = size(rng, shape.depth);
    if let Some(([lines, inner], _)) = taken {
        (rows, channels) = (lines, inner);
    }
    let share = program.left() as u32 / 4;
    let bytes = |rows: u32, columns: u32, channels: u32| {
        let out = out_rows(layout, [rows, columns], has(INTEGERS));
        let a = area_bytes(panels(rows, layout.rows), channels * a_word);
        let b = area_bytes(panels(columns, layout.columns), channels * b_word);
        let records = if has(PER_ROW) { rows } else { columns };
        a + b + area_bytes(1, 2 * (2 * channels + 64)) + area_bytes(1, 16 * records) + area_bytes(out.0, out.1) + 256
    };
    // Existing panels keep their number of channels. Fewer rows of them, or fewer channels, are legal too.
    while bytes(rows, columns, channels) > share && [rows, columns, channels] != [1; 3] {
        if channels > 8 {
            channels = channels.div_ceil(2);
        } else if columns > 1 {
            columns = columns.div_ceil(2);
        } else if rows > 1 {
            rows = rows.div_ceil(2);
        } else {
            channels = channels.div_ceil(2);
        }
    }
    let a = taken.map_or_else(
        || {
            let place = area(rng, program, panels(rows, layout.rows), channels * a_word, true);
            fill(rng, program, place, (panels(rows, layout.rows), channels * a_word));
            place
        },
        |(_, place)| place,
    );
    let b = area(rng, program, panels(columns, layout.columns), channels * b_word, true);
    fill(rng, program, b, (panels(columns, layout.columns), channels * b_word));
    let entries = table(rng, channels, shape.steps);
    let at = program.take(rng, 2 * entries.len() as u64);
    program.put(at, &entries.iter().flat_map(|entry| entry.to_le_bytes()).collect::<Vec<u8>>());
    let records = if has(PER_ROW) { rows } else { columns };
    let operand = if int8 { 60.0 } else { 4.0 };
    let doublings = entries.iter().filter(|entry| **entry == RESCALE).count().min(40) as i32;
    let number = operand * operand * (channels as f32).sqrt() * 2f32.powi(doublings / 2);
    let constants = constants(rng, program, records, number, most(layout, flags));
    let (out_count, out_bytes) = out_rows(layout, [rows, columns], has(INTEGERS));
    let out = area(rng, program, out_count, out_bytes, false);
    let (header_flags, tag, tag_address) = header(rng, program, taken.is_some());
    *before = Some(match has(INTEGERS) {
        true => Results::Panels([rows, columns], int8, out),
        false => Results::Rows([rows, columns], out),
    });
    let sizes = [rows, columns, channels, entries.len() as u32];
    Descriptor { opcode: 1, header_flags, tag, tag_address, sizes, flags, places: [a, b, (at, 0), constants, out] }
}

/// Integers in the rows of an area.
fn fill(rng: &mut StimulusRng, program: &mut Program, (address, stride): (u64, u32), (rows, bytes): (u32, u32)) {
    let rows = if stride == 0 { 1 } else { rows };
    (0..rows).for_each(|row| integers(rng, program, address + u64::from(row * stride), bytes));
}

#[cfg(test)]
mod tests;
