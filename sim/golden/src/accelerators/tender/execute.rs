//! Operations on memory, panel of rows by panel of rows. They go on after an error, to find all errors.

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::Loaded;
use crate::common::float::single;
use crate::common::shell::job_controller::code;
use crate::tender::mesh_pe::PeSum;

use super::finish::Finisher;
use super::sums::{Entry, Parts, Right};
use super::{Executed, MatMul, Operation, Pack, TenderTop};

/// The entries of the table, if all could be read and are valid.
fn table(operation: &MatMul, memory: &mut dyn Memory, codes: &mut Codes) -> Option<Vec<Entry>> {
    let loaded = Loaded::row(&operation.table, 0, memory, codes);
    let entries = (0..operation.table.row_bytes as usize).step_by(2).map(|at| {
        let bytes = loaded.get(at..at + 2)?;
        match u16::from_le_bytes([bytes[0], bytes[1]]) {
            0x8000 => Some(Entry::Rescale),
            channel if u64::from(channel) < operation.channels => Some(Entry::Product(channel.into())),
            _ => {
                codes.note(code::FIELD);
                None
            }
        }
    });
    // All entries are checked.
    let entries: Vec<Option<Entry>> = entries.collect();
    entries.into_iter().collect()
}

/// The right matrix, and which of its columns could be read.
fn right(operation: &MatMul, memory: &mut dyn Memory, codes: &mut Codes) -> (Right, Vec<bool>) {
    let (columns, layout) = (operation.finish.columns as usize, operation.finish.layout);
    let lines = layout.columns as usize;
    let mut right = Right { columns, integers: vec![0; operation.channels as usize * columns] };
    let mut known = vec![false; columns];
    for panel in 0..operation.b.rows {
        let loaded = Loaded::row(&operation.b, panel, memory, codes);
        let Some(words) = loaded.whole() else { continue };
        let first = panel as usize * lines;
        let here = lines.min(columns - first);
        known[first..first + here].fill(true);
        for (word, of_channel) in
            words.chunks_exact(layout.column_word_bytes() as usize).zip(right.integers.chunks_mut(columns))
        {
            layout.unpack(word, operation.b_signed, &mut of_channel[first..first + here]);
        }
    }
    (right, known)
}

impl<S: PeSum<Operand = i64>> TenderTop<S> {
    /// A product of matrices.
    pub(super) fn multiply(&self, operation: MatMul, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let finish = &operation.finish;
        let entries = table(&operation, memory, &mut codes);
        let mut finisher = Finisher::new(finish, memory, &mut codes);
        let (right, known) = right(&operation, memory, &mut codes);
        let wide = finish.layout.bits > 4;
        let products = entries.as_deref().map(|entries| {
            let width = operation.explicit.then(|| self.shape.sum_width());
            Parts::new(entries, &right, wide, &self.fresh, width)
        });
        let lines = finish.layout.rows as usize;
        let mut sum_overflows = 0;
        for panel in 0..operation.a.rows {
            let loaded = Loaded::row(&operation.a, panel, memory, &mut codes);
            let (Some(words), Some(products)) = (loaded.whole(), &products) else { continue };
            let integers = finish.layout.integers(words, operation.a_signed);
            let rows = lines.min(finish.rows as usize - panel as usize * lines);
            let mut overflow = vec![false; right.columns];
            let number = |row: usize, overflow: &mut [bool]| -> Vec<Option<u32>> {
                let left: Vec<i16> = integers.iter().skip(row).step_by(lines).copied().collect();
                let sums = products.row(&left);
                let column = |(column, (sum, own)): (usize, (i128, bool))| {
                    overflow[column] |= own && known[column];
                    known[column].then(|| single::from_int(sum))
                };
                sums.into_iter().enumerate().map(column).collect()
            };
            let numbers: Vec<_> = (0..rows).map(|row| number(row, &mut overflow)).collect();
            let words = overflow.iter().filter(|&&overflow| overflow).count() as u64;
            sum_overflows += words;
            if words > 0 && finish.exact {
                codes.note(code::OVERFLOW);
            }
            finisher.panel(panel, &numbers, memory, &mut codes);
        }
        let (codes, overflows) = (codes.all(), finisher.overflows);
        let (defined, certain) = (codes.is_empty() && operation.is_defined(), operation.is_certain());
        Executed { operation: Operation::MatMul(operation), codes, defined, certain, overflows, sum_overflows }
    }

    /// fp16 numbers that become integers.
    pub(super) fn pack(&self, operation: Pack, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let finish = &operation.finish;
        let mut finisher = Finisher::new(finish, memory, &mut codes);
        let lines = finish.layout.rows;
        for panel in 0..finish.out.rows {
            let rows = panel * lines..finish.rows.min((panel + 1) * lines);
            let numbers: Vec<Vec<Option<u32>>> = rows
                .map(|row| {
                    let loaded = Loaded::row(&operation.x, row, memory, &mut codes);
                    let number = |bytes: &[u8]| single::from_fp16(u16::from_le_bytes([bytes[0], bytes[1]]));
                    (0..finish.columns as usize).map(|c| loaded.get(2 * c..2 * c + 2).map(number)).collect()
                })
                .collect();
            finisher.panel(panel, &numbers, memory, &mut codes);
        }
        let (rules, overflows) = ((operation.is_defined(), finish.exact), finisher.overflows);
        Executed::new(Operation::Pack(operation), codes.all(), rules, overflows)
    }
}
