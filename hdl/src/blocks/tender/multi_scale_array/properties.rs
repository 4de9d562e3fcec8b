//! What is proved of the array (`ifdef FORMAL`): PE (r, c) sees exactly the steps that entered, in their order, r + c
//! cycles later: each rescale between the same two products as in the stream, and zeros in between. What a PE makes of
//! them is proved in `tender_pe`.

use super::edges::{Entry, Mesh};
use super::{MultiScaleArray, MultiScaleArrayPorts};
use crate::lang::{Module, Signal, bit, cat};

/// What entered in one cycle.
#[derive(Clone, Copy)]
struct Moment {
    /// Was after the reset.
    known: Signal,
    /// `multiplies`, `first`, `last`, and `rescale`.
    controls: Signal,
    act: Signal,
    weight: Signal,
}

impl MultiScaleArray {
    pub(super) fn properties(&self, m: &mut Module, io: &MultiScaleArrayPorts, mesh: &Mesh, entry: &Entry) {
        if self.rows * self.columns > 9 || self.operand_width > 4 {
            return;
        }
        m.formal(|m| {
            let history = self.history(m, entry);
            let width = self.operand_width + 1;
            for r in 0..self.rows {
                for c in 0..self.columns {
                    let then = history[(r + c) as usize];
                    let multiplied = then.controls.msb();
                    let act = mesh.act.at((r, c));
                    let weight = mesh.weight.at((r, c));
                    let right = |name: &str| format!("{name}_{r}_{c}");
                    let mut controls = vec![mesh.first.at((r, c)), mesh.last.at((r, c))];
                    controls.extend(mesh.rescale.map(|grid| grid.at((r, c))));
                    let seen = cat(&controls);
                    let sent = then.controls.slice(0..seen.width());
                    m.assert_always(&right("controls"), seen.eq(sent));
                    let lane = |packed: Signal, i: u32| packed.slice(i * width..(i + 1) * width).as_sint();
                    m.assert_always(&right("act"), !then.known | act.eq(lane(then.act, r)));
                    m.assert_always(&right("bubble_is_empty"), !then.known | multiplied | act.eq(0));
                    m.assert_always(&right("weight"), !then.known | weight.eq(lane(then.weight, c)));
                }
            }
            let far = history[(self.rows + self.columns - 2) as usize];
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
        let mut now = Moment {
            known: bit().lit(1),
            controls: cat(&controls),
            act: entry.act.packed(),
            weight: entry.weight.packed(),
        };
        let mut history = vec![now];
        for cycle in 1..self.rows + self.columns - 1 {
            let name = |what: &str| format!("spec_{what}_{cycle}_q");
            let known = m.reg_init(&name("known"), bit(), 0);
            let controls = m.reg_init(&name("controls"), now.controls.ty(), 0);
            let [act, weight] = [("act", now.act), ("weight", now.weight)].map(|(what, value)| {
                let register = m.reg(&name(what), value.ty());
                register.next(value);
                register.q
            });
            known.next(now.known);
            controls.next(now.controls);
            now = Moment { known: known.q, controls: controls.q, act, weight };
            history.push(now);
        }
        history
    }
}
