//! Factors of channels: they come once, and go round for each token of a panel.

use super::kllm_spec::{KllmSpec, ProductSize};
use super::panel_walk::PanelWalk;
use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::{FifoStorage, StreamFifo, StreamWidthConverter};
use crate::blocks::kllm::ScalingFactors;
use crate::lang::{
    About, Block, In, InBundle, InStream, Module, OutStream, Signal, Timing, bit, bits_for, mux, parameters, ports,
    uint,
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
        /// Forgets all factors; the next row belongs to a product.
        clear_i: In = bit(),
        /// The product; steady from clear_i on.
        size: InBundle<ProductSize> = (),
        /// The factors of all channels: one row.
        rows: InStream<RowBeat> = p.axi.clone(),
        /// Factors of a panel for each token, then factors of the next panel; after the last channel they mean nothing.
        factors: OutStream<ScalingFactors> = p.spec.scaling(),
    }
}

impl Block for FactorRing {
    type Ports = FactorRingPorts;
    const ABOUT: About = About {
        name: "factor_ring",
        summary: "factors of a panel's channels, again for each token",
        contract: "If a panel has more than one token to come, its factors leave when all of them are there. With\n\
            the last token they leave for good, and the factors of the next panel come.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &FactorRingPorts) {
        let (clear, most) = (io.clear_i, self.spec.result_beats());
        let records = m.instance("u_records", self.records());
        m.connect(records.clear_i, clear);
        rows_to_words(m, "record", &io.rows, &records);
        m.unused(records.output.strobe);
        m.unused(records.output.last);
        // One more place than a panel has beats, so that beats that go round find room.
        let block = StreamFifo { storage: FifoStorage::Memory, ..StreamFifo::registers(self.width(), most.max(1) + 1) };
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
        for unused in [io.size.inner, io.size.beats, io.size.outliers, io.size.fits, io.size.add, io.size.integers] {
            m.unused(unused);
        }
        self.properties(m, io);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(3)
    }
}

impl FactorRing {
    /// Records carry their number. For a product of up to two panels and three tokens, the records that leave are
    /// counted at the port: for each panel, and in it for each token, its records in order.
    fn properties(&self, m: &mut Module, io: &FactorRingPorts) {
        // A beat is a record, and all records have a number of 8 bits.
        if self.axi.data_width != self.width() || self.spec.result_beats() > 8 {
            return;
        }
        m.formal(|m| {
            let (ty, most) = (uint(8), self.spec.result_beats());
            let counted = |m: &mut Module, name: &str, next: &dyn Fn(Signal) -> Signal| {
                let count = m.reg_init(name, ty, 0);
                let next = next(count.q);
                count.next(mux(io.clear_i, ty.lit(0), next));
                count.q
            };
            m.comment(
                "The environment: a row, each of its beats a record with its number; sizes are steady from clear_i on.",
            );
            let began = m.reg_init("formal_began_q", bit(), 0);
            began.next(began.q | io.clear_i);
            let mut sizes = vec![];
            for (name, size) in [("tokens", io.size.tokens), ("channels", io.size.channels)] {
                let before = m.reg(&format!("formal_{name}_q"), size.ty());
                before.next(size);
                m.assume(&format!("{name}_steady"), !began.q | io.clear_i | size.eq(before.q));
                sizes.push(size);
            }
            let (tokens, channels) = (sizes[0], sizes[1]);
            m.assume("up_to_three_tokens", tokens.any() & tokens.le(3));
            m.assume("up_to_two_panels", channels.any() & channels.le(2 * self.spec.panel()));
            let records =
                channels.extend(18).wrapping_add(self.spec.outputs - 1).shr(self.spec.outputs.trailing_zeros());
            let records = m.wire("formal_records", records.slice(0..8));
            let came = counted(m, "formal_came_q", &|q| q.wrapping_add(io.rows.fire().extend(8)));
            m.assume("nothing_ahead_of_a_product", !io.rows.valid | (began.q & came.lt(records)));
            m.assume("whole_beats", io.rows.bytes.eq(self.axi.bytes()));
            m.assume("one_row", io.rows.row_last.eq(came.wrapping_add(1).eq(records)));
            m.assume("a_record_is_its_number", io.rows.data.data.slice(0..8).eq(came));

            m.comment("A record that leaves: place in its panel, token, records of all panels before.");
            let moves = io.factors.fire();
            let place = m.reg_init("formal_place_q", ty, 0);
            let token = m.reg_init("formal_token_q", ty, 0);
            let before = m.reg_init("formal_before_q", ty, 0);
            let rest = records.wrapping_sub(before.q);
            let here = mux(rest.gt(most), ty.lit(most), rest);
            let row = moves & place.q.wrapping_add(1).eq(here);
            let panel = row & token.q.wrapping_add(1).eq(tokens.slice(0..8));
            place.next(mux(io.clear_i | row, ty.lit(0), place.q.wrapping_add(moves.extend(8))));
            token.next(mux(io.clear_i | panel, ty.lit(0), token.q.wrapping_add(row.extend(8))));
            before.next(mux(io.clear_i, ty.lit(0), mux(panel, before.q.wrapping_add(here), before.q)));
            let number = before.q.wrapping_add(place.q);
            let over = before.q.eq(records);
            let leaves = began.q & io.factors.valid & !io.clear_i;
            m.assert_always("no_more_than_all", !leaves | !over);
            m.assert_always("the_record_of_its_turn", !leaves | io.factors.dense.at(0).slice(0..8).eq(number));
            m.assert_always("a_record_that_came", !leaves | number.lt(came));
            let offered = m.reg_init("formal_offered_q", bit(), 0);
            offered.next(leaves & !io.factors.ready);
            m.assert_always("an_offer_stays", !offered.q | io.factors.valid | io.clear_i);
            m.cover("all_panels_of_two_tokens", over & tokens.eq(2) & records.eq(2 * most));
            m.cover("all_of_one_token", over & tokens.eq(1) & records.eq(2 * most));
        });
    }
}
