//! Proofs of the array (`ifdef FORMAL`). PE (r, c) sees exactly the steps that entered, in their order, r + c cycles
//! later: each rescale between the same two products as in the stream, and zeros in between. The use that a PE makes of
//! them is proved in `tender_pe`. A row starts to move, and shows sums, exactly as long after a last step as the
//! contract says. This holds whatever else enters and whenever a reset comes. A sum of bytes is made of the right four.

use super::super::mesh_pe::MeshPe;
use super::drain::Leaving;
use super::edges::Mesh;
use super::{MultiScaleArrayOf, MultiScaleArrayPorts};
use crate::lang::{Array, Index, Module, Signal, bit, cat, or_all, uint};

/// Signals that entered in one cycle.
struct Moment {
    /// Was after the reset.
    known: Signal,
    /// `multiplies`, `first`, `last`, and `rescale`.
    controls: Signal,
    /// By row; `None` where no PE sees it so late.
    act: Vec<Option<Signal>>,
    /// By column.
    weight: Vec<Option<Signal>>,
}

impl<P: MeshPe> MultiScaleArrayOf<P> {
    pub(super) fn properties(
        &self,
        m: &mut Module,
        io: &MultiScaleArrayPorts,
        mesh: &Mesh,
        (leaving, drain): (&Leaving, Array),
    ) {
        // Not together with the properties of the PE: their assumptions are assertions here.
        if self.rows * self.columns > 9 || self.pe.operand_bits() > 4 || self.pe.assumes() {
            return;
        }
        m.formal(|m| {
            // Cycles from the port to the first PE.
            let entry = u32::from(self.short_paths());
            let history = self.history(m, io, entry);
            for r in 0..self.rows {
                for c in 0..self.columns {
                    let then = &history[(r + c + entry) as usize];
                    let name = |what: &str| format!("{what}_{r}_{c}");
                    let mut controls = vec![mesh.first.at((r, c)), mesh.last.at((r, c))];
                    controls.extend(mesh.rescale.map(|grid| grid.at((r, c))));
                    let seen = cat(&controls);
                    let sent = then.controls.slice(0..seen.width());
                    m.assert_always(&name("controls"), seen.eq(sent));
                    let act = mesh.act.at((r, c));
                    let multiplied = then.controls.msb();
                    m.assert_always(&name("bubble_is_empty"), !then.known | multiplied | act.eq(0));
                    let lanes = [
                        ("act", then.act[r as usize], act),
                        ("weight", then.weight[c as usize], mesh.weight.at((r, c))),
                    ];
                    for (what, sent, seen) in lanes {
                        let integer = self.pe.integer_bits();
                        let extended = !seen.bit(integer) | seen.bit(integer - 1);
                        m.assert_always(&name(&format!("{what}_is_extended")), !then.known | extended);
                        if let Some(sent) = sent {
                            m.assert_always(&name(what), !then.known | seen.as_uint().eq(sent));
                        }
                    }
                }
            }
            let far = &history[(self.rows + self.columns - 2 + entry) as usize];
            let corner = (self.rows - 1, self.columns - 1);
            m.cover("far_corner_multiplies", far.controls.msb() & mesh.act.at(corner).ne(0));
            if let Some(grid) = mesh.rescale {
                m.cover("far_corner_rescales", grid.at(corner).any());
            }
            m.cover("all_rows_show_sums", io.result_valid_o.at(self.rows - 1));
            self.sums_leave(m, io, leaving, drain);
        });
    }

    /// When rows move and show sums; bit d of a history is the event d + 1 cycles ago.
    fn sums_leave(&self, m: &mut Module, io: &MultiScaleArrayPorts, leaving: &Leaving, drain: Array) {
        let (rows, columns) = (self.rows, self.columns);
        let ends = m.wire("spec_ends", io.step.fire() & io.step.last);
        let history = |m: &mut Module, name: &str, now: Signal, length: u32| {
            let past = m.reg_init(&format!("spec_{name}_q"), uint(length), 0);
            past.next(cat(&[past.q.slice(0..length - 1), now]));
            past.q
        };
        let (before, behind) = (self.before(), self.behind());
        let longest = rows + 2 * columns - 1 + before;
        let narrow_ends = io.step.int8.map_or(ends, |int8| ends & !int8);
        let narrow = history(m, "narrow", narrow_ends, longest + behind);
        let Some(int8) = io.step.int8 else {
            m.for_each("shown", rows, |m, r| {
                m.assert_always("row_moves", drain.at(r).eq(narrow.slice_at(r + columns + before, 1)));
                let shown = m.wire("spec_shown", narrow.slice_at(r + columns + before, columns).any());
                m.assert_always("row_shows", io.result_valid_o.at(r).eq(shown));
                let (sum, flag) = (leaving.result.at((r, columns)), leaving.overflow.at((r, columns)));
                let same = io.result_o.at(r).eq(sum) & io.overflow_o.at(r).eq(flag);
                m.assert_always("row_shows_its_sum", !shown | same);
            });
            return;
        };
        let bytes = history(m, "bytes", ends & int8, longest + 1 + behind);
        let every_second = (0..columns / 2).fold(0u64, |mask, j| mask | 1 << (2 * j));
        let (width, nibble) = (self.result_width(), self.pe.operand_bits());
        m.for_each("shown", rows / 2, |m, i| {
            let (low, high) = (i * 2, i * 2 + 1);
            let shown = |m: &mut Module, name: &str, row: Index| {
                let ended = narrow.slice_at(row + columns + before, 1) | bytes.slice_at(row + columns + before, 1);
                let moves = m.wire(&format!("spec_{name}_moves"), ended);
                m.assert_always(&format!("{name}_moves"), drain.at(row).eq(moves));
                m.wire(&format!("spec_{name}_shown"), narrow.slice_at(row + columns + before + behind, columns).any())
            };
            let (low_shown, high_shown) = (shown(m, "low", low), shown(m, "high", high));
            let pairs = bytes.slice_at(high + columns + 1 + before + behind, columns) & uint(columns).lit(every_second);
            let bytes_shown = m.wire("spec_bytes_shown", pairs.any());
            m.assert_always("low_shows", io.result_valid_o.at(low).eq(low_shown));
            m.assert_always("high_shows", io.result_valid_o.at(high).eq(high_shown | bytes_shown));
            // Sums that left the mesh some cycles ago: the flag, and above the first cycle as many bits as are looked
            // at.
            let past = |m: &mut Module, name: &str, row: Index, kept: &[u32]| {
                let now = cat(&[leaving.overflow.at((row, columns)), leaving.result.at((row, columns))]);
                let mut past = vec![now];
                for (before, &bits) in kept.iter().enumerate() {
                    let value = cat(&[past[before].msb(), past[before].slice(0..bits)]);
                    let held = m.reg(&format!("spec_{name}_{}_q", before + 1), value.ty());
                    held.next(value);
                    past.push(held.q);
                }
                past
            };
            // Few enough bits for the solver, and enough to tell the four parts of a sum of bytes and their places.
            let (few, full) = (2 * nibble + 1, self.pe.sum_bits());
            let shown_after = behind as usize;
            let kept = |more: &[u32]| [vec![full; shown_after], more.to_vec()].concat();
            let (lows, highs) = (past(m, "low", low, &kept(&[few, nibble + 1])), past(m, "high", high, &kept(&[1])));
            let out = |row: Index| (io.result_o.at(row), io.overflow_o.at(row));
            for (name, is_shown, row, past) in
                [("low", low_shown, low, lows[shown_after]), ("high", high_shown, high, highs[shown_after])]
            {
                let (value, flag) = out(row);
                let sum = past.slice(0..full).as_sint().extend(width);
                let same = value.eq(sum) & flag.eq(past.msb());
                m.assert_always(&format!("{name}_shows_its_sum"), !is_shown | same);
            }
            // High nibbles leave first, and the low row a cycle before the high one.
            let parts = [(&highs, 1), (&highs, 0), (&lows, 2), (&lows, 1)].map(|(past, age)| past[shown_after + age]);
            let upper = cat(&[parts[0].bit(0), uint(2 * nibble).lit(0)]);
            let middle = parts[1].slice(0..nibble + 1).wrapping_add(parts[2].slice(0..nibble + 1));
            let middle = cat(&[middle, uint(nibble).lit(0)]);
            let whole = upper.wrapping_add(middle).wrapping_add(parts[3].slice(0..few));
            let (value, flag) = out(high);
            let flags = parts.map(Signal::msb);
            let same = value.slice(0..few).eq(whole) & flag.eq(or_all(bit(), &flags));
            m.assert_always("high_shows_bytes", !bytes_shown | same);
            m.cover("bytes_leave", bytes_shown & value.lt(-5));
        });
    }

    /// Steps that entered, by the ports alone.
    fn history(&self, m: &mut Module, io: &MultiScaleArrayPorts, entry: u32) -> Vec<Moment> {
        let step = &io.step;
        let fire = step.fire();
        let rescale = step.rescale.map(|amount| amount & fire.repeat(amount.width()));
        let multiplies = m.wire("spec_multiplies", rescale.map_or(fire, |amount| fire & !amount.any()));
        let mut controls = vec![multiplies, fire & step.first, fire & step.last];
        controls.extend(rescale);
        // The lower nibble of a byte has no sign.
        let lanes = |array: Array, signed: Signal| {
            let value = |(i, element): (usize, Signal)| {
                let signed = step.int8.filter(|_| i % 2 == 0).map_or(signed, |int8| signed & !int8);
                self.extended(element, signed)
            };
            array.elements().into_iter().enumerate().map(value).collect::<Vec<_>>()
        };
        let acts = lanes(step.act, step.act_signed);
        let now = Moment {
            known: bit().lit(1),
            controls: cat(&controls),
            act: acts.into_iter().map(|act| Some(act & multiplies.repeat(act.width()))).collect(),
            weight: lanes(step.weight, step.weight_signed).into_iter().map(Some).collect(),
        };
        let mut history = vec![now];
        for cycle in 1..self.rows + self.columns - 1 + entry {
            let before = &history[cycle as usize - 1];
            let name = |what: &str| format!("spec_{what}_{cycle}_q");
            let known = m.reg_init(&name("known"), bit(), 0);
            let controls = m.reg_init(&name("controls"), before.controls.ty(), 0);
            known.next(before.known);
            controls.next(before.controls);
            // Lane i passes `length` PEs: the last one sees it entry + i + length - 1 cycles late.
            let lanes = |m: &mut Module, what: &str, lanes: &[Option<Signal>], length: u32| {
                let lane = |(i, lane): (usize, &Option<Signal>)| {
                    let value = lane.filter(|_| entry + i as u32 + length > cycle)?;
                    let register = m.reg(&format!("spec_{what}_{i}_{cycle}_q"), value.ty());
                    register.next(value);
                    Some(register.q)
                };
                lanes.iter().enumerate().map(lane).collect()
            };
            let act = lanes(m, "act", &before.act, self.columns);
            let weight = lanes(m, "weight", &before.weight, self.rows);
            history.push(Moment { known: known.q, controls: controls.q, act, weight });
        }
        history
    }
}
