//! Rows of fp16 become tokens: outliers are found in the next row while this one is clustered and leaves.

use super::outlier_finder::{OutlierFinder, TokenHead};
use super::outlier_mask::OutlierMask;
use super::quantizer_spec::{QuantizeSize, QuantizerSpec};
use super::threshold_unit::ThresholdUnit;
use super::token_packer::TokenPacker;
use super::token_scanner::TokenScanner;
use crate::blocks::common::bus::RowBeat;
use crate::blocks::common::stream::{StreamFifo, Word};
use crate::lang::{
    About, Block, Bundle, In, InBundle, InStream, Module, Out, OutStream, bit, bits_for, parameters, ports, uint,
};

/// Tokens between the finder and their last beat: two rows that are kept, and one whose outliers leave.
const TOKENS: u32 = 3;

parameters! {
    /// Elaboration parameters.
    pub struct TokenQuantizer {
        /// Sizes of the quantizer.
        spec: QuantizerSpec = QuantizerSpec::default();
    }
    rules = |p, rules| {
        rules.part("spec", &p.finder());
        rules.part("spec", &p.packer());
        rules.part("spec", &p.thresholds());
        rules.part("spec", &p.mask());
    };
}

impl TokenQuantizer {
    fn finder(&self) -> OutlierFinder {
        OutlierFinder { spec: self.spec.clone() }
    }

    fn mask(&self) -> OutlierMask {
        OutlierMask { depth: self.spec.beats().max(2), lanes: self.spec.lanes() }
    }

    fn thresholds(&self) -> ThresholdUnit {
        ThresholdUnit { axi: self.spec.axi.clone() }
    }

    fn scanner(&self) -> TokenScanner {
        TokenScanner { spec: self.spec.clone() }
    }

    fn packer(&self) -> TokenPacker {
        TokenPacker { spec: self.spec.clone() }
    }
}

ports! {
    /// Ports of [`TokenQuantizer`].
    pub struct TokenQuantizerPorts(p: &TokenQuantizer) {
        /// Drops everything; the next rows are a codebook and the first row.
        clear_i: In = bit(),
        /// The rows; steady from clear_i on.
        size: InBundle<QuantizeSize> = (),
        /// A codebook: one row.
        codebook: InStream<RowBeat> = p.spec.axi.clone(),
        /// Rows of fp16.
        rows: InStream<RowBeat> = p.spec.axi.clone(),
        /// Tokens in their layout in memory.
        write: OutStream<Word> = p.spec.axi.data_width,
        /// Inliers in this cycle that are infinite or no number.
        specials_o: Out = uint(bits_for(p.spec.lanes().into())),
        /// A beat of a row becomes indices in this cycle.
        computing_o: Out = bit(),
    }
}

impl Block for TokenQuantizer {
    type Ports = TokenQuantizerPorts;
    const ABOUT: About = About {
        name: "token_quantizer",
        summary: "rows of fp16 become tokens: outliers, scale, indices",
        contract: "Row after row becomes a token. In each segment of `orizuru` elements its share of the largest\n\
            and the smallest elements stays as it is. The largest magnitude of all others is the scale. Each of the\n\
            others becomes an index, by a binary search among scale x midpoints. Of two rows, one is searched for\n\
            outliers while the other one leaves.",
        reference: "KLLM, sections III-A and IV-C",
    };

    fn build(&self, m: &mut Module, io: &TokenQuantizerPorts) {
        let (clear, size) = (io.clear_i, &io.size);
        let finder = m.instance("u_finder", self.finder());
        let rows = m.instance("u_rows", self.spec.rows());
        let mask = m.instance("u_mask", self.mask());
        let thresholds = m.instance("u_thresholds", self.thresholds());
        let scanner = m.instance("u_scanner", self.scanner());
        let packer = m.instance("u_packer", self.packer());
        for part in [finder.clear_i, rows.clear_i, mask.clear_i, thresholds.clear_i, scanner.clear_i, packer.clear_i] {
            m.connect(part, clear);
        }

        m.comment("A row comes.");
        finder.size.drive(m, "finder_size", size);
        m.connect_stream(&finder.rows, &io.rows);
        m.connect(finder.room_i, rows.fill_ready_o);
        m.connect(rows.write_i, finder.keep_o);
        m.connect(rows.write_address_i, finder.word_o);
        m.connect(rows.data_i, io.rows.data.data);
        m.connect(rows.fill_last_i, finder.fill_last_o);
        m.connect(mask.blank_i, finder.keep_o);
        m.connect(mask.mark_i, finder.mark_o);
        m.connect(mask.word_i, finder.word_o);
        m.connect(mask.lane_i, finder.lane_o);
        m.connect(finder.fresh_i, mask.fresh_o);
        m.connect(mask.fill_last_i, finder.fill_last_o);
        // Two banks, so no row is refused.
        m.unused(rows.refused_o);

        m.comment("Its head goes first.");
        let width = TokenHead::width(&());
        let [scales, heads] = [("u_scales", 16), ("u_heads", width)].map(|(name, width)| {
            let fifo = m.instance(name, StreamFifo::registers(width, TOKENS));
            m.connect(fifo.clear_i, clear);
            m.unused(fifo.level_o);
            m.unused(fifo.almost_full_o);
            fifo
        });
        m.connect(finder.head.ready, scales.input.ready & heads.input.ready);
        m.connect(scales.input.valid, finder.head.valid & heads.input.ready);
        m.connect(heads.input.valid, finder.head.valid & scales.input.ready);
        m.connect(scales.input.data.data, finder.head.scale);
        m.connect(heads.input.data.data, finder.head.data.pack());
        m.connect_stream(&thresholds.codebook, &io.codebook);
        m.connect(thresholds.three_bits_i, size.three_bits);
        m.connect_stream(&thresholds.scale, &scales.output);
        m.connect(thresholds.used_i, scanner.row_done_o);

        m.comment("It becomes indices and outliers.");
        m.connect_pairs([
            (scanner.columns_i, size.columns),
            (scanner.beats_i, size.beats),
            (scanner.go_i, thresholds.there_o),
            (scanner.write_i, thresholds.write_o),
            (scanner.index_i, thresholds.index_o),
            (scanner.threshold_i, thresholds.threshold_o),
            (scanner.mask_i, mask.mask_o),
            (rows.read_i, scanner.read_o),
            (rows.read_address_i, scanner.word_o),
            (rows.use_last_i, scanner.use_last_o),
            (mask.read_i, scanner.read_o),
            (mask.read_word_i, scanner.word_o),
            (mask.use_last_i, scanner.use_last_o),
            (io.specials_o, scanner.specials_o),
            (io.computing_o, scanner.moves_o),
        ]);
        // A scale comes with its row, which stays until it is used.
        m.unused(rows.use_valid_o);
        let values = m.split("value", rows.data_o, uint(16).array(self.spec.lanes()));
        m.connect_each("values", scanner.values_i, values);

        m.comment("And it leaves.");
        let head = TokenHead::unpack(m, "packed_head", &(), heads.output.data.data);
        m.connect_handshake(&packer.heads, &heads.output);
        packer.heads.data.drive(m, "packed_head", &head);
        m.connect_pairs([
            (packer.index_beats_i, size.index_beats),
            (packer.outlier_beats_i, size.outlier_beats),
            (packer.three_bits_i, size.three_bits),
        ]);
        m.connect_stream(&packer.indices, &scanner.indices);
        m.connect_stream(&packer.records, &scanner.records);
        m.connect_stream(&io.write, &packer.write);
    }
}
