//! Sizes of the Kelle accelerator.

use crate::blocks::common::bus::AxiSpec;
use crate::blocks::common::stream::StreamWidthConverter;
use crate::blocks::kelle::ReconfigurableArray;
use crate::lang::{Field, FieldArray, bit, bits_for, bundle, parameters, power_of_two, uint};

/// Columns of a panel, at least: so that rows of results of a panel begin at multiples of 64 bytes.
const PANEL: u32 = 32;

parameters! {
    /// Elaboration parameters.
    pub struct KelleSpec {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Rows of PEs.
        rows: u32 = 32, in power_of_two(2..=256), note "at least the elements of a beat of the bus", tag "r";
        /// Columns of PEs.
        columns: u32 = 32, in power_of_two(2..=256), note "at least the elements of a beat of the bus", tag "c";
        /// Width of a sum in bits, signed.
        accumulator_width: u32 = 48, in 9..=64, note "enough for the longest sum", tag "a";
        /// Rows of an operation of a linear layer.
        tokens: u32 = 64, in 2..=4096, tag "t";
        /// Channels of a linear layer.
        inner: u32 = 1536, in 2..=65535, note "a multiple of rows", tag "i";
        /// Rows of weights that wait for the array.
        weights: u32 = 1024, in 2..=65536, tag "w";
    }
    rules = |p, rules| {
        let lanes = p.lanes();
        let allowed = format!("the elements of a beat of the bus, {lanes}, to 256");
        rules.demand(p.rows >= lanes, "rows", p.rows, &allowed);
        rules.demand(p.columns >= lanes, "columns", p.columns, &allowed);
        rules.demand(p.inner.is_multiple_of(p.rows), "inner", p.inner, format!("a multiple of {}", p.rows));
        // A high byte times a weight, and the least number.
        let least = 24 + bits_for(p.inner.into());
        let allowed = format!("24 + bits of inner = {least} to 64");
        rules.demand(p.accumulator_width >= least, "accumulator_width", p.accumulator_width, allowed);
        let bus = p.axi.data_width;
        rules.demand(bus <= 512, "axi.data_width", bus, "at most 512");
        rules.part("columns", &p.array());
        rules.part("columns", &p.weight_words());
    };
}

impl KelleSpec {
    /// Elements of a beat of the bus, and of a beat of sums.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.axi.data_width / 16
    }

    /// Columns of a panel.
    #[must_use]
    pub fn panel(&self) -> u32 {
        self.columns.max(PANEL)
    }

    /// Tiles of the longest sum.
    #[must_use]
    pub fn tiles(&self) -> u32 {
        self.inner.div_ceil(self.rows)
    }

    /// The array.
    #[must_use]
    pub fn array(&self) -> ReconfigurableArray {
        ReconfigurableArray {
            rows: self.rows,
            columns: self.columns,
            operand_width: 8,
            accumulator_width: self.accumulator_width,
            depth: self.tokens,
            results: 4,
            beat: self.lanes(),
        }
    }

    /// From beats of the bus to rows of weights.
    #[must_use]
    pub fn weight_words(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: 8 * self.columns, granule: 8 }
    }
}

bundle! {
    /// Some numbers of a row.
    pub struct Numbers(lanes: u32) {
        /// 16 bits each.
        values: FieldArray = uint(16).array(*lanes),
        /// Numbers in use.
        used: Field = uint(bits_for((*lanes).into())),
        /// They are the last ones of their row.
        last: Field = bit(),
    }
}
