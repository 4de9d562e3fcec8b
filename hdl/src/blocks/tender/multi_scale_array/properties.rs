//! What is proved of the array (`ifdef FORMAL`): PE (r, c) sees exactly the steps that entered, in their order, r + c
//! cycles later: each rescale between the same two products as in the stream, and zeros in between. What a PE makes of
//! them is proved in `tender_pe`.

use super::edges::{Entry, Mesh};
use super::{MultiScaleArray, MultiScaleArrayPorts};
use crate::lang::{Module, Signal, bit, cat};

/// What entered in one cycle.
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

impl MultiScaleArray {
    pub(super) fn properties(&self, m: &mut Module, io: &MultiScaleArrayPorts, mesh: &Mesh, entry: &Entry) {
        // Not together with the properties of the PE: what those assume is asserted here.
        if self.rows * self.columns > 9 || self.pe.operand_width > 4 || self.pe.has_properties() {
            return;
        }
        m.formal(|m| {
            let history = self.history(m, entry);
            for r in 0..self.rows {
                for c in 0..self.columns {
                    let then = &history[(r + c) as usize];
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
                        let extended = !seen.msb() | seen.bit(self.pe.operand_width - 1);
                        m.assert_always(&name(&format!("{what}_is_extended")), !then.known | extended);
                        if let Some(sent) = sent {
                            m.assert_always(&name(what), !then.known | seen.as_uint().eq(sent));
                        }
                    }
                }
            }
            let far = &history[(self.rows + self.columns - 2) as usize];
            let corner = (self.rows - 1, self.columns - 1);
            m.cover("far_corner_multiplies", far.controls.msb() & mesh.act.at(corner).ne(0));
            if let Some(grid) = mesh.rescale {
                m.cover("far_corner_rescales", grid.at(corner).any());
            }
            m.cover("all_rows_show_sums", io.result_valid_o.at(self.rows - 1));
        });
    }

    fn history(&self, m: &mut Module, entry: &Entry) -> Vec<Moment> {
        let mut controls = vec![entry.multiplies, entry.first, entry.last];
        controls.extend(entry.rescale);
        let lanes = |array: crate::lang::Array| array.elements().into_iter().map(Some).collect();
        let now = Moment {
            known: bit().lit(1),
            controls: cat(&controls),
            act: lanes(entry.act),
            weight: lanes(entry.weight),
        };
        let mut history = vec![now];
        for cycle in 1..self.rows + self.columns - 1 {
            let before = &history[cycle as usize - 1];
            let name = |what: &str| format!("spec_{what}_{cycle}_q");
            let known = m.reg_init(&name("known"), bit(), 0);
            let controls = m.reg_init(&name("controls"), before.controls.ty(), 0);
            known.next(before.known);
            controls.next(before.controls);
            // Lane i passes `length` PEs: the last one sees it i + length - 1 cycles late.
            let lanes = |m: &mut Module, what: &str, lanes: &[Option<Signal>], length: u32| {
                let lane = |(i, lane): (usize, &Option<Signal>)| {
                    let value = lane.filter(|_| i as u32 + length > cycle)?;
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
