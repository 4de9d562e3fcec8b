//! Tokens of each head in order of age, and the row of each; then the free rows.
//!
//! A list is an order of all rows of its head. The first rows hold tokens, the oldest first; the next token takes the
//! row after them. When a token goes, later tokens move up, and its row comes to the end of the rows in use.

use super::attention_spec::AttentionSpec;
use crate::accelerators::sizes::fit;
use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{About, Block, In, Module, Out, Signal, Timing, bit, mux, parameters, ports, select, uint};

parameters! {
    /// Elaboration parameters.
    pub struct TokenList {
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
    }
}

ports! {
    /// Ports of [`TokenList`].
    pub struct TokenListPorts(p: &TokenList) {
        /// The head; steady while anything is done.
        head_i: In = p.spec.head(),
        /// Read the row at a position.
        read_i: In = bit(),
        /// The position.
        position_i: In = p.spec.position(),
        /// The row read last, of all rows of the cache; from the cycle after the read on.
        row_o: Out = p.spec.row(),
        /// Read another one.
        other_read_i: In = bit(),
        /// Its position.
        other_position_i: In = p.spec.position(),
        /// Its row, likewise.
        other_row_o: Out = p.spec.row(),
        /// Put `entry_i` at position `entry_i`. Doing that for all positions, while nothing else goes on, empties a
        /// head.
        reset_i: In = bit(),
        /// The entry.
        entry_i: In = p.spec.position(),
        /// The token at a position goes. Nothing is read from then on until the end of busy_o.
        remove_i: In = bit(),
        /// The position.
        victim_i: In = p.spec.position(),
        /// Position of the youngest token; steady until the end of busy_o.
        youngest_i: In = p.spec.position(),
        /// Tokens move up.
        busy_o: Out = bit(),
        /// For one cycle, in the first cycle of busy_o but one: the row that is free now.
        freed_o: Out = bit(),
        /// The row.
        freed_row_o: Out = p.spec.row(),
    }
}

impl Block for TokenList {
    type Ports = TokenListPorts;
    const ABOUT: About = About {
        name: "token_list",
        summary: "tokens of heads in order of age, and rows that are free",
        contract: "An order of all rows of each head. remove_i: positions after victim_i move up by one, up to\n\
            youngest_i, which gets the row of the victim. That takes youngest_i - victim_i + 2 cycles. A reset in\n\
            between leaves a list unknown until it is emptied.",
        reference: "Kelle, section 5.1, figure 10",
    };

    fn build(&self, m: &mut Module, io: &TokenListPorts) {
        let spec = &self.spec;
        let (entries, position) = (spec.entries(), spec.position());
        let ram = Ram::words(spec.rows().max(2), position.width, RamImplementation::Inferred);
        let width = spec.row().width;
        let base = m.wire("base", fit(io.head_i * entries, width));
        let at = |place: Signal| base.wrapping_add(fit(place, width));
        let [list, other] = ["u_list", "u_other"].map(|name| m.instance(name, ram.clone()));
        m.connect(io.row_o, at(list.data_o));
        m.connect(io.other_row_o, at(other.data_o));

        let state = m.fsm("state", &["Idle", "First", "Move", "Last"]);
        let here = m.reg("here_q", position);
        let victim = m.reg("victim_row_q", position);
        let (first, moves, last) = (state.is("First"), state.is("Move"), state.is("Last"));
        let at_end = m.wire("at_end", here.q.eq(io.youngest_i));
        here.next(mux(io.remove_i, io.victim_i, mux(moves, here.q.wrapping_add(1), here.q)));
        victim.next_when(first, list.data_o);
        m.connect(io.busy_o, !state.is("Idle"));
        m.connect(io.freed_o, first);
        m.connect(io.freed_row_o, at(list.data_o));

        m.comment("The victim is read first; then each later token is read, and written one place up.");
        let next = m.wire("next", here.q.wrapping_add(1));
        let reads = m.wire("reads", io.read_i | io.remove_i | first | moves);
        // While a token is written up, the position two after its new one is read.
        let after = m.wire("after", next.wrapping_add(1));
        let busy_place = mux(first, next, after);
        let place = select(&[(io.remove_i, io.victim_i), (first | moves, busy_place)], io.position_i);
        m.connect(list.read_i, reads);
        m.connect(list.read_address_i, at(place));
        m.connect(other.read_i, io.other_read_i);
        m.connect(other.read_address_i, at(io.other_position_i));
        let writes = m.wire("writes", io.reset_i | moves | last);
        let place = m.wire("write_place", mux(io.reset_i, io.entry_i, here.q));
        let entry = m.wire("entry", select(&[(io.reset_i, io.entry_i), (last, victim.q)], list.data_o));
        for copy in [&list, &other] {
            m.connect(copy.write_i, writes);
            m.connect(copy.write_address_i, at(place));
            m.connect(copy.data_i, entry);
        }
        let nearly = m.wire("nearly_at_end", next.eq(io.youngest_i));
        state.goto("Idle", io.remove_i, "First");
        state.goto("First", at_end, "Last");
        state.goto("First", bit().lit(1), "Move");
        state.goto("Move", nearly, "Last");
        state.goto("Last", bit().lit(1), "Idle");
        self.properties(m, io);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl TokenList {
    /// The section keeps the lists in registers, which change at once. A read returns their rows, and each list is an
    /// order of all rows of its head.
    fn properties(&self, m: &mut Module, io: &TokenListPorts) {
        let (spec, position) = (&self.spec, self.spec.position());
        let (entries, places) = (spec.entries(), spec.rows());
        if places > 12 {
            return;
        }
        let wide = 8;
        m.formal(|m| {
            let bases: Vec<_> = (0..spec.heads).map(|h| (io.head_i.eq(h), uint(wide).lit(h * entries))).collect();
            let base = m.wire("formal_base", select(&bases, uint(wide).lit(0)));
            let at = |place: Signal| base.wrapping_add(place.extend(wide));
            m.comment("The environment: existing places; nothing else while a token goes.");
            for (name, place) in [
                ("position", io.position_i),
                ("other_position", io.other_position_i),
                ("entry", io.entry_i),
                ("victim", io.victim_i),
                ("youngest", io.youngest_i),
            ] {
                m.assume(&format!("{name}_exists"), place.lt(entries));
            }
            m.assume("head_exists", io.head_i.lt(spec.heads));
            let busy = io.busy_o;
            m.assume("emptied_alone", !io.reset_i | (!busy & !io.remove_i));
            m.assume("goes_alone", !io.remove_i | !busy);
            m.assume("read_alone", !(io.read_i | io.other_read_i) | (!busy & !io.remove_i & !io.reset_i));
            m.assume("victim_is_there", !io.remove_i | io.victim_i.le(io.youngest_i));
            let before = |m: &mut Module, name: &str, value: Signal| {
                let kept = m.reg(name, value.ty());
                kept.next(value);
                kept.q
            };
            let head = before(m, "formal_head_q", io.head_i);
            let youngest = before(m, "formal_youngest_q", io.youngest_i);
            m.assume("head_is_steady", !busy | head.eq(io.head_i));
            m.assume("youngest_is_steady", !busy | youngest.eq(io.youngest_i));

            m.comment("The lists.");
            let list = m.regs("formal_list", position, places);
            let known = m.regs_init("formal_known", bit(), places, 0);
            let victim = m.wire("formal_victim", list.q.at(at(io.victim_i)));
            for h in 0..spec.heads {
                let mine = io.head_i.eq(h);
                let all = (0..entries).fold(bit().lit(1), |all, k| all & known.q.at(h * entries + k));
                let all = m.wire(&format!("formal_all_{h}"), all);
                m.assume(&format!("list_{h}_is_known"), !(io.remove_i & mine) | all);
                for k in 0..entries {
                    let here = h * entries + k;
                    let set = io.reset_i & mine & io.entry_i.eq(k);
                    let behind = io.remove_i & mine & io.victim_i.le(k) & io.youngest_i.gt(k);
                    let last = io.remove_i & mine & io.youngest_i.eq(k);
                    let after = list.q.at(h * entries + (k + 1) % entries);
                    let value = select(&[(set, io.entry_i), (behind, after), (last, victim)], list.q.at(here));
                    list.next(m, here, value);
                    let begins = io.reset_i & mine & !io.entry_i.any();
                    let new = m.wire(&format!("formal_new_{h}_{k}"), !known.q.at(here));
                    m.assume(&format!("head_{h}_from_its_first_on_{k}"), !set | begins | new);
                    known.next(m, here, set | (known.q.at(here) & !begins));
                    for other in 0..k {
                        let differ = list.q.at(here).ne(list.q.at(h * entries + other));
                        m.assert_always(&format!("rows_of_{h}_differ_{other}_{k}"), !all | differ);
                    }
                }
            }

            m.comment("What is read.");
            for (name, read, place, row) in [
                ("list", io.read_i, io.position_i, io.row_o),
                ("other", io.other_read_i, io.other_position_i, io.other_row_o),
            ] {
                let due = m.reg_init(&format!("formal_{name}_due_q"), bit(), 0);
                due.next(read & known.q.at(at(place)));
                let entry = before(m, &format!("formal_{name}_entry_q"), list.q.at(at(place)));
                let right = row.extend(wide).eq(at(entry));
                m.assert_always(&format!("{name}_is_read"), !due.q | head.ne(io.head_i) | right);
            }
            let gone = m.reg("formal_gone_q", position);
            gone.next_when(io.remove_i, victim);
            m.assert_always("the_victims_row_is_free", !io.freed_o | io.freed_row_o.extend(wide).eq(at(gone.q)));
            let left = m.reg_init("formal_left_q", uint(wide), 0);
            let span = io.youngest_i.extend(wide).wrapping_sub(io.victim_i.extend(wide)).wrapping_add(2);
            left.next(select(&[(io.remove_i, span), (left.q.any(), left.q.wrapping_sub(1))], left.q));
            m.assert_always("takes_its_time", busy.eq(left.q.any()));
            m.cover("the_oldest_goes", io.remove_i & !io.victim_i.any() & io.youngest_i.eq(entries - 1));
            m.cover("the_youngest_goes", io.remove_i & io.victim_i.any() & io.youngest_i.eq(io.victim_i));
        });
    }
}
