//! Rows as they come: into memory, and segment by segment into Orizuru, whose pops mark the outliers.

use super::outlier_share::OutlierShare;
use super::quantizer_spec::{OUTLIERS, QuantizeSize, QuantizerSpec};
use crate::blocks::common::bus::RowBeat;
use crate::blocks::kllm::Pop;
use crate::lang::{
    About, Block, Field, In, InBundle, InStream, Module, Out, OutStream, Signal, Stream, bit, bits_for, bundle,
    index_width, mux, parameters, ports, uint,
};

const STATES: [&str; 4] = ["Load", "Serve", "Judge", "Tell"];

parameters! {
    /// Elaboration parameters.
    pub struct OutlierFinder {
        /// The quantizer.
        spec: QuantizerSpec = QuantizerSpec::default();
    }
    rules = |p, rules| rules.part("spec.orizuru", &p.spec.finder());
}

bundle! {
    /// Results for a row whose outliers are found.
    pub struct TokenHead(_unit: ()) {
        /// The largest magnitude of all other elements, fp16; 0 if there is none.
        scale: Field = uint(16),
        /// Outliers.
        outliers: Field = uint(OUTLIERS),
    }
}

ports! {
    /// Ports of [`OutlierFinder`].
    pub struct OutlierFinderPorts(p: &OutlierFinder) {
        /// Drops everything; the next beat begins a row.
        clear_i: In = bit(),
        /// The rows; steady from clear_i on.
        size: InBundle<QuantizeSize> = (),
        /// Rows of fp16.
        rows: InStream<RowBeat> = p.spec.axi.clone(),
        /// There is room for a row; stays until fill_last_o.
        room_i: In = bit(),
        /// The beat is to be kept, with no element marked.
        keep_o: Out = bit(),
        /// An element of a beat is found; not with keep_o.
        mark_o: Out = bit(),
        /// The beat of the row.
        word_o: Out = uint(index_width(p.spec.beats().max(2).into())),
        /// The element.
        lane_o: Out = uint(index_width(p.spec.lanes().into())),
        /// In the cycle after mark_o: the element was not found before.
        fresh_i: In = bit(),
        /// The row is complete after this cycle.
        fill_last_o: Out = bit(),
        /// Scale and outliers of the row, in the same cycle.
        head: OutStream<TokenHead> = (),
    }
}

/// State of the finder.
struct Control {
    /// A beat is taken.
    moves: Signal,
    /// It is the first one of its segment.
    first: Signal,
    serves: Signal,
    judges: Signal,
}

impl Block for OutlierFinder {
    type Ports = OutlierFinderPorts;
    const ABOUT: About = About {
        name: "outlier_finder",
        summary: "outliers and scale of rows, found while the rows come",
        contract: "In each segment of a row its share of the largest and the smallest elements is marked, each\n\
            element once though both sides may find it. After these pops, the roots of Orizuru bound all elements\n\
            that remain: each lies between the roots, or is equal to both. The scale is the largest magnitude of\n\
            the roots, over the segments that have other elements.",
        reference: "KLLM, sections III-A and IV-C",
    };

    fn build(&self, m: &mut Module, io: &OutlierFinderPorts) {
        let (clear, lanes, n) = (io.clear_i, self.spec.lanes(), self.spec.orizuru);
        let state = m.fsm("state", &STATES);
        let finder = m.instance("u_orizuru", self.spec.finder());
        m.connect(finder.clear_i, clear);

        m.comment("Beats go to memory and to Orizuru, which has a segment at a time.");
        let shares = self.shares(m, io);
        let first = m.reg_init("segment_begins_q", bit(), 1);
        let may = m.wire("may_load", state.is("Load") & io.room_i & (!first.q | shares.ready) & !clear);
        m.connect(finder.load.valid, io.rows.valid & may);
        m.connect(io.rows.ready, finder.load.ready & may);
        let moves = m.wire("moves", io.rows.fire());
        let row_word = m.reg_init("row_word_q", io.word_o.ty(), 0);
        let segment_words = n / lanes;
        let at = m.reg_init("segment_word_q", uint(index_width(segment_words.into())), 0);
        let ends = m.wire("segment_ends", io.rows.row_last | at.q.eq(segment_words - 1));
        let zero = |signal: Signal| signal.ty().lit(0);
        at.next(mux(clear | (moves & ends), zero(at.q), mux(moves, at.q.wrapping_add(1), at.q)));
        first.next(clear | mux(moves, ends, first.q));
        let told = m.wire("told", io.head.fire());
        row_word.next(mux(clear | told, zero(row_word.q), mux(moves, row_word.q.wrapping_add(1), row_word.q)));
        let begins = m.wire("segment_moves", moves & first.q);
        m.connect(shares.next, begins);
        // Where the segment begins in the row.
        let base = m.reg("segment_base_q", row_word.q.ty());
        base.next_when(begins, row_word.q);
        let over = m.reg("row_over_q", bit());
        over.next_when(moves, io.rows.row_last);
        m.unused(io.rows.last);
        let values = m.split("value", io.rows.data.data, uint(16).array(lanes));
        m.connect_each("values", finder.load.data.data, values);
        let elements = m.wire("elements", io.rows.bytes.shr(1));
        if let (Some(present), Some(last)) = (finder.load.present, finder.load.last) {
            m.for_each("present", lanes, |m, i| {
                m.connect(present.at(i), elements.gt(i.value(elements.width())));
            });
            m.connect(last, ends);
        }
        m.connect(io.keep_o, moves);

        m.comment("Pops, one a cycle: all but the last one are marked.");
        let control = Control { moves, first: begins, serves: state.is("Serve"), judges: state.is("Judge") };
        for (to, share) in [(finder.k_max_i, shares.largest), (finder.k_min_i, shares.smallest)] {
            let wide = share.extend(OUTLIERS + 1);
            let wanted = mux(wide.ge(n), uint(OUTLIERS + 1).lit(n), wide.wrapping_add(1));
            m.connect(to, wanted.slice(0..to.width()));
        }
        m.connect(finder.max.ready, control.serves);
        m.connect(finder.min.ready, control.serves & !finder.max.valid);
        let largest = self.side(m, "largest", &control, &finder.max, shares.largest);
        let smallest = self.side(m, "smallest", &control, &finder.min, shares.smallest);
        let index = m.wire("popped", mux(finder.max.valid, finder.max.index, finder.min.index));
        let lane_bits = lanes.ilog2();
        m.connect(io.lane_o, index.slice(0..lane_bits));
        let word = if index.width() > lane_bits { index.slice(lane_bits..index.width()) } else { bit().lit(0) };
        let wide = row_word.q.width().max(word.width());
        let found = base.q.extend(wide).wrapping_add(word.extend(wide)).slice(0..row_word.q.width());
        m.connect(io.word_o, mux(control.serves, found, row_word.q));
        m.connect(io.mark_o, largest.marks | smallest.marks);
        m.unused(finder.done_o);

        self.head(m, io, &control, elements, [largest.root, smallest.root]);
        m.connect(io.head.valid, state.is("Tell"));
        m.connect(io.fill_last_o, told);
        for from in STATES {
            state.goto(from, clear, "Load");
        }
        state.goto("Load", moves & ends, "Serve");
        state.goto("Serve", largest.ended & smallest.ended, "Judge");
        state.goto("Judge", over.q, "Tell");
        state.goto("Judge", true, "Load");
        state.goto("Tell", io.head.ready, "Load");
    }
}

/// Shares of the segment that comes next.
struct Shares {
    ready: Signal,
    /// To be driven: the segment begins.
    next: Signal,
    largest: Signal,
    smallest: Signal,
}

/// A side of Orizuru.
struct PopSide {
    /// An outlier is popped.
    marks: Signal,
    /// All of the side are popped.
    ended: Signal,
    /// The value after the outliers.
    root: Signal,
}

impl OutlierFinder {
    fn shares(&self, m: &mut Module, io: &OutlierFinderPorts) -> Shares {
        let next = m.net("next_segment", bit());
        let [largest, smallest] =
            [("largest", io.size.largest), ("smallest", io.size.smallest)].map(|(name, count)| {
                let u = m.instance(&format!("u_{name}"), OutlierShare::default());
                m.connect(u.clear_i, io.clear_i);
                m.connect(u.count_i, count);
                m.connect(u.segments_i, io.size.segments);
                m.connect(u.next_i, next);
                u
            });
        for unused in [io.size.columns, io.size.beats, io.size.three_bits, io.size.index_beats, io.size.outlier_beats] {
            m.unused(unused);
        }
        let ready = m.wire("shares_ready", largest.ready_o & smallest.ready_o);
        Shares { ready, next, largest: largest.share_o, smallest: smallest.share_o }
    }

    fn side(&self, m: &mut Module, name: &str, control: &Control, pops: &Stream<Pop>, share: Signal) -> PopSide {
        let left = m.reg(&format!("{name}_left_q"), share.ty());
        let takes = m.wire(&format!("{name}_popped"), pops.fire());
        let some = m.wire(&format!("{name}_some"), left.q.any());
        let fewer = mux(takes & some, left.q.wrapping_sub(1), left.q);
        left.next(mux(control.first, share, fewer));
        let root = m.reg(&format!("{name}_root_q"), uint(16));
        root.next_when(takes & !some, pops.value);
        let ended = m.reg(&format!("{name}_ended_q"), bit());
        ended.next((ended.q | (takes & pops.last)) & !control.first);
        PopSide { marks: takes & some, ended: ended.q, root: root.q }
    }

    /// Counts the marked elements, and keeps the largest magnitude of the others.
    fn head(&self, m: &mut Module, io: &OutlierFinderPorts, control: &Control, elements: Signal, roots: [Signal; 2]) {
        let ty = uint(bits_for(self.spec.orizuru.into()));
        let none = ty.lit(0);
        let (inside, marked) = (m.reg("inside_q", ty), m.reg("marked_q", ty));
        let before = mux(control.first, none, inside.q);
        inside.next_when(
            control.moves,
            before.wrapping_add(elements.extend(ty.width.max(elements.width())).slice(0..ty.width)),
        );
        let fresh = io.fresh_i;
        marked.next(mux(control.first, none, marked.q.wrapping_add(fresh.extend(ty.width))));
        let others = m.wire("others", marked.q.ne(inside.q));
        let magnitude = |root: Signal| root.slice(0..15);
        let [largest, smallest] = roots.map(magnitude);
        let most = m.wire("most", mux(largest.gt(smallest), largest, smallest));
        let told = m.wire("leaves", io.head.fire() | io.clear_i);
        let scale = m.reg_init("scale_q", uint(15), 0);
        let larger = m.wire("larger", control.judges & others & most.gt(scale.q));
        scale.next(mux(told, uint(15).lit(0), mux(larger, most, scale.q)));
        let outliers = m.reg_init("outliers_q", uint(OUTLIERS), 0);
        outliers.next(mux(told, uint(OUTLIERS).lit(0), outliers.q.wrapping_add(fresh.extend(OUTLIERS))));
        m.connect(io.head.scale, scale.q.extend(16));
        m.connect(io.head.outliers, outliers.q);
    }
}
