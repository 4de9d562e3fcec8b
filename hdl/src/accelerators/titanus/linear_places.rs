//! The operation of a linear engine: what is wrong with it, and where its rows are.

use super::linear_engine::LinearEngine;
use super::linear_operations::{LoadOperationPorts, MultiplyOperationPorts};
use super::load_engine::LoadEngine;
use super::titanus_spec::TitanusSpec;
use crate::accelerators::sizes::fit;
use crate::blocks::common::bus::DmaSpec;
use crate::blocks::common::shell::{OperationControllerPorts, Place};
use crate::lang::{Module, Signal, bit, bits_for, mux, select, uint};

/// The operation in hand; steady from its beginning to its end.
pub(super) struct Work<'a> {
    /// It loads, and its fields if it does; otherwise it multiplies. None in an engine for products alone.
    pub load: Option<(Signal, &'a LoadOperationPorts)>,
    /// Its fields, if it multiplies.
    pub product: &'a MultiplyOperationPorts,
    /// A product with the context, not with weights.
    pub context: Signal,
    /// With its values, not its keys.
    pub values: Signal,
}

impl Work<'_> {
    /// A value of the load if it loads, otherwise of the product.
    fn either(&self, load: impl Fn(&LoadOperationPorts) -> Signal, product: Signal) -> Signal {
        self.load.map_or(product, |(loads, fields)| mux(loads, load(fields), product))
    }

    /// Whether it multiplies, and `so` holds.
    pub fn multiplies(&self, so: Option<Signal>) -> Signal {
        match (self.load, so) {
            (None, so) => so.unwrap_or(bit().lit(1)),
            (Some((loads, _)), None) => !loads,
            (Some((loads, _)), Some(so)) => !loads & so,
        }
    }
}

/// What is left of the macros, constants or tiles from the first one of an operation on.
struct Left<'a> {
    spec: &'a TitanusSpec,
}

impl Left<'_> {
    /// Number from the first row, column, tile or constant on; nothing where the first one does not exist.
    fn of(&self, m: &mut Module, name: &str, first: Signal, (count, each): (u32, u32)) -> Signal {
        let wide = uint(32);
        let left = mux(first.lt(count), wide.lit(count).wrapping_sub(first), wide.lit(0));
        let left = left.slice(0..bits_for(count.into()));
        m.wire(name, fit(left * each, 32))
    }

    fn inputs(&self, m: &mut Module, first_row: Signal) -> Signal {
        self.of(m, "inputs_left", first_row, (self.spec.store.rows, self.spec.store.tile.cells.inputs))
    }

    fn outputs(&self, m: &mut Module, first_column: Signal) -> Signal {
        self.of(m, "outputs_left", first_column, (self.spec.store.columns, self.spec.store.tile.cells.outputs))
    }

    fn channels(&self, m: &mut Module, first_tile: Signal) -> Signal {
        self.of(m, "channels_left", first_tile, (self.spec.tiles, self.spec.lanes))
    }

    fn constants(&self, m: &mut Module, first_constant: Signal) -> Signal {
        self.of(m, "constants_left", first_constant, (self.spec.constants, 1))
    }
}

fn more(count: Signal, most: Signal) -> Signal {
    count.extend(32).gt(most)
}

/// A load wants more macros, or more constants, than there are.
fn wrong_load(load: &LoadOperationPorts, [inputs, outputs, constants]: [Signal; 3]) -> Signal {
    let of_constants = load.rows.ne(1) | more(load.columns, constants);
    let of_weights = more(load.rows, inputs) | more(load.columns, outputs);
    mux(load.constants, of_constants, of_weights)
}

/// Bytes of so many elements, for a DMA.
fn bytes(dma: &DmaSpec, elements: Signal, each: u32) -> Signal {
    fit(elements.shl(each.trailing_zeros()), dma.row_width)
}

/// The rows of a load.
fn loaded(dma: &DmaSpec, load: &LoadOperationPorts) -> Place {
    Place {
        address: load.address,
        row_bytes: mux(load.constants, bytes(dma, load.columns, 8), bytes(dma, load.columns, 1)),
        rows: load.rows.extend(16),
        stride: load.stride,
    }
}

impl LoadEngine {
    /// What the table of fields cannot say: sizes that depend on where a matrix begins.
    pub(super) fn refuse(&self, m: &mut Module, load: &LoadOperationPorts, controller: &OperationControllerPorts) {
        let left = Left { spec: &self.spec };
        let [row, column, constant] = [load.first_row, load.first_column, load.constant].map(|first| first.extend(32));
        let all = [left.inputs(m, row), left.outputs(m, column), left.constants(m, constant)];
        let wrong_size = m.wire("wrong_size", wrong_load(load, all));
        controller.refuse(m, &load.decoder, bit().lit(0), wrong_size);
    }

    /// Rows that are read; nothing is written.
    pub(super) fn place(&self, m: &mut Module, load: &LoadOperationPorts, controller: &OperationControllerPorts) {
        let (rows, no) = (loaded(&self.dma, load), bit().lit(0));
        for (k, used) in [(0, bit().lit(1)), (1, no)] {
            controller.check(m, k, used, rows);
            controller.command(m, k, used, rows);
        }
    }
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
        let (product, wide) = (work.product, uint(32));
        let first_row = work.either(|load| load.first_row.extend(32), product.first_row.extend(32));
        let first_row = m.wire("first_row", first_row);
        let first_column = work.either(|load| load.first_column.extend(32), product.first_column.extend(32));
        let first_column = m.wire("first_column", first_column);
        let first_constant = work.either(|load| load.constant.extend(32), product.constant.extend(32));
        let first_constant = m.wire("first_constant", first_constant);
        let left = Left { spec: &self.spec };
        let inputs = left.inputs(m, first_row);
        let outputs = left.outputs(m, first_column);
        let channels = left.channels(m, first_row);
        let constants = left.constants(m, first_constant);
        let tokens = context_tokens.extend(32);

        let most_elements = select(&[(!work.context, inputs), (work.values, tokens)], channels);
        let most_results = select(&[(!work.context, outputs), (work.values, channels)], tokens);
        let used = mux(product.one_constant, wide.lit(1), product.columns.extend(32));
        let of_product = more(product.inner, m.wire("most_elements", most_elements))
            | more(product.columns, m.wire("most_results", most_results))
            | more(used, constants);
        let wrong_size = work.either(|load| wrong_load(load, [inputs, outputs, constants]), of_product);
        let wrong_size = m.wire("wrong_size", wrong_size);
        let decoder = work.load.map_or(product.decoder, |(loads, load)| load.decoder.or(loads, product.decoder));
        controller.refuse(m, &decoder, bit().lit(0), wrong_size);
    }

    /// Rows that are read, rows that are written: both are checked, and asked for at once.
    pub(super) fn place(&self, m: &mut Module, work: &Work<'_>, controller: &OperationControllerPorts) {
        let Work { load, product, values, .. } = *work;
        let bytes = |elements: Signal, each: u32| bytes(&self.dma, elements, each);
        let of_load = load.map(|(loads, load)| (loads, loaded(&self.dma, load)));
        let x = Place {
            address: product.x_address,
            row_bytes: mux(values, bytes(product.inner, 2), bytes(product.inner, 1)),
            rows: product.rows,
            stride: product.x_stride,
        };
        let written = mux(product.integers, bytes(product.columns, 1), bytes(product.columns, 2));
        let places = [
            (bit().lit(1), of_load.map_or(x, |(loads, rows)| rows.or(loads, x))),
            (
                work.multiplies(None),
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
