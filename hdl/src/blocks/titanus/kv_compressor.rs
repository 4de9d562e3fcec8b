//! KV compressor: pruning unit, quantization units and packers for keys and values, from tiles to bytes.

use super::format::demand_chunk_fits;
use super::pruning_unit::KvTile;
use super::quantization_unit::SequenceStart;
use super::quantization_unit::layer_is_there;
use super::{
    ByteBlock, KvPacker, KvPackerPorts, OpenTail, PrunedTile, PruningUnit, QuantizationUnit, QuantizationUnitPorts,
    bits_type,
};
use crate::blocks::common::stream::FifoStorage;
use crate::blocks::common::{StreamFifo, StreamFifoPorts};
use crate::lang::{
    About, Block, Bundle, CatalogBlock, In, InStream, Module, Out, OutBundle, OutStream, Signal, Stream, Timing, bit,
    bits_for, connect_all, index_width, parameters, ports, uint,
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
        /// Adds the CRC-32 of the stream to its blocks and to its open part.
        checksum: bool = false, tag "crc";
        /// Blocks of each side that can wait after its packer: one side's whole stream, if the consumer takes the other
        /// side first.
        spare_blocks: u32 = 0, in 0..=65_535;
    }
    rules = |p, rules| {
        demand_chunk_fits(p.lanes, p.block_bytes, rules);
        let one = p.longest_stream(1);
        rules.doubt(
            p.spare_blocks > 0 && u64::from(p.spare_blocks) < one,
            format!("spare_blocks = {} does not hold the stream of a single token, up to {one} blocks: a consumer that takes \
                     one side first may wait for ever", p.spare_blocks),
        );
        rules.part("buffer_tokens", &p.quantization());
    };
}

impl KvCompressor {
    fn layer_bits(&self) -> u32 {
        index_width(u64::from(self.layers))
    }

    /// Blocks of the longest stream of so many tokens of any kind: the bound of the contract.
    pub(super) fn most_blocks(&self, tokens: u64) -> u64 {
        let [lanes, levels] = [self.lanes, self.levels].map(u64::from);
        let opened = 18 * levels * lanes;
        let bits = 16 + u64::from(self.tiles) * ((2 + 19 * lanes) + tokens * (2 + 11 * lanes) + opened);
        bits.div_ceil(8 * u64::from(self.block_bytes))
    }

    /// Blocks of the longest stream of so many tokens of prefill.
    fn longest_stream(&self, tokens: u64) -> u64 {
        let lanes = u64::from(self.lanes);
        let (levels, token) = (2 + 19 * lanes, 2 + 10 * lanes);
        let bits = 16 + u64::from(self.tiles) * (levels + tokens * token);
        bits.div_ceil(8 * u64::from(self.block_bytes))
    }

    fn packer(&self) -> KvPacker {
        KvPacker { lanes: self.lanes, block_bytes: self.block_bytes, checksum: self.checksum }
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
        /// Writes thresholds and widths of a layer. Thresholds hold for tiles, widths for starts that are taken
        /// afterwards.
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
        /// The last write had a width outside 2 to 8 or a layer that does not exist: the write changed nothing. Valid
        /// from the cycle after a write to the next one; low after reset.
        config_refused_o: Out = bit(),
        /// Starts a sequence: its layer, and how many of its tokens are prefill. A start is taken when the final blocks
        /// of both sides of the sequence before have left; an earlier start waits.
        start: InStream<SequenceStart> = p.layers,
        /// Tiles of keys and values; `last` ends the sequence.
        tile: InStream<KvTile> = p.pruning(),
        /// Blocks of keys.
        k: OutStream<ByteBlock> = (p.block_bytes, p.checksum),
        /// Blocks of values.
        v: OutStream<ByteBlock> = (p.block_bytes, p.checksum),
        /// The part of the open stream of keys that is in no block yet. Valid only while all tiles that were taken are
        /// in this part and in the blocks that left or are offered: not while tiles wait for the end of the prefill.
        tail_k: OutBundle<OpenTail> = (p.block_bytes, p.checksum),
        /// The part of the open stream of values that is in no block yet, likewise.
        tail_v: OutBundle<OpenTail> = (p.block_bytes, p.checksum),
        /// A key was out of tolerance when its channel had no level left. It covers the whole stream when the final
        /// block of keys is offered. It stays until the next start is taken, thus at least until that block has left.
        overflow_k_o: Out = bit(),
        /// A value was; it covers the whole stream when the final block of values is offered.
        overflow_v_o: Out = bit(),
    }
}

impl Block for KvCompressor {
    type Ports = KvCompressorPorts;
    const ABOUT: About = About {
        name: "kv_compressor",
        summary: "from int8 keys and values to pruned, quantized, packed bytes",
        contract: "pruning_unit, then for keys and for values quantization_unit and kv_packer. The two sides start\n\
            together and share the input; each has a stream of blocks of its own. A side whose blocks are not taken\n\
            holds up the input, and so the other side, once spare_blocks and the pipeline are full. Nothing is\n\
            lost, and all goes on when they are taken. A consumer that takes the whole stream of one side before\n\
            the other needs spare_blocks for the longest stream. A stream of m tokens has at most (16 + tiles ((2 +\n\
            19 lanes) + m (2 + 11 lanes) + 18 n lanes)) / (8 block_bytes) blocks, rounded up. n is the most levels\n\
            that a channel opens after the prefill. Only reset breaks off a sequence, at any time. It drops all\n\
            tiles inside and leaves a stream without final block; thresholds and widths stay.",
        reference: "Titanus, figure 4",
    };

    fn build(&self, m: &mut Module, io: &KvCompressorPorts) {
        let pruning = m.instance("u_pruning", self.pruning());
        let known = |bits: Signal| bits.ge(2) & bits.le(8);
        let accepted = known(io.bits_k_i) & known(io.bits_v_i) & layer_is_there(io.config_layer_i, self.layers);
        let accepted = m.wire("config_accepted", accepted);
        let refused = m.reg_init("config_refused_q", bit(), 0);
        refused.next_when(io.config_write_i, !accepted);
        m.connect(io.config_refused_o, refused.q);
        let write = m.wire("config_write", io.config_write_i & accepted);
        m.connect(pruning.threshold_write_i, write);
        m.connect(pruning.threshold_layer_i, io.config_layer_i);
        connect_all!(m, pruning, io, [threshold_k_i, threshold_v_i]);
        m.connect_stream(&pruning.tile, &io.tile);
        m.comment("A sequence begins when both streams of the one before have left.");
        let both = m.net("both_start", bit());
        let started = m.wire("started", io.start.fire());
        m.connect(io.start.ready, both);
        let shared = Shared { write, both, started };
        let (bits, overflow) = (io.bits_k_i, io.overflow_k_o);
        let k = Side { name: "k", bits, from: &pruning.k, to: &io.k, tail: &io.tail_k, overflow };
        let (bits, overflow) = (io.bits_v_i, io.overflow_v_o);
        let v = Side { name: "v", bits, from: &pruning.v, to: &io.v, tail: &io.tail_v, overflow };
        let starts = [k, v].map(|side| self.side(m, io, &side, shared));
        m.connect(both, starts[0] & starts[1]);
    }

    fn timing(&self) -> Timing {
        let stages = [("pruning", 2), ("quantization", 3), ("packing", 2)];
        stages.into_iter().fold(Timing::new(), |timing, (stage, cycles)| {
            timing.phase(stage, cycles, "from a tile in to the same tile out, without pauses")
        })
    }
}

/// Tiles in the stages of pruning and quantization, without the tiles in the buffer: two and three.
const PIPELINE_TILES: u64 = 5;

/// Keys or values.
struct Side<'a> {
    name: &'a str,
    bits: Signal,
    from: &'a Stream<PrunedTile>,
    to: &'a Stream<ByteBlock>,
    tail: &'a OpenTail,
    overflow: Signal,
}

/// Signals that both sides use.
#[derive(Clone, Copy)]
struct Shared {
    write: Signal,
    both: Signal,
    started: Signal,
}

impl KvCompressor {
    /// Returns whether the side can start.
    fn side(&self, m: &mut Module, io: &KvCompressorPorts, side: &Side<'_>, shared: Shared) -> Signal {
        let name = side.name;
        let unit = m.instance(&format!("u_{name}_quantization"), self.quantization());
        m.connect(unit.bits_write_i, shared.write);
        m.unused(unit.bits_refused_o);
        m.connect(unit.bits_layer_i, io.config_layer_i);
        m.connect(unit.bits_i, side.bits);
        m.connect(unit.start.valid, io.start.valid & shared.both);
        connect_all!(m, unit.start, io.start, [layer, prefill]);
        m.connect_stream(&unit.tile, side.from);
        let packer: KvPackerPorts = m.instance(&format!("u_{name}_packer"), self.packer());
        let (from, to) = (&unit.result, &packer.tile);
        m.connect_handshake(to, from);
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
        if self.spare_blocks == 0 {
            m.connect_stream(side.to, &packer.block);
        } else {
            self.spare(m, side, &packer);
        }
        m.connect(side.overflow, unit.overflow_o);
        let open = m.reg_init(&format!("{name}_open_q"), bit(), 0);
        let finished = m.wire(&format!("{name}_finished"), side.to.fire() & side.to.last);
        open.next(shared.started | (open.q & !finished));
        self.tail(m, io, side, &unit, &packer);
        unit.start.ready & !open.q
    }

    /// Blocks that wait to be taken.
    fn spare(&self, m: &mut Module, side: &Side<'_>, packer: &KvPackerPorts) {
        let word = packer.block.data.pack();
        let fifo = StreamFifo { width: word.width(), depth: self.spare_blocks, storage: self.storage(), slack: 0 };
        let fifo: StreamFifoPorts = m.instance(&format!("u_{}_blocks", side.name), fifo);
        m.connect(fifo.clear_i, 0);
        m.unused(fifo.level_o);
        m.unused(fifo.almost_full_o);
        m.connect_handshake(&fifo.input, &packer.block);
        m.connect(fifo.input.data.data, word);
        m.connect_handshake(side.to, &fifo.output);
        let size = (self.block_bytes, self.checksum);
        let block = ByteBlock::unpack(m, &format!("{}_spare", side.name), &size, fifo.output.data.data);
        side.to.data.drive(m, side.name, &block);
    }

    fn storage(&self) -> FifoStorage {
        if self.spare_blocks <= 4 { FifoStorage::Registers } else { FifoStorage::Memory }
    }

    /// The packer's open part, while no tile is on its way there.
    fn tail(
        &self,
        m: &mut Module,
        io: &KvCompressorPorts,
        side: &Side<'_>,
        unit: &QuantizationUnitPorts,
        packer: &KvPackerPorts,
    ) {
        let most = u64::from(self.buffer_tokens * self.tiles) + PIPELINE_TILES;
        let inside = m.reg_init(&format!("{}_inside_q", side.name), uint(bits_for(most)), 0);
        let token = unit.result.valid & !unit.result.initial;
        let packed = m.wire(&format!("{}_packed", side.name), token & packer.tile.ready);
        inside.next(inside.q.wrapping_add(io.tile.fire()).wrapping_sub(packed));
        let tail = &packer.tail;
        let valid = m.wire(&format!("{}_tail_valid", side.name), tail.valid & inside.q.eq(0));
        side.tail.drive(m, side.name, &OpenTail { valid, used: tail.used, data: tail.data, crc: tail.crc });
    }
}

impl CatalogBlock for KvCompressor {
    fn configurations() -> Vec<Self> {
        let odd =
            Self { lanes: 5, tiles: 3, levels: 4, buffer_tokens: 6, layers: 3, block_bytes: 8, ..Self::default() };
        let small =
            Self { lanes: 2, tiles: 1, levels: 2, buffer_tokens: 2, layers: 2, block_bytes: 3, ..Self::default() };
        vec![odd, Self { checksum: true, spare_blocks: 16, ..small }]
    }
}
