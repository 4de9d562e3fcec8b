//! Results of a panel of columns: they come group by group, and leave row by row.

use super::sum_lanes::Halves;
use crate::accelerators::sizes::fit;
use crate::blocks::common::stream::Word;
use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{
    About, Block, In, InStream, Module, Out, OutStream, Signal, bit, bits_for, mux, parameters, ports, power_of_two,
    select, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct PanelPages {
        /// Numbers of a beat.
        lanes: u32 = 8, in power_of_two(2..=64), tag "l";
        /// Columns of a group.
        columns: u32 = 32, in power_of_two(2..=256), note "a multiple of lanes", tag "c";
        /// Columns of a panel.
        panel: u32 = 32, in 2..=65_535, note "a multiple of columns", tag "p";
        /// Rows.
        rows: u32 = 64, in 1..=4096, tag "r";
    }
    rules = |p, rules| {
        let (lanes, columns) = (p.lanes, p.columns);
        rules.demand(columns.is_multiple_of(lanes), "columns", columns, format!("a multiple of lanes = {lanes}"));
        let whole = p.panel.is_multiple_of(columns);
        rules.demand(whole, "panel", p.panel, format!("a multiple of columns = {columns}"));
    };
}

impl PanelPages {
    /// Words of a row of a panel.
    fn words(&self) -> u32 {
        self.panel / self.lanes
    }
}

ports! {
    /// Ports of [`PanelPages`].
    pub struct PanelPagesPorts(p: &PanelPages) {
        /// Drops all.
        clear_i: In = bit(),
        /// A product begins; the one before has left.
        begin_i: In = bit(),
        /// Its rows; steady from begin_i up to the last result, as the other sizes.
        rows_i: In = uint(bits_for(p.rows.into())),
        /// Columns.
        columns_i: In = uint(16),
        /// Groups of them.
        groups_i: In = uint(16),
        /// Results: for each group of columns all rows, for each row all columns of the group.
        input: InStream<Halves> = p.lanes,
        /// All results of the product have left.
        empty_o: Out = bit(),
        /// The same numbers: for each panel all rows, for each row all existing columns, packed.
        output: OutStream<Word> = 16 * p.lanes,
    }
}

impl Block for PanelPages {
    type Ports = PanelPagesPorts;
    const ABOUT: About = About {
        name: "panel_pages",
        summary: "results of groups of columns become rows of panels",
        contract: "A panel leaves when all of it is there, and the next one comes meanwhile. Elements after the\n\
            last column of a row are undefined.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &PanelPagesPorts) {
        let (words, panel) = (self.words(), self.panel);
        let (beats, groups) = (self.columns / self.lanes, panel / self.columns);
        let ram = Ram::words(2 * self.rows * words, 16 * self.lanes, RamImplementation::Inferred);
        let pages = m.instance("u_pages", ram.clone());
        let address = ram.address().width;
        let place = |page: Signal, row: Signal, word: Signal| {
            let row = fit(row * words, address);
            let page = fit(page * (self.rows * words), address);
            page.wrapping_add(row).wrapping_add(fit(word, address))
        };
        let restart = m.wire("restart", io.clear_i | io.begin_i);

        m.comment("Where the next result belongs: beat of its group, row, group of its panel.");
        let filled = m.reg_init("filled_q", uint(2), 0);
        m.connect(io.input.ready, !filled.q.bit(1) & !restart);
        let takes = m.wire("takes", io.input.fire());
        let count = |m: &mut Module, name: &str, moves: Signal, last: Signal, width: u32| {
            let at = m.reg_init(name, uint(width), 0);
            let next = mux(last, uint(width).lit(0), at.q.wrapping_add(1));
            at.next(select(&[(restart, uint(width).lit(0)), (moves, next)], at.q));
            at.q
        };
        let ends = m.nets("ends", bit(), 3);
        let row_width = io.rows_i.width();
        let beat = count(m, "beat_q", takes, ends.at(0), bits_for(beats.into()));
        m.connect(ends.at(0), beat.eq(beats - 1));
        let row_moves = m.wire("row_moves", takes & ends.at(0));
        let row = count(m, "row_q", row_moves, ends.at(1), row_width);
        m.connect(ends.at(1), row.wrapping_add(1).eq(io.rows_i));
        let group_moves = m.wire("group_moves", row_moves & ends.at(1));
        let groups_left = m.reg("groups_left_q", uint(16));
        groups_left
            .next(select(&[(io.begin_i, io.groups_i), (group_moves, groups_left.q.wrapping_sub(1))], groups_left.q));
        let group = count(m, "group_q", group_moves, ends.at(2), bits_for(groups.into()));
        m.connect(ends.at(2), group.eq(groups - 1) | groups_left.q.eq(1));
        let page_moves = m.wire("page_moves", group_moves & ends.at(2));
        let page = count(m, "page_q", page_moves, bit().lit(0), 1);
        let word = m.wire("word", fit(group * beats, 16).wrapping_add(fit(beat, 16)));
        m.connect(pages.write_address_i, place(page, row, word));
        m.connect(pages.write_i, takes);
        m.connect(pages.data_i, io.input.values.packed());

        m.comment("A page leaves word by word.");
        let there = m.reg_init("there_q", bit(), 0);
        let left = m.reg("left_q", uint(16));
        let fetches = m.wire("fetches", filled.q.any() & (!there.q | io.output.ready) & !restart);
        let whole = left.q.ge(panel);
        let rest = left.q.slice(0..bits_for(panel.into())) + (self.lanes - 1);
        let word_width = bits_for(words.into());
        let some = fit(rest.slice(self.lanes.trailing_zeros()..rest.width()), word_width);
        let row_words = m.wire("row_words", mux(whole, uint(word_width).lit(words), some));
        let out_ends = m.nets("out_ends", bit(), 2);
        let out_word = count(m, "out_word_q", fetches, out_ends.at(0), word_width);
        m.connect(out_ends.at(0), out_word.wrapping_add(1).eq(row_words));
        let out_moves = m.wire("out_row_moves", fetches & out_ends.at(0));
        let out_row = count(m, "out_row_q", out_moves, out_ends.at(1), row_width);
        m.connect(out_ends.at(1), out_row.wrapping_add(1).eq(io.rows_i));
        let page_leaves = m.wire("page_leaves", out_moves & out_ends.at(1));
        let out_page = count(m, "out_page_q", page_leaves, bit().lit(0), 1);
        left.next(select(&[(io.begin_i, io.columns_i), (page_leaves, left.q.wrapping_sub(panel))], left.q));
        let more = filled.q.wrapping_add(page_moves.extend(2)).wrapping_sub(page_leaves.extend(2));
        filled.next(mux(restart, uint(2).lit(0), more));
        there.next((fetches | (there.q & !io.output.ready)) & !restart);
        m.connect(pages.read_i, fetches);
        m.connect(pages.read_address_i, place(out_page, out_row, out_word));
        m.connect(io.empty_o, !groups_left.q.any() & !filled.q.any() & !there.q);
        m.connect(io.output.valid, there.q);
        m.connect(io.output.data.data, pages.data_o);
    }
}
