//! Rows of fp16 times a matrix of 8-bit weights.

use crate::common::row::is_special;
use crate::common::shell::job_controller::code;
use crate::systems::job::Codes;
use crate::systems::memory::Memory;
use crate::systems::pieces::{self, Loaded};

use super::numbers::{integers, product, result, some_saturate};
use super::{CONSTANT_BYTES, Counts, Executed, KelleTop, Linear, Operation, Work};

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl KelleTop {
    /// A product. It goes on after an error, to find all errors.
    pub(super) fn multiply(&self, operation: Linear, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let (mut overflows, mut counts) = (0, Counts::default());
        let x: Vec<Loaded> =
            (0..operation.x.rows).map(|row| Loaded::row(&operation.x, row, memory, &mut codes)).collect();
        let weights = self.weights(&operation, memory, &mut codes);
        let constants = Loaded::row(&operation.constants, 0, memory, &mut codes);
        for (row, x) in (0..).zip(&x) {
            let Some(bytes) = x.whole() else {
                // The hardware may report an overflow that comes before an error of the bus, or at the same time,
                // instead of the error.
                if operation.exact && some_saturate(x, operation.quantizer) {
                    codes.note(code::OVERFLOW);
                }
                continue;
            };
            let (x, saturated) = integers(bytes, operation.quantizer);
            counts.saturations += saturated;
            let of_column = |(column, weights): (usize, &Option<Vec<i64>>)| -> Option<u16> {
                let at = CONSTANT_BYTES as usize * column;
                let record = constants.get(at..at + CONSTANT_BYTES as usize)?;
                Some(result(product(&x, weights.as_ref()?), word(record, 0), word(record, 4)))
            };
            let results: Vec<Option<u16>> = weights.iter().enumerate().map(of_column).collect();
            let special = results.iter().flatten().filter(|&&y| is_special(y)).count();
            overflows += special as u64;
            if operation.exact && (special > 0 || saturated > 0) {
                codes.note(code::OVERFLOW);
            }
            if results.iter().any(Option::is_some) {
                let bytes: Vec<u8> = results.iter().flat_map(|y| y.unwrap_or(0).to_le_bytes()).collect();
                pieces::store(&operation.out, row, &bytes, memory, &mut codes);
            }
        }
        let codes = codes.all();
        let apart = operation.is_defined();
        let (defined, certain) = (codes.is_empty() && apart, apart || !operation.exact);
        let operation = Work { operation: Operation::Linear(operation), counts };
        Executed { operation, codes, defined, certain, overflows, sum_overflows: 0 }
    }

    /// The weights of each column; `None` if they could not be read.
    fn weights(&self, operation: &Linear, memory: &mut dyn Memory, codes: &mut Codes) -> Vec<Option<Vec<i64>>> {
        let (in_panel, in_group) = (self.shape.panel(), self.shape.columns as usize);
        let channels = operation.channels as usize;
        let mut weights = Vec::new();
        for panel in 0..operation.panels.rows {
            let loaded = Loaded::row(&operation.panels, panel, memory, codes);
            let here = in_panel.min(operation.columns - panel * in_panel) as usize;
            let column = |column: usize| {
                let (group, place) = (column / in_group, column % in_group);
                let bytes = loaded.get(group * channels * in_group..(group + 1) * channels * in_group)?;
                let weight = |k| i64::from(bytes[k * in_group + place] as i8);
                Some((0..channels).map(weight).collect())
            };
            weights.extend((0..here).map(column));
        }
        weights
    }
}
