//! Leads the array through a product: rows of weights into it, and tiles of vectors through it.

use super::kelle_spec::KelleSpec;
use super::walk::{Walk, WalkMoves, WalkSize};
use crate::accelerators::sizes::fit;
use crate::blocks::common::stream::Word;
use crate::blocks::kelle::{ArrayRow, ArrayStep};
use crate::lang::{
    About, Block, Field, FieldOption, In, InArray, InBundle, InStream, Module, Out, OutStream, Signal, Timing, bit,
    bits_for, bundle, index_width, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ProductWalk {
        /// Sizes.
        spec: KelleSpec = KelleSpec::default();
        /// Products of both kinds, of weights of one and of two bytes; otherwise only the products of linear layers.
        attention: bool = false, tag "attention";
        /// Most vectors.
        vectors: u32 = 64, in 1..=4096, tag "v";
        /// Most tiles of a sum.
        tiles: u32 = 48, in 1..=65_535, tag "n";
    }
}

bundle! {
    /// Size of a product.
    pub struct ProductSize(p: ProductWalk) {
        /// Vectors.
        vectors: Field = uint(bits_for(p.vectors.into())),
        /// Groups of sums. A group has the sums that the array computes at once.
        groups: Field = uint(16),
        /// Tiles of a sum.
        tiles: Field = uint(bits_for(p.tiles.into())),
        /// Rows of weights of the last tile, or of the last group of a transposed product.
        rest: Field = uint(bits_for(p.spec.rows.into())),
        /// The product is transposed: vectors go to the columns, and each row has a sum.
        transposed: FieldOption = bit().when(p.attention),
        /// Weights have two bytes: all rows of a tile come with their high bytes, then with their low ones.
        wide: FieldOption = bit().when(p.attention),
        /// High bytes of vectors are unsigned.
        unsigned: FieldOption = bit().when(p.attention),
    }
}

ports! {
    /// Ports of [`ProductWalk`].
    pub struct ProductWalkPorts(p: &ProductWalk) {
        /// Drops the product.
        clear_i: In = bit(),
        /// A product begins; the one before has ended.
        begin_i: In = bit(),
        /// Its size; steady from begin_i up to the last step.
        size: InBundle<ProductSize> = p.clone(),
        /// No further step is to be made.
        done_o: Out = bit(),
        /// Rows of weights, group by group, tile by tile. Rows after the last group are dropped.
        weights: InStream<Word> = 8 * p.spec.columns,
        /// To the array.
        load: OutStream<ArrayRow> = p.spec.array(),
        /// All vectors are here.
        here_i: In = bit(),
        /// Read a tile of a vector.
        read_o: Out = bit(),
        /// Which vector.
        vector_o: Out = uint(index_width(p.vectors.into())),
        /// Which tile.
        tile_o: Out = uint(bits_for(p.tiles.into())),
        /// The tile, from the cycle after the read and up to the next one.
        tile_i: InArray = uint(16).array(p.spec.array().lanes()),
        /// To the array.
        step: OutStream<ArrayStep> = p.spec.array(),
    }
}

impl Block for ProductWalk {
    type Ports = ProductWalkPorts;
    const ABOUT: About = About {
        name: "product_walk",
        summary: "rows of weights and tiles of vectors of a product to the reconfigurable array",
        contract: "For each group of sums, for each tile of them (and each byte of its weights): its rows are\n\
            loaded while the tile before is at work. Then each vector makes two steps, its high bytes and its low\n\
            ones, with the sums of the vector's number. Rows that the last tile does not have count as 0. Last\n\
            steps of a transposed product are at least one cycle per row apart, so that the array's rows have\n\
            complete sums one at a time.",
        reference: "Kelle, section 5.2, figure 11",
    };

    fn build(&self, m: &mut Module, io: &ProductWalkPorts) {
        let swaps = m.net("swaps", bit());
        let transposed = io.size.transposed.unwrap_or(bit().lit(0));
        let size = WalkSize { groups: io.size.groups, tiles: io.size.tiles, wide: io.size.wide };
        let go = |moves| WalkMoves { clear: io.clear_i, begin: io.begin_i, moves };
        m.comment("Weights of the next tile: one tile ahead.");
        let loads = m.net("loads", bit());
        let rows = io.size.rest.ty().lit(self.spec.rows);
        let loader = Walk::new(m, "load", size, go(loads), |last_group, last_tile| {
            mux(mux(transposed, last_group, last_tile), io.size.rest, rows)
        });
        let full = m.reg_init("full_q", bit(), 0);
        let free = m.wire("free", loader.runs & (!full.q | swaps));
        m.connect(io.load.valid, io.weights.valid & free);
        // Rows after the last group are dropped.
        m.connect(io.weights.ready, mux(loader.runs, free & io.load.ready, !io.begin_i & !io.clear_i));
        m.connect(loads, io.load.fire());
        m.connect(io.load.row, fit(loader.inside, io.load.row.width()));
        let weights = m.split("weights", io.weights.data.data, uint(8).array(self.spec.columns));
        m.connect_each("load_weights", io.load.weight, weights);
        let restart = m.wire("restart", io.clear_i | io.begin_i);
        full.next(!restart & ((loads & loader.last_inside) | (full.q & !swaps)));

        m.comment("Tiles of vectors, a vector after the other, as soon as all of them are here.");
        let reads = m.net("reads", bit());
        let reader = Walk::new(m, "read", size, go(reads), |_, _| io.size.vectors);
        let there = m.reg_init("there_q", bit(), 0);
        let low = m.reg_init("low_q", bit(), 0);
        let moves = m.wire("moves", io.step.fire());
        let over = m.wire("tile_over", moves & low.q);
        m.connect(reads, reader.runs & io.here_i & (!there.q | over));
        there.next(!restart & (reads | (there.q & !over)));
        low.next(!restart & (low.q ^ moves));
        m.connect(io.done_o, !reader.runs & !there.q);
        m.connect(io.read_o, reads);
        m.connect(io.vector_o, fit(reader.inside, io.vector_o.width()));
        m.connect(io.tile_o, reader.tile);
        let keep = |m: &mut Module, name: &str, value: Signal| {
            let kept = m.reg(name, value.ty());
            kept.next_when(reads, value);
            kept.q
        };
        let vector = keep(m, "vector_q", fit(reader.inside, io.step.index.width()));
        let begins = keep(m, "begins_q", !reader.inside.any());
        let first = keep(m, "first_q", reader.first_tile);
        let last = keep(m, "last_q", reader.last_tile);

        m.comment("Two steps a tile; the first vector's high bytes have the weights begin.");
        let high = m.wire("high", !low.q);
        let swap = m.wire("swap", begins & high);
        let mut waits = swap & !full.q;
        let (mut first, mut complete) = (first & high, last & low.q);
        let mut place = high.extend(2);
        let mut weight_signed = bit().lit(1);
        if io.size.wide.is_some() {
            // A sum begins with the high bytes of weights and ends with the low ones.
            let low_weights = keep(m, "low_weights_q", reader.low_weights);
            let wide = io.size.wide.unwrap_or(bit().lit(0));
            let high_weights = m.wire("high_weights", !low_weights);
            first = first & (high_weights | !wide);
            complete = complete & low_weights;
            place = (high.extend(1) + high_weights).extend(2);
            weight_signed = high_weights | !wide;
        }
        let complete = m.wire("complete", complete);
        if self.attention {
            let gap_ty = uint(bits_for(self.spec.rows.into()));
            let gap = m.reg_init("gap_q", gap_ty, 0);
            let less = mux(gap.q.any(), gap.q.wrapping_sub(1), gap_ty.lit(0));
            gap.next(mux(moves & complete & transposed, gap_ty.lit(self.spec.rows - 1), less));
            waits = waits | (complete & transposed & gap.q.any());
        } else {
            m.unused(reader.low_weights);
        }
        m.connect(io.step.valid, there.q & !waits);
        m.connect(swaps, moves & swap);
        m.connect_pairs([
            (io.step.swap, swap),
            (io.step.transposed, transposed),
            (io.step.first, first),
            (io.step.last, complete),
            (io.step.place, place),
            (io.step.index, vector),
            (io.step.act_signed, high & !io.size.unsigned.unwrap_or(bit().lit(0))),
            (io.step.weight_signed, weight_signed),
        ]);
        let rest = io.size.rest;
        let byte = |value: Signal| mux(high, value.slice(8..16), value.slice(0..8));
        let rows = self.spec.rows;
        m.for_each("act", rows, |m, r| {
            let value = m.wire("value", io.tile_i.at(r));
            let counts = m.wire("counts", !last | transposed | rest.gt(r.value(rest.width())));
            m.connect(io.step.act.at(r), byte(value) & counts.repeat(8));
        });
        // More columns than rows.
        m.for_each("act_beyond", io.step.act.count() - rows, |m, r| {
            let value = m.wire("value_beyond", io.tile_i.at(r + rows));
            m.connect(io.step.act.at(r + rows), byte(value));
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().beat(1)
    }
}
