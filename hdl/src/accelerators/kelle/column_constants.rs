//! Scales and biases of the columns of a group, as they come from memory.

use super::kelle_spec::KelleSpec;
use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::bus::RowBeat;
use crate::blocks::common::stream::StreamWidthConverter;
use crate::lang::{
    About, Block, In, InStream, Module, Out, OutArray, bit, bits_for, index_width, mux, parameters, ports, select, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ColumnConstants {
        /// Sizes.
        spec: KelleSpec = KelleSpec::default();
    }
    rules = |p, rules| rules.part("spec", &p.words());
}

impl ColumnConstants {
    fn words(&self) -> StreamWidthConverter {
        let spec = &self.spec;
        StreamWidthConverter { input_width: spec.axi.data_width, output_width: 64 * spec.lanes(), granule: 8 }
    }

    /// Beats of a group.
    fn beats(&self) -> u32 {
        self.spec.columns / self.spec.lanes()
    }
}

ports! {
    /// Ports of [`ColumnConstants`].
    pub struct ColumnConstantsPorts(p: &ColumnConstants) {
        /// Drops all.
        clear_i: In = bit(),
        /// A product begins; the one before has ended.
        begin_i: In = bit(),
        /// Columns of it; steady from begin_i up to the last group.
        columns_i: In = uint(16),
        /// One row: of each column scale and bias, fp32.
        input: InStream<RowBeat> = p.spec.axi.clone(),
        /// The constants of the group are here.
        valid_o: Out = bit(),
        /// Beat of columns that is looked at.
        beat_i: In = uint(index_width(p.beats().into())),
        /// Scales of its columns.
        scale_o: OutArray = uint(32).array(p.spec.lanes()),
        /// Biases of its columns.
        bias_o: OutArray = uint(32).array(p.spec.lanes()),
        /// Columns of it that exist.
        used_o: Out = uint(bits_for(p.spec.lanes().into())),
        /// The group is not needed any more.
        next_i: In = bit(),
    }
}

impl Block for ColumnConstants {
    type Ports = ColumnConstantsPorts;
    const ABOUT: About = About {
        name: "column_constants",
        summary: "scales and biases of a group of columns",
        contract: "Groups with one column per column of the array, in order; constants of columns that do not exist\n\
            mean nothing.",
        reference: "Kelle, section 5",
    };

    fn build(&self, m: &mut Module, io: &ColumnConstantsPorts) {
        let (beat, beats) = (self.spec.lanes(), self.beats());
        let words = m.instance("u_words", self.words());
        m.connect(words.clear_i, io.clear_i | io.begin_i);
        rows_to_words(m, "row", &io.input, &words);
        m.unused(words.output.strobe);
        m.unused(words.output.last);

        m.comment("Columns from this group on, and beats of it that are here.");
        let left = m.reg("left_q", uint(16));
        let columns = self.spec.columns;
        left.next(select(&[(io.begin_i, io.columns_i), (io.next_i, left.q.wrapping_sub(columns))], left.q));
        let filled_ty = uint(bits_for(beats.into()));
        let filled = m.reg_init("filled_q", filled_ty, 0);
        let whole = m.wire("whole", left.q.ge(columns));
        let rest = left.q.slice(0..bits_for(columns.into())) + (beat - 1);
        let needed = rest.slice(beat.trailing_zeros()..rest.width());
        let fit = |s: crate::lang::Signal| {
            if s.width() > filled_ty.width { s.truncate(filled_ty.width) } else { s.extend(filled_ty.width) }
        };
        let needed = m.wire("needed", mux(whole, filled_ty.lit(beats), fit(needed)));
        let valid = m.wire("valid", filled.q.eq(needed) & needed.any());
        m.connect(io.valid_o, valid);
        m.connect(words.output.ready, !valid & !io.begin_i & !io.clear_i);
        let fills = m.wire("fills", words.output.fire());
        let none = filled_ty.lit(0);
        let drops = io.clear_i | io.begin_i | io.next_i;
        filled.next(select(&[(drops, none), (fills, filled.q.wrapping_add(1))], filled.q));
        let kept = m.regs("kept", uint(64 * beat), beats);
        m.for_each("kept", beats, |m, k| {
            let here = m.wire("here", fills & filled.q.eq(k.value(filled_ty.width)));
            kept.next_when(m, k, here, words.output.data.data);
        });
        let now = m.wire("now", kept.q.at(io.beat_i));
        let pairs = m.split("pairs", now, uint(64).array(beat));
        m.for_each("pair", beat, |m, k| {
            let pair = m.wire("pair_here", pairs.at(k));
            m.connect(io.scale_o.at(k), pair.slice(0..32));
            m.connect(io.bias_o.at(k), pair.slice(32..64));
        });
        let used_ty = io.used_o.ty();
        // Columns before this beat.
        let before = io.beat_i.extend(16).shl(beat.trailing_zeros()).slice(0..16);
        let before = if beats == 1 { uint(16).lit(0) } else { before };
        let none = m.wire("none", before.ge(left.q));
        let here = m.wire("left_here", left.q.wrapping_sub(before));
        let all = here.ge(beat);
        let some = here.slice(0..used_ty.width);
        m.connect(io.used_o, select(&[(none, used_ty.lit(0)), (all, used_ty.lit(beat))], some));
        if beats == 1 {
            m.unused(io.beat_i);
        }
    }
}
