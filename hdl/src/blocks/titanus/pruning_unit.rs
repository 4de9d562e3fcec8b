//! Pruning unit: small elements of a key and a value tile become zero, the other elements move together.
//!
//! Two comparators side by side, one for keys and one for values, each with its threshold of the layer. Stage 1
//! compares, stage 2 compacts. The two sides leave on streams of their own and hold each other up only at the common
//! input.

use super::tiles::PrunedTile;
use crate::blocks::common::{Compactor, Pipeline};
use crate::lang::{
    About, Array, Block, CatalogBlock, Field, FieldArray, In, InStream, Module, OutStream, Proof, Signal, Stream,
    Timing, bit, bits_for, bundle, cat, index_width, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct PruningUnit {
        /// Elements of a tile, of keys and of values each.
        lanes: u32 = 32, in 2..=256, tag "l";
        /// Layers with thresholds of their own.
        layers: u32 = 12, in 1..=1024, tag "y";
    }
}

bundle! {
    /// A tile of keys and one of values.
    pub struct KvTile(p: PruningUnit) {
        /// Layer whose thresholds hold.
        layer: Field = uint(index_width(u64::from(p.layers))),
        /// Lanes in use; lanes from here on are taken as 0. More than there are lanes: all.
        length: Field = uint(bits_for(u64::from(p.lanes))),
        /// Keys.
        k: FieldArray = sint(8).array(p.lanes),
        /// Values.
        v: FieldArray = sint(8).array(p.lanes),
        /// The tile is the last one of its sequence.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`PruningUnit`].
    pub struct PruningUnitPorts(p: &PruningUnit) {
        /// Writes the thresholds of a layer.
        threshold_write_i: In = bit(),
        /// That layer.
        threshold_layer_i: In = uint(index_width(u64::from(p.layers))),
        /// Keys with a magnitude below this become 0. Without sign; 129 and more prune all.
        threshold_k_i: In = uint(8),
        /// Values with a magnitude below this become 0.
        threshold_v_i: In = uint(8),
        /// A tile of keys and one of values; lanes from `length` on are taken as 0.
        tile: InStream<KvTile> = p.clone(),
        /// Pruned keys.
        k: OutStream<PrunedTile> = p.lanes,
        /// Pruned values.
        v: OutStream<PrunedTile> = p.lanes,
    }
}

impl Block for PruningUnit {
    type Ports = PruningUnitPorts;
    const ABOUT: About = About {
        name: "pruning_unit",
        summary: "prunes key and value tiles by magnitude and extracts what is not zero",
        contract: "Per side: index[i] = i < length and |x[i]| >= threshold of the layer and x[i] != 0. values are\n\
            the elements with index 1, in order from lane 0 on, 0 above; count is their number. Thresholds are\n\
            unsigned, |-128| is 128. Latency 2 cycles, one tile a cycle. A tile has the thresholds written before\n\
            it was taken; thresholds of a layer that does not exist are undefined. Reset at any time drops the\n\
            tiles inside and leaves the thresholds; they are undefined until written.",
        reference: "Titanus, section 4.3",
    };

    fn build(&self, m: &mut Module, io: &PruningUnitPorts) {
        let table = m.memory("thresholds", self.layers.max(2), 16, 16);
        table.write(io.threshold_write_i, io.threshold_layer_i, cat(&[io.threshold_v_i, io.threshold_k_i]));
        let thresholds = table.read_async("threshold", io.tile.layer);
        // Both sides take the tile in the same cycle.
        let both = m.net("both_ready", bit());
        let offered = m.wire("offered", io.tile.valid & both);
        let sides = [("k", &io.k, io.tile.k, 0), ("v", &io.v, io.tile.v, 8)];
        let pipelines = sides.map(|(name, out, data, low)| {
            let side = Side { name, out, data, threshold: thresholds.slice(low..low + 8) };
            self.side(m, io, &side, offered)
        });
        m.connect(both, pipelines[0].ready & pipelines[1].ready);
        m.connect(io.tile.ready, both);
        m.formal(|m| {
            for (pipeline, (name, out, ..)) in pipelines.iter().zip(sides) {
                pipeline.assert_order(m, name, io.tile.fire(), out.fire());
            }
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(2)
    }
}

/// Keys or values.
struct Side<'a> {
    name: &'a str,
    out: &'a Stream<PrunedTile>,
    data: Array,
    threshold: Signal,
}

impl PruningUnit {
    fn side(&self, m: &mut Module, io: &PruningUnitPorts, side: &Side<'_>, offered: Signal) -> Pipeline {
        let Side { name, out, data, threshold } = side;
        let named = |what: &str| format!("{name}_{what}");
        let control = Pipeline::new(m, &[&named("pruned"), &named("compacted")], offered, out.ready);
        let [pruned, compacted] = [control.stages[0], control.stages[1]];
        m.connect(out.valid, compacted.valid);
        let last = m.reg(&named("last_q"), bit());
        last.next_when(pruned.load, io.tile.last);
        let out_last = m.reg(&named("out_last_q"), bit());
        out_last.next_when(compacted.load, last.q);
        m.connect(out.last, out_last.q);

        let compactor = m.instance(&format!("u_{name}_compactor"), Compactor { lanes: self.lanes, width: 8 });
        let length = io.tile.length;
        m.for_each(&named("prune"), self.lanes, |m, lane| {
            let x = data.at(lane);
            // -128 becomes 128, which eight bits without sign hold.
            let negated = m.wire(&named("negated"), uint(8).lit(0).wrapping_sub(x.as_uint()));
            let magnitude = m.wire(&named("magnitude"), crate::lang::mux(x.msb(), negated, x.as_uint()));
            let inside = length.gt(lane.value(length.width()));
            let keep = m.wire(&named("keep"), magnitude.ge(*threshold) & x.any() & inside);
            let index = m.reg(&named("index_q"), bit());
            index.next_when(pruned.load, keep);
            let value = m.reg(&named("value_q"), uint(8));
            value.next_when(pruned.load, x.as_uint());
            m.connect(compactor.mask_i.at(lane), index.q);
            m.connect(compactor.data_i.at(lane), value.q);
            let out_index = m.reg(&named("out_index_q"), bit());
            out_index.next_when(compacted.load, index.q);
            m.connect(out.index.at(lane), out_index.q);
            let out_value = m.reg(&named("out_value_q"), uint(8));
            out_value.next_when(compacted.load, compactor.data_o.at(lane));
            m.connect(out.values.at(lane), out_value.q.as_sint());
        });
        let count = m.reg(&named("out_count_q"), out.count.ty());
        count.next_when(compacted.load, compactor.count_o);
        m.connect(out.count, count.q);
        control
    }
}

impl CatalogBlock for PruningUnit {
    // One layer needs no number.
    const SAMPLE: &'static [(&'static str, u32)] = &[("layers", 2)];

    fn configurations() -> Vec<Self> {
        [(2, 1), (5, 3), (16, 12)].map(|(lanes, layers)| Self { lanes, layers }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { lanes: 2, layers: 1 }, depth: 8, cover_depth: 10, induction: true }]
    }
}
