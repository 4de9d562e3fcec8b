use super::*;
use crate::accelerators::descriptor::Descriptor;
use crate::accelerators::memory::{BusError, SparseMemory};
use crate::common::float::Function;
use crate::common::shell::job_controller::{End, code};
use crate::tender::calibration::{Calibration, Scheme, Sign};
use crate::tender::schedule::{Step, steps};

mod checks;
mod errors;
mod fuzz;
mod reference;

/// 4 x 8 PEs; panels of 4 rows and 8 columns, as bytes of 2 and 4.
const SHAPE: Shape = Shape {
    rows: 4,
    columns: 8,
    int8: true,
    accumulator_width: 32,
    depth: 40,
    steps: 64,
    explicit: false,
    weight_readers: 1,
    pack_columns: 1,
    vector: vector::Shape {
        lanes: 4,
        max_beats: 8,
        function: Function::Silu,
        address_width: 40,
        steps: vector::STEP_BITS,
    },
};
const LIMITS: Limits = Limits { base: 0x1000, limit: 0xffff, max_descriptors: 8 };
const RESCALE: u16 = 0x8000;

impl Descriptor {
    /// m = 3, n = 2, k = 3 and as many steps, as INT4. A is at 0x2000, B at 0x3000, the table at 0x4000, constants at
    /// 0x5000, fp16 results at 0x6000, all with strides of 64.
    fn matmul() -> Self {
        let words = [(32, 3), (36, 2), (40, 3), (44, 3), (56, 64), (60, 64), (96, 64)];
        let longs = [(64, 0x2000), (72, 0x3000), (80, 0x4000), (88, 0x5000), (104, 0x6000)];
        Self::of(1).words(&words).longs(&longs)
    }

    /// 3 rows of 2 numbers from 0x2000, with constants at 0x5000, to INT4 at 0x6000.
    fn pack() -> Self {
        let words = [(32, 3), (36, 2), (56, 64), (96, 64)];
        Self::of(2).words(&words).longs(&[(64, 0x2000), (88, 0x5000), (104, 0x6000)])
    }

    fn flags(self, flags: u32) -> Self {
        self.word(48, flags)
    }
}

fn top_of(shape: Shape) -> TenderTop {
    TenderTop::new(shape).unwrap()
}

pub(super) fn top() -> &'static TenderTop {
    static TOP: std::sync::LazyLock<TenderTop> = std::sync::LazyLock::new(|| top_of(SHAPE));
    &TOP
}

fn entries(entries: &[u16]) -> Vec<u8> {
    entries.iter().flat_map(|entry| entry.to_le_bytes()).collect()
}

/// Records of scale, bias and quantizer, and bytes without a meaning.
fn records(records: &[[f32; 3]]) -> Vec<u8> {
    let record =
        |r: &[f32; 3]| r.iter().flat_map(|x| x.to_le_bytes()).chain([0xde, 0xad, 0xbe, 0xef]).collect::<Vec<u8>>();
    records.iter().flat_map(record).collect()
}

fn halves(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|&x| half::f16::from_f32(x).to_le_bytes()).collect()
}

fn floats(memory: &SparseMemory, at: u64, count: usize) -> Vec<f32> {
    memory.bytes(at, 2 * count).chunks(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32()).collect()
}

/// The data of [`Descriptor::matmul`]. Rows are (1, 2, 3), (-1, 0, 7), (-8, 5, 4), and 6s after them. Columns are (1,
/// -1, 2) and (3, 0, -2), and -1s after them. Channels 0, 1, 2; scale 1, no bias, quantizer 1/4.
fn memory(descriptor: &Descriptor) -> SparseMemory {
    let mut memory = SparseMemory::new();
    memory.store(0x1000, &descriptor.0);
    memory.store(0x2000, &[0xf1, 0x68, 0x02, 0x65, 0x73, 0x64]);
    memory.store(0x3000, &[0x31, 0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0xe2, 0xff, 0xff, 0xff]);
    memory.store(0x4000, &entries(&[0, 1, 2]));
    memory.store(0x5000, &records(&[[1.0, 0.0, 0.25]; 4]));
    memory
}

#[test]
fn a_product_by_hand() {
    let mut memory = memory(&Descriptor::matmul());
    let report = top().run(LIMITS, 0x1000, &mut memory);
    assert_eq!(report.end, End { code: 0, place: 0, tag: 0, descriptors: 1 });
    // 1 - 2 + 6, 3 - 6; -1 + 14, -3 - 14; -8 - 5 + 8, -24 - 8.
    let rows: Vec<_> = (0..3).map(|row| floats(&memory, 0x6000 + 64 * row, 3)).collect();
    assert_eq!(rows, [[5.0, -3.0, 0.0], [13.0, -17.0, 0.0], [-5.0, -32.0, 0.0]]);
    assert_eq!(report.written(), [0x6000..=0x6003, 0x6040..=0x6043, 0x6080..=0x6083]);
    assert_eq!((report.overflows(), report.sum_overflows(), report.undefined()), (0, 0, vec![]));
}

/// The same numbers as bytes: panels of 2 rows and of 4 columns.
#[test]
fn a_product_of_bytes_by_hand() {
    let mut memory = memory(&Descriptor::matmul().flags(1 | 16));
    memory.store(0x2000, &[1, 0xff, 2, 0, 3, 100]);
    memory.store(0x2040, &[0x80, 6, 5, 6, 4, 6]);
    memory.store(0x3000, &[1, 3, 9, 9, 0xff, 0, 9, 9, 2, 0xfe, 9, 9]);
    let report = top().run(LIMITS, 0x1000, &mut memory);
    assert_eq!((report.end.code, report.overflows()), (0, 0));
    // Quarters of 5, 199; -3, -203; then of -125, -392, with zeros below.
    assert_eq!(memory.bytes(0x6000, 5), [1, 50, 0xff, 0xcd, 0]);
    assert_eq!(memory.bytes(0x6040, 5), [0xe1, 0, 0x9e, 0, 0]);
    assert_eq!(report.written(), [0x6000..=0x6003, 0x6040..=0x6043]);
}

#[test]
fn results_as_panels_by_hand() {
    let mut memory = memory(&Descriptor::matmul().flags(16));
    let report = top().run(LIMITS, 0x1000, &mut memory);
    // 5 / 4, 13 / 4, -5 / 4, nothing; -3 / 4, -17 / 4, -8, nothing.
    assert_eq!((report.end.code, report.overflows()), (0, 0));
    assert_eq!(memory.bytes(0x6000, 5), [0x31, 0x0f, 0xcf, 0x08, 0]);
    assert_eq!(report.written(), [0x6000..=0x6003]);
    // Unsigned, and the relu makes negative numbers 0. Without the relu both columns have an overflow.
    for (flags, overflows) in [(16 | 32, 2), (16 | 32 | 64, 0)] {
        memory.store(0x1000, &Descriptor::matmul().flags(flags).0);
        assert_eq!(top().run(LIMITS, 0x1000, &mut memory).overflows(), overflows);
        assert_eq!(memory.bytes(0x6000, 4), [0x31, 0, 0, 0]);
    }
}

#[test]
fn operands_without_a_sign() {
    // The second row of A has 15 instead of -1, the third has 8 instead of -8.
    let with = |flags| {
        let mut memory = memory(&Descriptor::matmul().flags(flags));
        assert_eq!(top().run(LIMITS, 0x1000, &mut memory).end.code, 0);
        [0, 1, 2].map(|row| floats(&memory, 0x6000 + 64 * row, 2))
    };
    assert_eq!(with(2), [[5.0, -3.0], [29.0, 31.0], [11.0, 16.0]]);
    // Column 0 is (1, 15, 2), column 1 (3, 0, 14).
    assert_eq!(with(4), [[37.0, 45.0], [13.0, 95.0], [75.0, 32.0]]);
    assert_eq!(with(6), [[37.0, 45.0], [29.0, 143.0], [91.0, 80.0]]);
}

/// Scale, bias and quantizer belong to columns or to rows.
#[test]
fn constants_of_rows_and_columns() {
    let constants = [[2.0, 1.0, 0.5], [-1.0, 0.5, 1.0], [0.5, 0.0, 2.0]];
    let with = |flags| {
        let mut memory = memory(&Descriptor::matmul().flags(flags));
        memory.store(0x5000, &records(&constants));
        assert_eq!(top().run(LIMITS, 0x1000, &mut memory).end.code, 0);
        memory
    };
    let rows = |flags| [0, 1, 2].map(|row| floats(&with(flags), 0x6000 + 64 * row, 2));
    assert_eq!(rows(0), [[11.0, 3.5], [27.0, 17.5], [-9.0, 32.5]]);
    assert_eq!(rows(128), [[11.0, -5.0], [-12.5, 17.5], [-2.5, -16.0]]);
    assert_eq!(rows(128 | 64), [[11.0, 0.0], [0.0, 17.5], [0.0, 0.0]]);
    // 11 / 2 and -5 / 2 to even; -12.5, 17.5; -5, -32: the ends are -8 and 7.
    assert_eq!(with(128 | 16).bytes(0x6000, 4), [0x86, 0x0b, 0x7e, 0x08]);
}

/// Section III-B and figure 4: six channels in three groups. The sums are as in the text's scales.
#[test]
fn the_walking_example_of_the_paper() {
    let c_max = [3.1, 22.4, 5.6, 8.0, 0.3, 11.2];
    let rows = vec![c_max.to_vec(), c_max.map(|x| -x).to_vec()];
    let calibration = Calibration::of(&rows, Scheme::new(4, 3, Sign::Signed).unwrap()).unwrap();
    let table: Vec<u16> = steps(&calibration, 1)
        .iter()
        .map(|step| match step {
            Step::Channel(channel) => *channel as u16,
            Step::Rescale(_) => RESCALE,
        })
        .collect();
    assert_eq!(table, [1, RESCALE, 3, 5, RESCALE, 0, 2, 4]);
    let [first, second] = [0, 1].map(|row| calibration.quantize(&rows[row]));
    let descriptor = Descriptor::matmul().word(32, 2).word(36, 1).word(40, 6).word(44, 8);
    let mut memory = memory(&descriptor);
    let words = first.iter().zip(&second).flat_map(|(a, b)| [(a & 15 | (b & 15) << 4) as u8, 0]).collect::<Vec<u8>>();
    memory.store(0x2000, &words);
    memory.store(0x3000, &[1, 0, 0, 0].repeat(6));
    memory.store(0x4000, &entries(&table));
    memory.store(0x5000, &records(&[[1.0, 0.0, 0.0]]));
    assert_eq!(top().run(LIMITS, 0x1000, &mut memory).end.code, 0);
    // (7 x 2 + 5 + 7) x 2 + 4 + 7 + 0.
    assert_eq!([floats(&memory, 0x6000, 1), floats(&memory, 0x6040, 1)], [[63.0], [-63.0]]);
    memory.store(0x5000, &records(&[[calibration.scales[2] as f32, 0.0, 0.0]]));
    top().run(LIMITS, 0x1000, &mut memory);
    // The sum over all channels is 50.6. In fp16, 63 x 0.8 is near it.
    assert_eq!(floats(&memory, 0x6000, 1), [50.40625]);
}

/// Channels may occur twice or never, and sums may be doubled at any time.
#[test]
fn any_table() {
    let with = |table: &[u16]| {
        let mut memory = memory(&Descriptor::matmul().word(44, table.len() as u32));
        memory.store(0x4000, &entries(table));
        assert_eq!(top().run(LIMITS, 0x1000, &mut memory).end.code, 0);
        floats(&memory, 0x6040, 2)
    };
    assert_eq!(with(&[RESCALE]), [0.0, 0.0]);
    assert_eq!(with(&[2, 2]), [28.0, -28.0]);
    assert_eq!(with(&[2, RESCALE, RESCALE, RESCALE, 0]), [111.0, -115.0]);
    assert_eq!(with(&[RESCALE, 0, 2, RESCALE]), [26.0, -34.0]);
}

#[test]
fn numbers_become_integers() {
    let constants = [[2.0, 1.0, 1.0], [1.0, 0.0, 0.5]];
    let with = |flags| {
        let mut memory = memory(&Descriptor::pack().flags(flags));
        memory.store(0x5000, &records(&constants));
        for (row, numbers) in [[1.0, 1.0], [-2.5, 3.0], [30.0, f32::NAN]].iter().enumerate() {
            memory.store(0x2000 + 64 * row as u64, &halves(numbers));
        }
        let report = top().run(LIMITS, 0x1000, &mut memory);
        assert_eq!((report.end.code, report.sum_overflows()), (0, 0));
        (memory, report.overflows())
    };
    // 3, -4, 61 | 0.5, 1.5, NaN.
    let (memory, overflows) = with(0);
    assert_eq!((memory.bytes(0x6000, 5), overflows), (vec![0xc3, 0x07, 0x20, 0x00, 0], 2));
    let (memory, overflows) = with(1);
    assert_eq!((memory.bytes(0x6000, 5), memory.bytes(0x6040, 5)), (vec![3, 0xfc, 0, 2, 0], vec![61, 0, 0, 0, 0]));
    assert_eq!(overflows, 1, "NaN");
    let (memory, overflows) = with(32);
    assert_eq!((memory.bytes(0x6000, 4), overflows), (vec![0x03, 0x0f, 0x20, 0x00], 2));
    let (memory, overflows) = with(32 | 64 | 1);
    assert_eq!((memory.bytes(0x6000, 4), memory.bytes(0x6040, 2)), (vec![3, 0, 0, 2], vec![61, 0]));
    assert_eq!(overflows, 1);
}

/// A product, steps on its rows, and integers of the results.
#[test]
fn a_chain_of_all_three() {
    let mut memory = memory(&Descriptor::matmul().word(16, 1).next(0x1080));
    // x + x, in place.
    let vector = Descriptor::of(3).words(&[(32, 3), (36, 2), (40, 2), (56, 64), (60, 64), (92, 64)]);
    let vector = vector.longs(&[(64, 0x6000), (72, 0x7000), (104, 0x6000)]).next(0x1100);
    let pack = Descriptor::pack().longs(&[(64, 0x6000), (104, 0x7800)]).tagged(9, 0x8000).flags(1);
    memory.store(0x1080, &vector.0);
    memory.store(0x1100, &pack.0);
    for (row, numbers) in [[5.0, -3.0], [13.0, -17.0], [-5.0, -32.0]].iter().enumerate() {
        memory.store(0x7000 + 64 * row as u64, &halves(numbers));
    }
    let report = top().run(LIMITS, 0x1000, &mut memory);
    assert_eq!(report.end, End { code: 0, place: 0, tag: 9, descriptors: 3 });
    assert!(report.executed.iter().all(|e| e.defined));
    // Quarters of 10, 26, -10; -6, -34, -64: 2.5, 6.5, -1.5, -8.5 to even.
    assert_eq!(memory.bytes(0x7800, 4), [2, 6, 0xfe, 0xf8]);
    assert_eq!(memory.bytes(0x7840, 4), [0xfe, 0, 0xf0, 0]);
    assert_eq!(memory.bytes(0x8000, 4), [9, 0, 0, 0]);
    let kinds = report.executed.iter().map(|e| match e.operation {
        Operation::MatMul(_) => 1,
        Operation::Pack(_) => 2,
        Operation::Vector(_) => 3,
    });
    assert_eq!(kinds.collect::<Vec<_>>(), [1, 3, 2]);
}

#[test]
fn shapes() {
    let said = |shape: Shape| TenderTop::new(shape).unwrap_err();
    assert_eq!(said(Shape { rows: 1, ..SHAPE }), "rows is 1, allowed: powers of two from 2 to 256");
    assert_eq!(said(Shape { columns: 48, ..SHAPE }), "columns is 48, allowed: powers of two from 4 to 256");
    assert_eq!(said(Shape { columns: 512, ..SHAPE }), "columns is 512, allowed: powers of two from 4 to 256");
    assert_eq!(said(Shape { accumulator_width: 65, ..SHAPE }), "accumulator width is 65, allowed: 2 to 64");
    assert_eq!(SHAPE.layout(false), Layout { bits: 4, rows: 4, columns: 8 });
    assert_eq!(SHAPE.layout(true), Layout { bits: 8, rows: 2, columns: 4 });
}

/// 64 tokens, 576 channels in 8 groups, 576 outputs, as bytes. This is the size of a layer, and too much work for sums
/// step by step.
#[test]
fn a_layer_of_a_model() {
    let shape = Shape { rows: 64, columns: 64, depth: 576, steps: 600, ..SHAPE };
    let (rows, columns, channels) = (64usize, 576usize, 576usize);
    let a = |row: usize, channel: usize| ((row * 31 + channel * channel * 7) % 255) as i64 - 127;
    let b = |channel: usize, column: usize| ((column * 17 + channel * 101 + column * channel) % 256) as i64 - 128;
    let group = |channel: usize| channel * 5 % 8;
    let mut table = Vec::new();
    for of in 0..8 {
        table.extend((of > 0).then_some(RESCALE));
        table.extend((0..channels).filter(|&channel| group(channel) == of).map(|channel| channel as u16));
    }
    let words = [(32, 64), (36, 576), (40, 576), (44, 583), (48, 1), (56, 0x8000), (60, 0x8000), (96, 0x800)];
    let longs = [(64, 0x10_0000), (72, 0x20_0000), (80, 0x40_0000), (88, 0x41_0000), (104, 0x50_0000)];
    let mut memory = SparseMemory::new();
    memory.store(0x1000, &Descriptor::of(1).words(&words).longs(&longs).0);
    let panels = |lines: usize, of: &dyn Fn(usize, usize) -> i64| -> Vec<Vec<u8>> {
        let panel = |first: usize| -> Vec<u8> {
            (0..channels)
                .flat_map(|channel| (first..first + 32).map(move |line| (line, channel)))
                .map(|(l, c)| of(l, c) as u8)
                .collect()
        };
        (0..lines / 32).map(|panel_number| panel(32 * panel_number)).collect()
    };
    for (at, panels) in [(0x10_0000, panels(rows, &a)), (0x20_0000, panels(columns, &|line, channel| b(channel, line)))]
    {
        panels.iter().enumerate().for_each(|(k, bytes)| memory.store(at + 0x8000 * k as u64, bytes));
    }
    memory.store(0x40_0000, &entries(&table));
    memory.store(0x41_0000, &records(&vec![[2f32.powi(-14), 1.0, 0.0]; columns]));
    let top = TenderTop { shape, ..top().clone() };
    let report = top.run(Limits { limit: 0xff_ffff, ..LIMITS }, 0x1000, &mut memory);
    assert_eq!((report.end.code, report.sum_overflows(), report.overflows()), (0, 0, 0));
    for row in 0..rows {
        let results = floats(&memory, 0x50_0000 + 0x800 * row as u64, columns);
        for column in (row % 7..columns).step_by(7) {
            let sum: i64 = (0..channels).map(|c| (a(row, c) * b(c, column)) << (7 - group(c))).sum();
            let expected = half::f16::from_f32(sum as f32 / 16384.0 + 1.0);
            assert_eq!(results[column], expected.to_f32(), "row {row}, column {column}");
        }
    }
}
