//! Rows of fp16 times a matrix of 8-bit weights.

use crate::accelerators::columns::by_column;
use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::{self, Loaded};
use crate::common::inner_product::{inner_product, terms};
use crate::common::row::is_special;
use crate::common::shell::job_controller::code;

use super::numbers::{ACTIVATION, integers, result, some_saturate};
use super::{CONSTANT_BYTES, Counts, Executed, KelleTop, Linear, Operation, Work};

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Activations, which have 16 bits.
fn narrow((integers, saturated): (Vec<i64>, u64)) -> (Vec<i16>, u64) {
    (integers.into_iter().map(|integer| integer as i16).collect(), saturated)
}

impl KelleTop {
    /// A product. It goes on after an error, to find all errors.
    pub(super) fn multiply(&self, operation: Linear, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let (mut overflows, mut counts) = (0, Counts::default());
        let x: Vec<Loaded> =
            (0..operation.x.rows).map(|row| Loaded::row(&operation.x, row, memory, &mut codes)).collect();
        let panels: Vec<Loaded> =
            (0..operation.panels.rows).map(|panel| Loaded::row(&operation.panels, panel, memory, &mut codes)).collect();
        let constants = Loaded::row(&operation.constants, 0, memory, &mut codes);
        let known: Vec<Option<(Vec<i16>, u64)>> =
            x.iter().map(|x| Some(narrow(integers(x.whole()?, operation.quantizer)))).collect();
        let all = self.results(&operation, &known, (&panels, &constants));
        for (row, ((x, known), results)) in (0..).zip(x.iter().zip(&known).zip(all)) {
            let Some((_, saturated)) = known else {
                // The hardware may report an overflow that comes before an error of the bus, or at the same time,
                // instead of the error.
                if operation.exact && some_saturate(x, operation.quantizer) {
                    codes.note(code::OVERFLOW);
                }
                continue;
            };
            counts.saturations += saturated;
            let special = results.iter().flatten().filter(|&&y| is_special(y)).count();
            overflows += special as u64;
            if operation.exact && (special > 0 || *saturated > 0) {
                codes.note(code::OVERFLOW);
            }
            if results.iter().any(Option::is_some) {
                let bytes: Vec<u8> = results.iter().flat_map(|y| y.unwrap_or(0).to_le_bytes()).collect();
                pieces::store(&operation.out, row, &bytes, memory, &mut codes);
            }
        }
        let rules = (operation.is_defined(), operation.exact);
        let operation = Work { operation: Operation::Linear(operation), counts };
        Executed::new(operation, codes.all(), rules, overflows)
    }

    /// The results of each row, by column; `None` for a result that depends on bytes which could not be read.
    fn results(
        &self,
        operation: &Linear,
        x: &[Option<(Vec<i16>, u64)>],
        (panels, constants): (&[Loaded], &Loaded),
    ) -> Vec<Vec<Option<u16>>> {
        let (in_panel, in_group) = (self.shape.panel() as usize, self.shape.columns as usize);
        let channels = operation.channels as usize;
        let decode = |column: usize, weights: &mut Vec<i16>| {
            let (panel, column) = (column / in_panel, column % in_panel);
            let (group, place) = (column / in_group, column % in_group);
            let bytes = panels[panel].get(group * channels * in_group..(group + 1) * channels * in_group);
            let Some(bytes) = bytes else { return false };
            weights.clear();
            weights.extend(bytes.chunks_exact(in_group).map(|of_channel| i16::from(of_channel[place] as i8)));
            true
        };
        let terms = terms(ACTIVATION.0.unsigned_abs(), 1 << 7);
        let result = |row: usize, column: usize, weights: &Vec<i16>| {
            let (x, _) = x[row].as_ref()?;
            let at = CONSTANT_BYTES as usize * column;
            let record = constants.get(at..at + CONSTANT_BYTES as usize)?;
            Some(result(inner_product(x, weights, terms), word(record, 0), word(record, 4)))
        };
        by_column([x.len(), operation.columns as usize, channels], decode, result)
    }
}
