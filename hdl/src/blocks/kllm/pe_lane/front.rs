//! How beats of activations meet their weights, and the marks of each beat on its way to the columns.

use super::PeLane;
use super::banks::LaneBanks;
use super::outliers::Taken;
use super::streams::PeLanePorts;
use crate::blocks::common::arith::popcount;
use crate::blocks::common::row::held;
use crate::lang::{Array, Module, Signal, bit, bits_for, cat, mux, uint};

/// Properties of a beat beside its indices.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub valid: Signal,
    pub start: Signal,
    pub high: Signal,
    pub last: Signal,
    /// An error occurred up to this beat.
    pub error: Signal,
    /// An outlier without a value occurred up to this beat; not known of beats just taken.
    pub special: Option<Signal>,
}

/// The stream of activations and what it does with banks.
pub(super) struct Front {
    /// A beat is taken.
    pub take: Signal,
    /// The weights of the beat that was taken before.
    pub word: Array,
    /// The beat that was taken before.
    pub mark: Mark,
    /// To be driven: products of a codebook are on their way.
    pub building: Signal,
    pub index: Array,
    pub present: Array,
    /// The outlier of the beat that was taken before.
    pub outlier: Option<Taken>,
}

impl PeLane {
    /// Fills banks, and takes a beat when its weights are there.
    pub(super) fn front(&self, m: &mut Module, io: &PeLanePorts, enable: Signal) -> Front {
        m.comment("Weights: banks that are filled and used in turn.");
        let banks = m.instance("u_weights", LaneBanks { lane: self.clone() });
        let address = self.ram().address();
        let (zero, top) = (address.lit(0), address.lit(self.buffer - 1));
        m.connect(banks.clear_i, io.clear_i);
        m.connect_stream(&banks.weights, &io.weights);

        m.comment("Activations: not while a codebook changes.");
        let building = m.net("building", bit());
        let ready = enable & banks.valid_o & !io.codebook.valid & !building & !io.clear_i;
        m.connect(io.activations.ready, ready);
        let take = m.wire("take", io.activations.fire());
        let at = m.reg_init("address_q", address, 0);
        let ends = io.activations.end | io.activations.last | at.q.eq(top);
        let again = io.activations.again;
        let ends = m.wire("ends", again.map_or(ends, |again| ends & !again));
        let moves = again.map_or(take, |again| take & !again);
        at.next(mux(io.clear_i | (take & ends), zero, mux(moves, at.q.wrapping_add(1), at.q)));
        m.connect(banks.read_i, take);
        m.connect(banks.address_i, at.q);
        let freed = m.wire("freed", take & ends & !io.activations.keep);
        m.connect(banks.free_i, freed);

        let apart = m.wire("apart", ends & at.q.ne(banks.end_o));
        let outlier = self.take_outlier(m, io, take);
        // A position that does not exist.
        let nowhere =
            io.activations.position.filter(|_| self.inputs < 1 << self.position_width()).map(|p| p.ge(self.inputs));
        let nowhere =
            nowhere.zip(io.activations.outlier).map(|(nowhere, outlier)| m.wire("nowhere", nowhere & outlier));

        let index = m.regs("index", uint(self.a_bits), self.inputs);
        let present = m.regs("present", bit(), self.inputs);
        m.for_each("taken", self.inputs, |m, i| {
            index.next_when(m, i, take, io.activations.index.at(i));
            present.next_when(m, i, take, io.activations.present.at(i));
        });
        let open = m.reg_init("open_q", bit(), 0);
        open.next(mux(take, !io.activations.last, open.q) & !io.clear_i);
        let valid = m.reg_init("taken_q", bit(), 0);
        valid.next(mux(enable, take, valid.q) & !io.clear_i);
        let mut keep = |name: &str, value: Signal| {
            let kept = m.reg(name, bit());
            kept.next_when(take, value);
            kept.q
        };
        let mark = Mark {
            valid: valid.q,
            start: keep("start_q", !open.q),
            high: keep("high_q", io.activations.high),
            last: keep("last_q", io.activations.last),
            error: keep("apart_q", nowhere.map_or(apart, |nowhere| apart | nowhere)),
            special: None,
        };
        let word = m.split("word", banks.word_o, uint(self.w_bits).array(self.columns * self.inputs));
        Front { take, word, mark, building, index: index.q, present: present.q, outlier }
    }

    /// The beats on their way, from the one that was taken last to the one that is added to the columns. An error marks
    /// all later beats too.
    pub(super) fn marks(&self, m: &mut Module, io: &PeLanePorts, front: &Front, enable: Signal) -> Vec<Mark> {
        let mut marks = vec![front.mark];
        m.comment("Present pairs of a column; pairs of high beats count 16.");
        let limit = 17 * self.k;
        let ty = uint(bits_for(u64::from(limit) + 16 * u64::from(self.inputs)));
        let present = popcount::ones(m, "pairs_present", &front.present.elements()).extend(ty.width);
        let now = m.reg("pairs_now_q", ty);
        now.next_when(enable, mux(front.mark.high, present.shl(4).truncate(ty.width), present));
        let pairs = m.reg("pairs_q", ty);
        let wrong = m.reg("wrong_q", bit());
        for stage in 1..=self.column().latency() {
            let before = marks[marks.len() - 1];
            let valid = m.reg_init(&format!("valid_{stage}_q"), bit(), 0);
            valid.next(mux(enable, before.valid, valid.q) & !io.clear_i);
            if stage == 2 {
                let sum = mux(before.start, ty.lit(0), pairs.q).wrapping_add(now.q);
                pairs.next_when(before.valid & enable, sum);
            }
            let names = ["start", "high", "last", "error", "special"];
            let fields: Vec<Signal> =
                [before.start, before.high, before.last, before.error].into_iter().chain(before.special).collect();
            let kept: Vec<Signal> = if stage > 2 {
                // Nobody looks at them on the way: one word.
                let word = held(m, &format!("mark_{stage}"), cat(&fields), 1, enable);
                (0..word.width()).rev().map(|at| word.bit(at)).collect()
            } else {
                let one = |(name, &value): (&&str, &Signal)| {
                    let kept = m.reg(&format!("{name}_{stage}_q"), bit());
                    kept.next_when(enable, value);
                    kept.q
                };
                names.iter().zip(&fields).map(one).collect()
            };
            let mut mark = Mark {
                valid: valid.q,
                start: kept[0],
                high: kept[1],
                last: kept[2],
                error: kept[3],
                special: kept.get(4).copied(),
            };
            if stage == 2 {
                let told = self.tell(m, front.outlier, (before.start, before.valid), enable);
                let error = mark.error | pairs.q.gt(limit) | (!mark.start & wrong.q);
                let error = told.as_ref().map_or(error, |told| error | told.too_many);
                mark.special = told.map(|told| told.special);
                mark.error = m.wire("wrong", error);
                wrong.next_when(mark.valid & enable, mark.error);
            }
            marks.push(mark);
        }
        marks
    }
}
