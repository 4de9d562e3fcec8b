//! KV compressor: pruning unit, quantization units and packers for keys and values, from tiles to bytes.

use super::format::demand_chunk_fits;
use super::pruning_unit::KvTile;
use super::quantization_unit::SequenceStart;
use super::{ByteBlock, KvPacker, PrunedTile, PruningUnit, QuantizationUnit, bits_type};
use crate::lang::{
    About, Block, CatalogBlock, In, InStream, Module, Out, OutStream, Signal, Stream, Timing, bit, index_width,
    parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct KvCompressor {
        /// Channels of a tile.
        lanes: u32 = 32, in 2..=64, tag "l";
        /// Tiles of a token.
        tiles: u32 = 2, in 1..=4096, tag "t";
        /// Levels that a channel may have.
        levels: u32 = 16, in 1..=256, tag "n";
        /// Tokens that the quantization buffers hold.
        buffer_tokens: u32 = 32, in 1..=65_535, note "at most 65535 / tiles", tag "b";
        /// Layers with thresholds and widths of their own.
        layers: u32 = 12, in 1..=1024, tag "y";
        /// Bytes of a block.
        block_bytes: u32 = 64, in 3..=256,
            note "8 block_bytes at least 2 + 10 lanes and lanes + 18 ceil(lanes / 2)", tag "k";
    }
    rules = |p, rules| {
        demand_chunk_fits(p.lanes, p.block_bytes, rules);
        rules.part("buffer_tokens", &p.quantization());
    };
}

impl KvCompressor {
    fn layer_bits(&self) -> u32 {
        index_width(u64::from(self.layers))
    }

    fn pruning(&self) -> PruningUnit {
        PruningUnit { lanes: self.lanes, layers: self.layers }
    }

    fn quantization(&self) -> QuantizationUnit {
        let Self { lanes, tiles, levels, buffer_tokens, layers, .. } = *self;
        QuantizationUnit { lanes, tiles, levels, buffer_tokens, layers }
    }
}

ports! {
    /// Ports of [`KvCompressor`].
    pub struct KvCompressorPorts(p: &KvCompressor) {
        /// Writes thresholds and widths of a layer.
        config_write_i: In = bit(),
        /// That layer.
        config_layer_i: In = uint(p.layer_bits()),
        /// Pruning threshold of keys.
        threshold_k_i: In = uint(8),
        /// Pruning threshold of values.
        threshold_v_i: In = uint(8),
        /// Width of quantized keys, 2 to 8.
        bits_k_i: In = bits_type(),
        /// Width of quantized values, 2 to 8.
        bits_v_i: In = bits_type(),
        /// Starts a sequence: its layer, and how many of its tokens are prefill.
        start: InStream<SequenceStart> = p.layers,
        /// Tiles of keys and values; `last` ends the sequence.
        tile: InStream<KvTile> = p.pruning(),
        /// Blocks of keys.
        k: OutStream<ByteBlock> = (p.block_bytes, false),
        /// Blocks of values.
        v: OutStream<ByteBlock> = (p.block_bytes, false),
        /// A key was out of tolerance when its channel had no level left, since the start.
        overflow_k_o: Out = bit(),
        /// The same of values.
        overflow_v_o: Out = bit(),
    }
}

impl Block for KvCompressor {
    type Ports = KvCompressorPorts;
    const ABOUT: About = About {
        name: "kv_compressor",
        summary: "from int8 keys and values to pruned, quantized, packed bytes",
        contract: "pruning_unit, then for keys and for values quantization_unit and kv_packer. The two sides start together and share\n\
            the input; each has a stream of blocks of its own.",
        reference: "Titanus, figure 4",
    };

    fn build(&self, m: &mut Module, io: &KvCompressorPorts) {
        let pruning = m.instance("u_pruning", self.pruning());
        m.connect(pruning.threshold_write_i, io.config_write_i);
        m.connect(pruning.threshold_layer_i, io.config_layer_i);
        m.connect(pruning.threshold_k_i, io.threshold_k_i);
        m.connect(pruning.threshold_v_i, io.threshold_v_i);
        m.connect_stream(&pruning.tile, &io.tile);
        let both = m.net("both_start", bit());
        m.connect(io.start.ready, both);
        let k = Side { name: "k", bits: io.bits_k_i, from: &pruning.k, to: &io.k, overflow: io.overflow_k_o };
        let v = Side { name: "v", bits: io.bits_v_i, from: &pruning.v, to: &io.v, overflow: io.overflow_v_o };
        let starts = [k, v].map(|side| self.side(m, io, &side, both));
        m.connect(both, starts[0] & starts[1]);
    }

    fn timing(&self) -> Timing {
        let stages = [("pruning", 2), ("quantization", 3), ("packing", 2)];
        stages.into_iter().fold(Timing::new(), |timing, (stage, cycles)| {
            timing.phase(stage, cycles, "from a tile in to the same tile out, without pauses")
        })
    }
}

/// Keys or values.
struct Side<'a> {
    name: &'a str,
    bits: Signal,
    from: &'a Stream<PrunedTile>,
    to: &'a Stream<ByteBlock>,
    overflow: Signal,
}

impl KvCompressor {
    /// Returns whether the side can start.
    fn side(&self, m: &mut Module, io: &KvCompressorPorts, side: &Side<'_>, both: Signal) -> Signal {
        let name = side.name;
        let unit = m.instance(&format!("u_{name}_quantization"), self.quantization());
        m.connect(unit.bits_write_i, io.config_write_i);
        m.connect(unit.bits_layer_i, io.config_layer_i);
        m.connect(unit.bits_i, side.bits);
        m.connect(unit.start.valid, io.start.valid & both);
        m.connect(unit.start.layer, io.start.layer);
        m.connect(unit.start.prefill, io.start.prefill);
        m.connect_stream(&unit.tile, side.from);
        let packer = m.instance(
            &format!("u_{name}_packer"),
            KvPacker { lanes: self.lanes, block_bytes: self.block_bytes, checksum: false },
        );
        let (from, to) = (&unit.result, &packer.tile);
        m.connect(to.valid, from.valid);
        m.connect(from.ready, to.ready);
        for (from, to) in [(from.bits, to.bits), (from.initial, to.initial), (from.last, to.last)] {
            m.connect(to, from);
        }
        for (field, from, to) in [
            ("index", from.index, to.index),
            ("label", from.label, to.label),
            ("values", from.values, to.values),
            ("open", from.open, to.open),
            ("range", from.range, to.range),
            ("zero", from.zero, to.zero),
        ] {
            m.connect_each(&format!("{name}_{field}"), to, from);
        }
        m.connect_stream(side.to, &packer.block);
        m.connect(side.overflow, unit.overflow_o);
        unit.start.ready
    }
}

impl CatalogBlock for KvCompressor {
    fn configurations() -> Vec<Self> {
        vec![Self { lanes: 5, tiles: 3, levels: 4, buffer_tokens: 6, layers: 3, block_bytes: 8 }]
    }
}
