//! Pruning unit: small elements of a key and a value tile become zero, what is left moves together.
//!
//! Two comparators side by side, one for keys and one for values, each with its threshold of the layer. Stage 1 compares,
//! stage 2 compacts. The two sides leave on streams of their own and hold each other up only at the common input.

use serde::{Deserialize, Serialize};

use super::index_bits;
use crate::blocks::common::{Compactor, CompactorPorts, Pipeline};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, OldInStream, OldOutStream, OldParameter, OldStream, OldStreamType,
    ParamError, Proof, Signal, bit, bits_for, cat, ensure_param, index_width, old_parameters, ports, sint, stream,
    uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PruningUnit {
    /// Elements of a tile, per side.
    pub lanes: u32,
    /// Layers with thresholds of their own.
    pub layers: u32,
}

impl PruningUnit {
    fn pruned(&self) -> OldStreamType {
        pruned_tile(self.lanes)
    }
}

/// A pruned tile: index, number of ones in it, elements from lane 0 on.
pub(super) fn pruned_tile(lanes: u32) -> OldStreamType {
    stream()
        .array("index", bit().array(lanes))
        .field("count", uint(bits_for(u64::from(lanes))))
        .array("values", sint(8).array(lanes))
        .field("last", bit())
}

ports! {
    /// Ports of [`PruningUnit`].
    pub struct PruningUnitPorts(p: &PruningUnit) {
        /// Writes the thresholds of a layer.
        threshold_write_i: In = bit(),
        /// That layer.
        threshold_layer_i: In = uint(index_width(u64::from(p.layers))),
        /// Keys whose magnitude is below become 0.
        threshold_k_i: In = uint(8),
        /// Values whose magnitude is below become 0.
        threshold_v_i: In = uint(8),
        /// A tile of keys and one of values; lanes from `length` on are taken as 0.
        tile: OldInStream = stream()
            .field("layer", uint(index_width(u64::from(p.layers))))
            .field("length", uint(bits_for(u64::from(p.lanes))))
            .array("k", sint(8).array(p.lanes))
            .array("v", sint(8).array(p.lanes))
            .field("last", bit()),
        /// Pruned keys.
        k: OldOutStream = p.pruned(),
        /// Pruned values.
        v: OldOutStream = p.pruned(),
    }
}

old_parameters!(PruningUnit);

impl Block for PruningUnit {
    type Ports = PruningUnitPorts;
    const ABOUT: About = About {
        name: "pruning_unit",
        summary: "prunes key and value tiles by magnitude and extracts what is not zero",
        contract: "per side: index[i] = i < length and |x[i]| >= threshold of the layer and x[i] != 0; values are the elements with\n\
            index 1, in order from lane 0 on, 0 above; count is their number. Thresholds are unsigned, |-128| is 128.\n\
            Latency 2 cycles, one tile a cycle. Thresholds are undefined until written.",
        reference: "Titanus, section 4.3",
    };

    fn module_name(&self) -> String {
        format!("pruning_unit_l{}_y{}", self.lanes, self.layers)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("lanes", self.lanes, 2..=256)?;
        ensure_param("layers", self.layers, 1..=1024)
    }

    fn build(&self, m: &mut Module, io: &PruningUnitPorts) {
        let table = m.memory("thresholds", self.layers.max(2), 16, 16);
        table.write(io.threshold_write_i, io.threshold_layer_i, cat(&[io.threshold_v_i, io.threshold_k_i]));
        let thresholds = table.read_async("threshold", io.tile.field("layer"));
        // Both sides take the tile in the same cycle.
        let both = m.net("both_ready", bit());
        let offered = m.wire("offered", io.tile.valid & both);
        let sides = [("k", &io.k, 0), ("v", &io.v, 8)];
        let pipelines = sides.map(|(name, out, low)| {
            let side = Side { name, out, threshold: thresholds.slice(low..low + 8) };
            self.side(m, io, &side, offered)
        });
        m.connect(both, pipelines[0].ready & pipelines[1].ready);
        m.connect(io.tile.ready, both);
        m.formal(|m| {
            for (pipeline, (name, out, _)) in pipelines.iter().zip(sides) {
                pipeline.assert_order(m, name, io.tile.fire(), out.fire());
            }
        });
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("latency".into(), 2), ("cycles_per_tile".into(), 1)]
    }
}

/// Keys or values.
struct Side<'a> {
    name: &'a str,
    out: &'a OldStream,
    threshold: Signal,
}

impl PruningUnit {
    fn side(&self, m: &mut Module, io: &PruningUnitPorts, side: &Side<'_>, offered: Signal) -> Pipeline {
        let Side { name, out, threshold } = side;
        let named = |what: &str| format!("{name}_{what}");
        let control = Pipeline::new(m, &[&named("pruned"), &named("compacted")], offered, out.ready);
        let [pruned, compacted] = [control.stages[0], control.stages[1]];
        m.connect(out.valid, compacted.valid);
        let last = m.reg(&named("last_q"), bit());
        last.next_when(pruned.load, io.tile.field("last"));
        let out_last = m.reg(&named("out_last_q"), bit());
        out_last.next_when(compacted.load, last.q);
        m.connect(out.field("last"), out_last.q);

        let compactor: CompactorPorts =
            m.instance(&format!("u_{name}_compactor"), Compactor { lanes: self.lanes, width: 8 });
        let data = io.tile.array(name);
        let length = io.tile.field("length");
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
            m.connect(out.array("index").at(lane), out_index.q);
            let out_value = m.reg(&named("out_value_q"), uint(8));
            out_value.next_when(compacted.load, compactor.data_o.at(lane));
            m.connect(out.array("values").at(lane), out_value.q.as_sint());
        });
        let count = m.reg(&named("out_count_q"), uint(index_bits(self.lanes)));
        count.next_when(compacted.load, compactor.count_o);
        m.connect(out.field("count"), count.q);
        control
    }
}

impl Default for PruningUnit {
    fn default() -> Self {
        Self { lanes: 32, layers: 12 }
    }
}

impl CatalogBlock for PruningUnit {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "lanes", allowed: "2 to 256", meaning: "elements of a tile, of keys and of values each" },
        OldParameter { name: "layers", allowed: "1 to 1024", meaning: "layers with thresholds of their own" },
    ];

    fn configurations() -> Vec<Self> {
        [(2, 1), (5, 3), (16, 12)].map(|(lanes, layers)| Self { lanes, layers }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { lanes: 2, layers: 1 }, depth: 8, cover_depth: 10, induction: true }]
    }
}
