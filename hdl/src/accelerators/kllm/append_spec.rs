//! Sizes that all parts that put tokens into panels share.

use super::kllm_spec::{COUNT, KllmSpec};
use crate::blocks::common::bus::AxiSpec;
use crate::blocks::common::stream::StreamWidthConverter;
use crate::lang::{Field, bit, bundle, parameters, uint};

/// Bits of a line, which is read, changed and written at once.
pub(super) const LINE: u32 = 512;

parameters! {
    /// The panels, and the bus.
    pub struct AppendSpec {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// The lanes whose weights are in the panels.
        product: KllmSpec = KllmSpec::default();
    }
    rules = |p, rules| {
        rules.demand(p.axi.data_width <= LINE, "axi.data_width", p.axi.data_width, format!("at most {LINE}"));
        let least = LINE / 4 / p.product.panel().max(1);
        rules.demand(p.product.beat_bytes() >= LINE / 8, "product.inputs", p.product.inputs, format!("at least {least}"));
        rules.part("axi.data_width", &p.to_lines());
    };
}

bundle! {
    /// A token that is put into panels, as the parts need to know it; steady while it is in hand.
    pub struct AppendSize(_unit: ()) {
        /// The channel of its panel, or the position of each channel, that the token is.
        number: Field = uint(COUNT),
        /// It is a position.
        position: Field = bit(),
        /// Factors of its scale for both constants of a channel, fp32.
        dense: Field = uint(32),
        /// The second one.
        outliers: Field = uint(32),
    }
}

impl AppendSpec {
    /// Beats of the bus become lines. All beats and lines are full, so a beat has one strobe.
    pub(super) fn to_lines(&self) -> StreamWidthConverter {
        let beat = self.axi.data_width;
        StreamWidthConverter { input_width: beat, output_width: LINE, granule: beat }
    }

    /// Lines become beats of the bus.
    pub(super) fn to_beats(&self) -> StreamWidthConverter {
        let beat = self.axi.data_width;
        StreamWidthConverter { input_width: LINE, output_width: beat, granule: beat }
    }

    /// Runs of as many positions as a beat of the lanes has in a line.
    pub(super) fn runs(&self) -> u32 {
        LINE / 4 / self.product.inputs.max(1)
    }
}
