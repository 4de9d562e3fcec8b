//! The hardware of a table of fields.

use super::HEADER_BYTES;
use super::condition::Condition;
use super::layout::{OperationField, OperationLayout, Values};
use crate::lang::ir::Direction;
use crate::lang::ports::PortBuilder;
use crate::lang::{Array, Module, Signal, bit, bits_for, cat, mux, or_all, uint};

/// The ports that all blocks of [`operation!`](crate::operation) have.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    /// In: the descriptor after its header.
    pub words: Array,
    /// In: the operation's number, where a condition reads it.
    pub opcode: Option<Signal>,
    /// Out: something is not 0 that must be: `ERROR_RESERVED`.
    pub reserved: Signal,
    /// Out: a number stands for nothing: `ERROR_FIELD`.
    pub unknown: Signal,
    /// Out: a size is out of its range: `ERROR_SIZE`.
    pub wrong_size: Signal,
}

impl Decoder {
    /// What is wrong, by this table where `first` holds, otherwise by the other one.
    #[must_use]
    pub fn or(self, first: Signal, other: Self) -> Self {
        Self {
            reserved: mux(first, self.reserved, other.reserved),
            unknown: mux(first, self.unknown, other.unknown),
            wrong_size: mux(first, self.wrong_size, other.wrong_size),
            ..self
        }
    }

    /// Declares the ports; returns the handles of the fields too, in order.
    #[doc(hidden)]
    pub fn declare(b: &mut PortBuilder, layout: &OperationLayout) -> (Self, Vec<Signal>) {
        use Direction::{Input, Output};
        b.document("The descriptor after its header; steady while the operation is in hand.");
        let words = b.array("words_i", Input, uint(32).array((layout.bytes - HEADER_BYTES) / 4));
        b.document("The operation's number; likewise.");
        let reads = layout.fields.iter().any(|field| field.when.reads_opcode());
        let opcode = reads.then(|| b.scalar("opcode_i", Input, uint(8)));
        let mut fields = Vec::new();
        for field in &layout.fields {
            b.document(&field.meaning);
            let ty = if field.used_width() == 1 { bit() } else { uint(field.used_width()) };
            fields.push(b.scalar(&format!("{}_o", field.name), Output, ty));
        }
        let mut verdict = |name: &str, meaning: &str| {
            b.document(meaning);
            b.scalar(name, Output, bit())
        };
        let decoder = Self {
            words,
            opcode,
            reserved: verdict("reserved_o", "Something is not 0 that must be: ERROR_RESERVED (5)."),
            unknown: verdict("unknown_o", "A number stands for nothing: ERROR_FIELD (15)."),
            wrong_size: verdict("wrong_size_o", "A size is out of its range: ERROR_SIZE (9)."),
        };
        (decoder, fields)
    }

    /// Describes the hardware.
    #[doc(hidden)]
    pub fn build(&self, m: &mut Module, layout: &OperationLayout, fields: &[Signal]) {
        for mistake in layout.mistakes() {
            m.error(&mistake);
        }
        let all = self.words.packed();
        let raw = |field: &OperationField| all.slice(field.bits());
        let by_name = |name: &str| layout.field(name).map_or(bit().lit(0), raw);
        let (mut strange, mut unknown, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        let gaps: Vec<Signal> = layout.gaps().into_iter().map(|bits| all.slice(bits)).collect();
        if !gaps.is_empty() {
            strange.push(m.wire("gaps", cat(&gaps).any()));
        }
        for (port, field) in fields.iter().zip(&layout.fields) {
            let value = raw(field);
            m.connect(*port, value.slice(0..field.used_width()));
            let means = (field.when != Condition::Always).then(|| {
                let means = field.when.signal(&by_name, self.opcode);
                m.wire(&format!("{}_counts", field.name), means)
            });
            if let Some(means) = means {
                strange.push(value.any() & !means);
            }
            if let Some((least, most)) = field.values.range() {
                let out = m.wire(&format!("{}_is_out", field.name), outside(value, least, most));
                let out = means.map_or(out, |means| out & means);
                if matches!(field.values, Values::Size(..)) { &mut sizes } else { &mut unknown }.push(out);
            }
        }
        m.connect(self.reserved, or_all(bit(), &strange));
        m.connect(self.unknown, or_all(bit(), &unknown));
        m.connect(self.wrong_size, or_all(bit(), &sizes));
    }
}

/// Less than `least` or more than `most`.
fn outside(value: Signal, least: u32, most: u32) -> Signal {
    let below = match least {
        0 => None,
        1 => Some(!value.any()),
        _ => Some(value.lt(least)),
    };
    let width = bits_for(most.into());
    let full = u64::from(most) + 1 == 1 << width;
    let above = match (full, width < value.width()) {
        (true, false) => None,
        (true, true) => Some(value.slice(width..value.width()).any()),
        (false, _) => Some(value.gt(most)),
    };
    or_all(bit(), &[below, above].into_iter().flatten().collect::<Vec<_>>())
}
