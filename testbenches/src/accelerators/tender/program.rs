//! Jobs of the Tender accelerator: descriptors, right and wrong, and their operands.

use golden::accelerators::tender::{Layout, Shape, TenderTop};
use golden::tender::mesh_pe::PeSum;
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::super::vector::program as vector;
use jobs::draft::{ALL_FLAGS, Draft, Operations};
use jobs::draw::{area, area_bytes, often, size};
use jobs::program::Program;

/// What jobs are drawn for: the operations and the shape of an accelerator.
type Target<'a> = (&'a Operations, &'a Shape);

/// Flags of a product, and those of a packing. Each is up half of the time.
const PRODUCT_FLAGS: [&str; 6] = ["a_unsigned", "b_unsigned", "integers", "out_unsigned", "relu", "per_row"];
const PACK_FLAGS: [&str; 2] = ["out_unsigned", "relu"];

/// Entry of a table that is no channel.
const RESCALE: u16 = 0x8000;

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
pub fn draw<S: PeSum<Operand = i64>>(
    rng: &mut StimulusRng,
    (operations, model): (&Operations, &TenderTop<S>),
    chain: u32,
) -> Program {
    let shape = model.shape();
    Program::draw(rng, shape.vector.address_width, chain, &None, |rng, program, before| {
        match rng.random_range(0..8u8) {
            0 | 1 => {
                let one = vector::descriptor(rng, program, (operations, &shape.vector));
                let rows = Results::Rows([one.word("rows"), one.word("columns")], one.place("out"));
                *before = (!one.is("format")).then_some(rows);
                vector::seldom(rng, program, one).bytes()
            }
            kind => {
                let one = match kind {
                    2 | 3 => pack(rng, program, (operations, shape), before),
                    _ => product(rng, program, (operations, shape), before),
                };
                bounded(one.seldom(rng, program, &[&other_mode]), kind > 3).bytes()
            }
        }
    })
}

/// Products of an operation; one with more takes minutes and shows nothing else.
const MOST_PRODUCTS: u64 = 1 << 26;

/// A spoilt operation that may be right, and not take long.
fn bounded(mut one: Draft, multiplies: bool) -> Draft {
    let channels = if multiplies { one.get("channels") } else { 1 };
    if one.get("rows") * one.get("columns") * channels > MOST_PRODUCTS {
        one.set("columns", 1 + one.get("columns") % 64);
    }
    one
}

/// The other width of integers, which may not be built in.
fn other_mode(one: &mut Draft, _: &mut StimulusRng) {
    one.set("int8", !one.is("int8"));
}

/// Flags, each up half of the time; `exact` is up seldom.
fn flags(rng: &mut StimulusRng, one: &mut Draft, int8: bool, flags: &[&str]) {
    one.set("int8", int8);
    for flag in flags {
        one.set(flag, rng.random::<bool>());
    }
    one.set("exact", often(rng, 8));
}

fn panels(lines: u32, in_panel: u64) -> u32 {
    lines.div_ceil(in_panel as u32)
}

/// The bytes of a word of a panel, as it comes in fp16 or not.
fn out_rows(layout: Layout, [rows, columns]: [u32; 2], integers: bool) -> (u32, u32) {
    if integers { (panels(rows, layout.rows), columns * layout.row_word_bytes() as u32) } else { (rows, 2 * columns) }
}

/// Flags of a header: an operation that depends on the operation before it is not independent. What it reads early is
/// elsewhere.
fn allowed(depends: bool) -> u16 {
    if depends { ALL_FLAGS & !0b1110 } else { ALL_FLAGS }
}

/// Constants such that results are about `most` where numbers are about `number`; special ones now and then. Results of
/// fp16 have no `most`: nothing is multiplied by their quantizers, which are any bits.
fn constants(rng: &mut StimulusRng, program: &mut Program, records: u32, number: f32, most: Option<f32>) -> u64 {
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
    address
}

/// A bound that integers should not exceed by much.
fn most(layout: Layout, one: &Draft) -> f32 {
    layout.range(!one.is("out_unsigned")).1 as f32
}

/// fp16 numbers that become integers.
fn pack(
    rng: &mut StimulusRng,
    program: &mut Program,
    (operations, shape): Target<'_>,
    before: &mut Option<Results>,
) -> Draft {
    let mut one = operations.draft("pack");
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
    flags(rng, &mut one, int8, &PACK_FLAGS);
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
    let constants = constants(rng, program, columns, 4.0, Some(most(layout, &one)));
    let (panels, panel_bytes) = out_rows(layout, sizes, true);
    let out = area(rng, program, panels, panel_bytes, false);
    one.draw_header(rng, program, allowed(taken.is_some()));
    *before = Some(Results::Panels(sizes, int8, out));
    one.set("rows", rows).set("columns", columns).set("constants_address", constants);
    one.operand("x", x).operand("out", out);
    one
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
fn product(
    rng: &mut StimulusRng,
    program: &mut Program,
    (operations, shape): Target<'_>,
    before: &mut Option<Results>,
) -> Draft {
    let mut one = operations.draft("matmul");
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
    flags(rng, &mut one, int8, &PRODUCT_FLAGS);
    if shape.explicit && rng.random() {
        one.set("explicit", 1u32);
    }
    let (integers, per_row) = (one.is("integers"), one.is("per_row"));
    let [mut rows, mut columns] = [layout.rows, layout.columns].map(|lines| size(rng, 3 * lines as u32));
    let mut channels = size(rng, shape.depth);
    if let Some(([lines, inner], _)) = taken {
        (rows, channels) = (lines, inner);
    }
    let share = program.left() as u32 / 4;
    let bytes = |rows: u32, columns: u32, channels: u32| {
        let out = out_rows(layout, [rows, columns], integers);
        let a = area_bytes(panels(rows, layout.rows), channels * a_word);
        let b = area_bytes(panels(columns, layout.columns), channels * b_word);
        let records = if per_row { rows } else { columns };
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
    let records = if per_row { rows } else { columns };
    let operand = if int8 { 60.0 } else { 4.0 };
    let doublings = entries.iter().filter(|entry| **entry == RESCALE).count().min(40) as i32;
    let number = operand * operand * (channels as f32).sqrt() * 2f32.powi(doublings / 2);
    let bound = integers.then(|| most(layout, &one));
    let constants = constants(rng, program, records, number, bound);
    let (out_count, out_bytes) = out_rows(layout, [rows, columns], integers);
    let out = area(rng, program, out_count, out_bytes, false);
    one.draw_header(rng, program, allowed(taken.is_some()));
    *before = Some(match integers {
        true => Results::Panels([rows, columns], int8, out),
        false => Results::Rows([rows, columns], out),
    });
    one.set("rows", rows).set("columns", columns).set("channels", channels).set("steps", entries.len() as u64);
    one.operand("a", a).operand("b", b).operand("out", out);
    one.set("table_address", at).set("constants_address", constants);
    one
}

/// Integers in the rows of an area.
fn fill(rng: &mut StimulusRng, program: &mut Program, (address, stride): (u64, u32), (rows, bytes): (u32, u32)) {
    let rows = if stride == 0 { 1 } else { rows };
    (0..rows).for_each(|row| integers(rng, program, address + u64::from(row * stride), bytes));
}

#[cfg(test)]
mod tests;
