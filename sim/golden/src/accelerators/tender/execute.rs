//! Operations on memory, panel of rows by panel of rows. They go on after an error, to find all errors.

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::Loaded;
use crate::common::float::single;
use crate::common::shell::job_controller::code;
use crate::tender::mesh_pe::PeSum;

use super::finish::{Finisher, Line};
use super::sums::{Entry, Parts, Plan, Right};
use super::{Executed, MatMul, Operation, Pack, TenderTop};

/// Numbers that wait for the arithmetic of results, about.
const TOGETHER: u64 = 1 << 19;

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

/// The rows of a panel, by channel; none if a byte of them is missing.
fn left(operation: &MatMul, panel: u64, memory: &mut dyn Memory, codes: &mut Codes) -> Option<Vec<Vec<i16>>> {
    let finish = &operation.finish;
    let lines = finish.layout.rows;
    let loaded = Loaded::row(&operation.a, panel, memory, codes);
    let integers = finish.layout.integers(loaded.whole()?, operation.a_signed);
    let row = |row: u64| integers.iter().skip(row as usize).step_by(lines as usize).copied().collect();
    Some((0..lines.min(finish.rows - panel * lines)).map(row).collect())
}

/// The columns of a panel; none if a byte of them is missing.
fn right<S: PeSum<Operand = i64>>(
    operation: &MatMul,
    plan: &Plan<'_, S>,
    panel: u64,
    loaded: &Loaded,
) -> Option<Right> {
    let (finish, words) = (&operation.finish, loaded.whole()?);
    let (lines, word) = (finish.layout.columns, finish.layout.column_word_bytes() as usize);
    let columns = lines.min(finish.columns - panel * lines) as usize;
    let read = |channel: usize, to: &mut [i16]| {
        finish.layout.unpack(&words[channel * word..][..word], operation.b_signed, to);
    };
    Some(plan.right(columns, read))
}

/// Results of a panel of rows that wait for the arithmetic of results.
struct Waiting {
    /// Errors while the rows were read.
    codes: Codes,
    /// In the order of the table; missing where a byte is missing, or the table is wrong.
    rows: Option<Vec<Vec<[i16; 2]>>>,
    /// By row.
    lines: Vec<Line>,
    /// By column, whether a sum overflowed.
    overflow: Vec<bool>,
}

impl Waiting {
    fn new<S: PeSum<Operand = i64>>(
        operation: &MatMul,
        plan: Option<&Plan<'_, S>>,
        panel: u64,
        memory: &mut dyn Memory,
    ) -> Self {
        let (mut codes, columns) = (Codes::default(), operation.finish.columns as usize);
        let rows = left(operation, panel, memory, &mut codes).zip(plan);
        let rows: Option<Vec<_>> = rows.map(|(rows, plan)| rows.iter().map(|row| plan.left(row)).collect());
        let lines = vec![Line::unknown(columns); rows.as_ref().map_or(0, Vec::len)];
        Self { codes, rows, lines, overflow: vec![false; columns] }
    }

    /// Takes the sums of the columns from `first` on.
    fn add<S: PeSum<Operand = i64>>(&mut self, products: &Parts<'_, S>, first: usize) {
        for (row, line) in self.rows.iter().flatten().zip(&mut self.lines) {
            let sums = products.row(row);
            line.known[first..][..sums.len()].fill(true);
            let places = line.numbers[first..].iter_mut().zip(&mut self.overflow[first..]);
            for ((number, overflow), (sum, own)) in places.zip(sums) {
                *number = single::from_int(sum);
                *overflow |= own;
            }
        }
    }
}

impl<S: PeSum<Operand = i64>> TenderTop<S> {
    /// A product of matrices.
    ///
    /// Each panel of columns is unpacked once for many rows. Where results may lie on operands, all columns are read
    /// before the first result is written, and the rows of a panel after the results of the panel before.
    pub(super) fn multiply(&self, operation: MatMul, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let (finish, apart) = (&operation.finish, operation.is_defined());
        let entries = table(&operation, memory, &mut codes);
        let mut finisher = Finisher::new(finish, memory, &mut codes);
        let width = operation.explicit.then(|| self.shape.sum_width());
        let plan = entries.as_deref().map(|entries| Plan::new(entries, finish.layout.bits > 4, &self.fresh, width));
        let kept: Vec<Loaded> = (0..if apart { 0 } else { operation.b.rows })
            .map(|panel| Loaded::row(&operation.b, panel, memory, &mut codes))
            .collect();
        let together = if apart { (TOGETHER / (finish.columns * finish.layout.rows)).max(1) } else { 1 };
        let mut sum_overflows = 0;
        for from in (0..operation.a.rows).step_by(together as usize) {
            let panels = from..operation.a.rows.min(from + together);
            let wait = |panel| Waiting::new(&operation, plan.as_ref(), panel, memory);
            let mut waiting: Vec<Waiting> = panels.clone().map(wait).collect();
            for panel in 0..operation.b.rows {
                let fresh = apart.then(|| Loaded::row(&operation.b, panel, memory, &mut codes));
                let loaded = fresh.as_ref().unwrap_or_else(|| &kept[panel as usize]);
                let Some(plan) = &plan else { continue };
                let Some(right) = right(&operation, plan, panel, loaded) else { continue };
                let products = plan.with(&right);
                let first = (panel * finish.layout.columns) as usize;
                waiting.iter_mut().for_each(|rows| rows.add(&products, first));
            }
            for (panel, Waiting { codes: own, rows, lines, overflow }) in panels.zip(waiting) {
                codes.join(own);
                if rows.is_none() {
                    continue;
                }
                let words = overflow.iter().filter(|&&overflow| overflow).count() as u64;
                sum_overflows += words;
                if words > 0 && finish.exact {
                    codes.note(code::OVERFLOW);
                }
                finisher.panel(panel, &lines, memory, &mut codes);
            }
        }
        let (codes, overflows) = (codes.all(), finisher.overflows);
        let (defined, certain) = (codes.is_empty() && apart, operation.is_certain());
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
            let row =
                |row| Line::of_halves(&Loaded::row(&operation.x, row, memory, &mut codes), finish.columns as usize);
            let lines: Vec<Line> = rows.map(row).collect();
            finisher.panel(panel, &lines, memory, &mut codes);
        }
        let (rules, overflows) = ((operation.is_defined(), finish.exact), finisher.overflows);
        Executed::new(Operation::Pack(operation), codes.all(), rules, overflows)
    }
}
