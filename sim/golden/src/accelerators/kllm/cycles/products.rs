//! A product: from the first command to the last answer.

use super::super::{HEAD_BYTES, MatMul, OUTLIER_BYTES, Shape};
use super::lanes::Lanes;
use super::results::Results;
use super::timing::Timing;
use super::tokens::{Codebook, Tokens};
use crate::accelerators::cycles::{Dmas, Flow};
use crate::accelerators::memory::Memory;
use crate::common::bus::Command;

/// A product in flight.
#[derive(Clone, Debug)]
pub(super) struct Product {
    codebook: Codebook,
    tokens: Tokens,
    lanes: Lanes,
    results: Results,
}

impl Product {
    /// A product whose commands are offered in the cycle after `begin`.
    pub fn new(
        (timing, shape): (&Timing, &Shape),
        operation: &MatMul,
        memory: &mut dyn Memory,
        (begin, dmas): (u64, &mut Dmas),
    ) -> Self {
        let bus_bytes = timing.shell.bus_bytes;
        let lanes = Lanes::new((timing.lane, timing.outputs), bus_bytes, shape, operation);

        let tokens = operation.tokens;
        let indices = tokens.address + if operation.integers { 0 } else { HEAD_BYTES };
        let nibbles = operation.nibble_bytes();
        // Without outliers this may be the end of all addresses.
        let outliers = indices.wrapping_add(nibbles);
        let part = |address, row_bytes| Command { address, row_bytes, ..tokens };
        let groups = u64::from(shape.groups);
        let panels = operation.passes;
        let rows = if lanes.fits() { 1 } else { tokens.rows };
        let channels = |panel: u64| (operation.channels - panel * shape.channels()).min(shape.channels());
        let results = |rows: &Command, panel: u64| Command {
            address: rows.address + 2 * shape.channels() * panel,
            row_bytes: 2 * channels(panel),
            ..*rows
        };
        dmas.readers[0].offer(&operation.codebook, begin + 1);
        for panel in 0..panels {
            if !operation.integers {
                dmas.readers[0].offer(&part(tokens.address, HEAD_BYTES), begin + 1);
            }
            dmas.readers[1].offer(&part(indices, nibbles), begin + 1);
            if operation.outliers > 0 {
                let row_bytes = (OUTLIER_BYTES * operation.outliers).next_multiple_of(64);
                dmas.readers[2].offer(&part(outliers, row_bytes), begin + 1);
            }
            for group in 0..groups {
                let address = operation.panels.address + (panel * groups + group) * operation.panels.stride;
                let reader = if group == 0 { 3 } else { 5 + group as usize };
                dmas.readers[reader].offer(&Command { address, rows, stride: 0, ..operation.panels }, begin + 1);
            }
            if let Some(addends) = &operation.addends {
                dmas.readers[5].offer(&results(addends, panel), begin + 1);
            }
            dmas.writer.offer(&results(&operation.out, panel), begin + 1);
        }
        dmas.readers[4].offer(&operation.constants, begin + 1);
        Self {
            codebook: Codebook::new(bus_bytes),
            tokens: Tokens::new(bus_bytes, shape.inputs.into(), operation, memory),
            lanes,
            results: Results::new(timing, shape, operation),
        }
    }
}

impl Product {
    /// Beats of all tokens for all panels, and outliers among them.
    pub fn beats(&self) -> [u64; 2] {
        self.tokens.totals()
    }
}

impl Flow for Product {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        let [heads, indices, outliers, panels, constants, addends, further @ ..] = &mut dmas.readers[..] else {
            return moved;
        };
        moved |= self.codebook.advance(heads);
        let results = &self.results;
        moved |= self.tokens.advance([heads, indices, outliers], &self.codebook, |token| results.scaled(token));
        moved |= self.lanes.advance((panels, further), &mut self.tokens, self.codebook.last());
        moved | self.results.advance([constants, addends], &mut self.lanes, &mut dmas.writer)
    }
}
