//! The operation of a linear engine: what is wrong with it, and where its rows are.

use super::linear_engine::LinearEngine;
use super::linear_operations::{LoadOperationPorts, MultiplyOperationPorts};
use crate::accelerators::sizes::fit;
use crate::blocks::common::shell::{OperationControllerPorts, Place};
use crate::lang::{Module, Signal, bit, bits_for, mux, select, uint};

/// The operation in hand; steady from its beginning to its end.
pub(super) struct Work<'a> {
    /// Its fields, if it loads.
    pub load: &'a LoadOperationPorts,
    /// Its fields, if it multiplies.
    pub product: &'a MultiplyOperationPorts,
    /// It loads; otherwise it multiplies.
    pub loads: Signal,
    /// A product with the context, not with weights.
    pub context: Signal,
    /// With its values, not its keys.
    pub values: Signal,
}

impl LinearEngine {
    /// What the tables of fields cannot say: sizes that depend on where a matrix begins.
    pub(super) fn refuse(
        &self,
        m: &mut Module,
        work: &Work<'_>,
        context_tokens: Signal,
        controller: &OperationControllerPorts,
    ) {
        let Work { load, product, loads, .. } = *work;
        let (spec, cells) = (&self.spec, &self.spec.store.tile.cells);
        let wide = uint(32);
        let first = |m: &mut Module, name: &str, load: Signal, product: Signal| {
            m.wire(name, mux(loads, load.extend(32), product.extend(32)))
        };
        // Number from the first row, column, tile or constant on; nothing where the first one does not exist.
        let left = |m: &mut Module, name: &str, first: Signal, count: u32, each: u32| {
            let left = mux(first.lt(count), wide.lit(count).wrapping_sub(first), wide.lit(0));
            let left = left.slice(0..bits_for(count.into()));
            m.wire(name, fit(left * each, 32))
        };
        let first_row = first(m, "first_row", load.first_row, product.first_row);
        let first_column = first(m, "first_column", load.first_column, product.first_column);
        let first_constant = first(m, "first_constant", load.constant, product.constant);
        let inputs = left(m, "inputs_left", first_row, spec.store.rows, cells.inputs);
        let outputs = left(m, "outputs_left", first_column, spec.store.columns, cells.outputs);
        let channels = left(m, "channels_left", first_row, spec.tiles, spec.lanes);
        let constants = left(m, "constants_left", first_constant, spec.constants, 1);
        let tokens = context_tokens.extend(32);
        let more = |count: Signal, most: Signal| count.extend(32).gt(most);

        let of_constants = load.rows.ne(1) | more(load.columns, constants);
        let of_weights = more(load.rows, inputs) | more(load.columns, outputs);
        let most_elements = select(&[(!work.context, inputs), (work.values, tokens)], channels);
        let most_results = select(&[(!work.context, outputs), (work.values, channels)], tokens);
        let used = mux(product.one_constant, wide.lit(1), product.columns.extend(32));
        let of_product = more(product.inner, m.wire("most_elements", most_elements))
            | more(product.columns, m.wire("most_results", most_results))
            | more(used, constants);
        let of_load = mux(load.constants, of_constants, of_weights);
        let wrong_size = m.wire("wrong_size", mux(loads, of_load, of_product));
        controller.refuse(m, &load.decoder.or(loads, product.decoder), bit().lit(0), wrong_size);
    }

    /// Rows that are read, rows that are written: both are checked, and asked for at once.
    pub(super) fn place(&self, m: &mut Module, work: &Work<'_>, controller: &OperationControllerPorts) {
        let Work { load, product, loads, values, .. } = *work;
        let bytes = |elements: Signal, each: u32| fit(elements.shl(each.trailing_zeros()), self.dma.row_width);
        let of_load = Place {
            address: load.address,
            row_bytes: mux(load.constants, bytes(load.columns, 8), bytes(load.columns, 1)),
            rows: load.rows.extend(16),
            stride: load.stride,
        };
        let x = Place {
            address: product.x_address,
            row_bytes: mux(values, bytes(product.inner, 2), bytes(product.inner, 1)),
            rows: product.rows,
            stride: product.x_stride,
        };
        let written = mux(product.integers, bytes(product.columns, 1), bytes(product.columns, 2));
        let places = [
            (bit().lit(1), of_load.or(loads, x)),
            (
                !loads,
                Place {
                    address: product.out_address,
                    row_bytes: m.wire("write_bytes", written),
                    rows: product.rows,
                    stride: product.out_stride,
                },
            ),
        ];
        for (k, (used, place)) in (0..).zip(places) {
            controller.check(m, k, used, place);
            controller.command(m, k, used, place);
        }
    }
}
