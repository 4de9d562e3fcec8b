//! A token becomes part of panels.

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::{self, Loaded};
use crate::common::bus::Command;
use crate::common::shell::job_controller::code;

use super::append::LINE;
use super::layout::{HEAD_BYTES, half, nibble};
use super::{Append, Beats, Executed, KllmTop, Operation, Work};

impl KllmTop {
    /// Appends a token to panels. It goes on after an error, to find all errors.
    pub(super) fn append(&self, operation: Append, memory: &mut dyn Memory) -> Executed {
        let (mut codes, shape) = (Codes::default(), &self.shape.group());
        let token = Loaded::row(&operation.token, 0, memory, &mut codes);
        let mut load = |rows: &Command, row: u64| {
            let loaded = Loaded::row(rows, row, memory, &mut codes);
            // The result is undefined for a line that the bus did not deliver.
            loaded.whole().map_or_else(|| vec![0; rows.row_bytes as usize], <[u8]>::to_vec)
        };
        let mut rows: Vec<Vec<u8>> = (0..operation.lines.rows).map(|row| load(&operation.lines, row)).collect();
        let mut scales = load(&operation.scales, 0);
        let mut right = false;
        if let Some(head) = token.get(0..HEAD_BYTES as usize) {
            right = (3..=4).contains(&head[4]) && half(head, 2) == 0;
            if right {
                let scale = operation.scale(half(head, 0));
                let at = operation.number as usize * scale.len() % LINE as usize;
                scales[at..at + scale.len()].copy_from_slice(&scale);
            } else {
                codes.note(code::FIELD);
            }
        }
        if right {
            let bytes = operation.token.row_bytes as usize;
            let indices = token.get(HEAD_BYTES as usize..bytes).unwrap_or(&[]);
            let in_row = if operation.position { shape.channels() } else { shape.inputs.into() };
            for index in 0..(in_row * operation.lines.rows) as usize {
                let value = if index < 2 * indices.len() { nibble(indices, index) as u8 } else { 0 };
                let (row, at) = operation.nibble_of(shape, index);
                let byte = &mut rows[row][at / 2];
                let low = 4 * (at % 2);
                *byte = *byte & !(15 << low) | value << low;
            }
            for (row, bytes) in (0..).zip(&rows) {
                pieces::store(&operation.lines, row, bytes, memory, &mut codes);
            }
            pieces::store(&operation.scales, 0, &scales, memory, &mut codes);
        }
        let codes = codes.all();
        let defined = codes.is_empty() && operation.is_defined();
        let operation = Work { operation: Operation::Append(operation), beats: Beats::default() };
        // Nothing is written before the head was checked.
        Executed { operation, codes, defined, certain: true, overflows: 0, sum_overflows: 0 }
    }
}
