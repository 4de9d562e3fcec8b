//! Factors of channels: they come once, and go round for each token of a panel.

use super::kllm_spec::{KllmSpec, ProductSize};
use super::panel_walk::PanelWalk;
use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::{FifoStorage, StreamFifo, StreamWidthConverter};
use crate::blocks::kllm::ScalingFactors;
use crate::lang::{
    About, Block, In, InBundle, InStream, Module, OutStream, Timing, bit, bits_for, mux, parameters, ports, uint,
};

/// Bits of the factors of a channel.
const RECORD: u32 = 64;

parameters! {
    /// Elaboration parameters.
    pub struct FactorRing {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// The lanes.
        spec: KllmSpec = KllmSpec::default();
    }
    rules = |p, rules| rules.part("spec.outputs", &p.records());
}

impl FactorRing {
    fn width(&self) -> u32 {
        RECORD * self.spec.outputs
    }

    fn records(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: self.width(), granule: 8 }
    }
}

ports! {
    /// Ports of [`FactorRing`].
    pub struct FactorRingPorts(p: &FactorRing) {
        /// Forgets all factors; the next row is that of a product.
        clear_i: In = bit(),
        /// The product; steady from clear_i on.
        size: InBundle<ProductSize> = (),
        /// The factors of all channels: one row.
        rows: InStream<RowBeat> = p.axi.clone(),
        /// Those of a panel for each token, then those of the next panel; behind the last channel they mean nothing.
        factors: OutStream<ScalingFactors> = p.spec.scaling(),
    }
}

impl Block for FactorRing {
    type Ports = FactorRingPorts;
    const ABOUT: About = About {
        name: "factor_ring",
        summary: "factors of a panel's channels, again for each token",
        contract: "Factors of a panel that has more than one token to come leave when all of them are there; with the last token they leave for good, and\n\
            those of the next panel come.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &FactorRingPorts) {
        let (clear, most) = (io.clear_i, self.spec.result_beats());
        let records = m.instance("u_records", self.records());
        m.connect(records.clear_i, clear);
        rows_to_words(m, "record", &io.rows, &records);
        m.unused(records.output.strobe);
        m.unused(records.output.last);
        // A place more than a panel has beats: what goes round finds room.
        let block = StreamFifo {
            storage: FifoStorage::Memory,
            proved: false,
            ..StreamFifo::registers(self.width(), most.max(1) + 1)
        };
        let ring = m.instance("u_ring", block);
        m.connect(ring.clear_i, clear);
        m.unused(ring.almost_full_o);
        m.unused(ring.input.ready);

        let moves = m.wire("moves", io.factors.fire());
        let walk = PanelWalk::new(m, "at", &self.spec, &io.size, (clear, moves));
        // Beats that came of this panel, and, with its last token, of the next one.
        let ty = uint(bits_for(2 * u64::from(most) + 1));
        let came = m.reg_init("came_q", ty, 0);
        let shift = self.spec.outputs.trailing_zeros();
        // Beats of this panel that left with this token.
        let passed = m.reg_init("passed_q", ty, 0);
        let to_come = walk.rest.wrapping_add(self.spec.outputs - 1).shr(shift);
        let in_panel =
            m.wire("in_panel", passed.q.wrapping_add(to_come.slice(0..ty.width.min(to_come.width())).extend(ty.width)));
        let whole = m.wire("whole", came.q.ge(in_panel));
        let opens = m.wire("opens", walk.token_last | whole);
        m.connect(io.factors.valid, ring.output.valid & opens);
        m.connect(ring.output.ready, io.factors.ready & opens);
        let again = m.wire("again", moves & !walk.token_last);
        let room = m.wire("room", mux(walk.token_last, ring.level_o.lt(most), !whole) & !clear);
        m.connect(records.output.ready, room);
        let comes = m.wire("comes", records.output.fire());
        m.connect(ring.input.valid, again | comes);
        m.connect(ring.input.data.data, mux(again, ring.output.data.data, records.output.data.data));
        let ends = m.wire("ends", moves & walk.row_last);
        passed.next(mux(clear | ends, ty.lit(0), passed.q.wrapping_add(moves.extend(ty.width))));
        let gone = mux(ends & walk.token_last, in_panel, ty.lit(0));
        came.next(mux(clear, ty.lit(0), came.q.wrapping_add(comes.extend(ty.width)).wrapping_sub(gone)));
        let word = m.wire("factor", ring.output.data.data);
        let halves = m.split("factor_half", word, uint(RECORD / 2).array(2 * self.spec.outputs));
        m.for_each("factors", self.spec.outputs, |m, i| {
            m.connect(io.factors.dense.at(i), halves.at(i * 2));
            m.connect(io.factors.outliers.at(i), halves.at(i * 2 + 1));
        });
        for unused in [io.size.inner, io.size.beats, io.size.outliers, io.size.fits, io.size.add] {
            m.unused(unused);
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(3).beat(1)
    }
}
