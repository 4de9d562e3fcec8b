//! KV compressor: pruning unit, quantization units and packers for keys and values, from tiles to bytes.

use serde::{Deserialize, Serialize};

use super::kv_packer::check_format;
use super::pruning_unit::KvTile;
use super::quantization_unit::SequenceStart;
use super::tiles::PrunedTile;
use super::{
    KvPacker, KvPackerPorts, PruningUnit, PruningUnitPorts, QuantizationUnit, QuantizationUnitPorts, bits_type,
};
use crate::lang::{
    About, Block, CatalogBlock, In, InStream, Module, OldOutStream, OldParameter, OldStream, OldStreamType, Out,
    ParamError, Signal, Stream, bit, ensure_param, index_width, old_parameters, ports, stream, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KvCompressor {
    /// Channels of a tile.
    pub lanes: u32,
    /// Tiles of a token.
    pub tiles: u32,
    /// Levels that a channel may have.
    pub levels: u32,
    /// Tokens that the quantization buffers hold.
    pub buffer_tokens: u32,
    /// Layers with thresholds and widths of their own.
    pub layers: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
}

impl KvCompressor {
    fn layer_bits(&self) -> u32 {
        index_width(u64::from(self.layers))
    }

    fn block(&self) -> OldStreamType {
        stream().field("data", uint(8 * self.block_bytes)).field("last", bit())
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
        k: OldOutStream = p.block(),
        /// Blocks of values.
        v: OldOutStream = p.block(),
        /// A key was out of tolerance when its channel had no level left, since the start.
        overflow_k_o: Out = bit(),
        /// The same of values.
        overflow_v_o: Out = bit(),
    }
}

old_parameters!(KvCompressor);

impl Block for KvCompressor {
    type Ports = KvCompressorPorts;
    const ABOUT: About = About {
        name: "kv_compressor",
        summary: "from int8 keys and values to pruned, quantized, packed bytes",
        contract: "pruning_unit, then for keys and for values quantization_unit and kv_packer. The two sides start together and share\n\
            the input; each has a stream of blocks of its own.",
        reference: "Titanus, figure 4",
    };

    fn module_name(&self) -> String {
        format!(
            "kv_compressor_l{}_t{}_n{}_b{}_y{}_k{}",
            self.lanes, self.tiles, self.levels, self.buffer_tokens, self.layers, self.block_bytes
        )
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("layers", self.layers, 1..=1024)?;
        check_format(self.lanes, self.block_bytes)?;
        self.quantization().old_check()
    }

    fn build(&self, m: &mut Module, io: &KvCompressorPorts) {
        let pruning: PruningUnitPorts = m.instance("u_pruning", self.pruning());
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

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("pruning".into(), 2), ("quantization".into(), 3), ("packing".into(), 2)]
    }
}

/// Keys or values.
struct Side<'a> {
    name: &'a str,
    bits: Signal,
    from: &'a Stream<PrunedTile>,
    to: &'a OldStream,
    overflow: Signal,
}

impl KvCompressor {
    /// Returns whether the side can start.
    fn side(&self, m: &mut Module, io: &KvCompressorPorts, side: &Side<'_>, both: Signal) -> Signal {
        let name = side.name;
        let unit: QuantizationUnitPorts = m.instance(&format!("u_{name}_quantization"), self.quantization());
        m.connect(unit.bits_write_i, io.config_write_i);
        m.connect(unit.bits_layer_i, io.config_layer_i);
        m.connect(unit.bits_i, side.bits);
        m.connect(unit.start.valid, io.start.valid & both);
        m.connect(unit.start.layer, io.start.layer);
        m.connect(unit.start.prefill, io.start.prefill);
        m.connect_stream(&unit.tile, side.from);
        let packer: KvPackerPorts =
            m.instance(&format!("u_{name}_packer"), KvPacker { lanes: self.lanes, block_bytes: self.block_bytes });
        let (to, from) = (&packer.tile, &unit.result);
        m.connect(to.valid, from.valid);
        m.connect(from.ready, to.ready);
        for (field, value) in [("bits", from.bits), ("initial", from.initial), ("last", from.last)] {
            m.connect(to.field(field), value);
        }
        for (field, values) in [
            ("index", from.index),
            ("label", from.label),
            ("values", from.values),
            ("open", from.open),
            ("range", from.range),
            ("zero", from.zero),
        ] {
            m.connect_each(&format!("{name}_{field}"), to.array(field), values);
        }
        m.connect_old_stream(side.to, &packer.block);
        m.connect(side.overflow, unit.overflow_o);
        unit.start.ready
    }
}

impl Default for KvCompressor {
    fn default() -> Self {
        Self { lanes: 32, tiles: 2, levels: 16, buffer_tokens: 32, layers: 12, block_bytes: 64 }
    }
}

impl CatalogBlock for KvCompressor {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "lanes", allowed: "2 to 64", meaning: "channels of a tile" },
        OldParameter { name: "tiles", allowed: "1 to 4096", meaning: "tiles of a token" },
        OldParameter { name: "levels", allowed: "1 to 256", meaning: "levels that a channel may have" },
        OldParameter {
            name: "buffer_tokens",
            allowed: "1 to 65535 / tiles",
            meaning: "tokens that a prefill buffer holds",
        },
        OldParameter { name: "layers", allowed: "1 to 1024", meaning: "layers with a configuration of their own" },
        OldParameter {
            name: "block_bytes",
            allowed: "max(2 + 10 lanes, lanes + 18 ceil(lanes / 2)) / 8, rounded up, to 256",
            meaning: "bytes of a block",
        },
    ];

    fn configurations() -> Vec<Self> {
        vec![Self { lanes: 5, tiles: 3, levels: 4, buffer_tokens: 6, layers: 3, block_bytes: 8 }]
    }
}
