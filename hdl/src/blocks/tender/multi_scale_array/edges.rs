//! Left and upper edge: operands get the bit of their sign, bubbles are emptied, everything is skewed.

use super::super::mesh_pe::MeshPe;
use super::{MultiScaleArrayOf, MultiScaleArrayPorts};
use crate::blocks::common::{SkewDirection, SkewLines};
use crate::blocks::tender::tender_pe::Drain;
use crate::lang::{Array, Module, Signal, bit, bits_for, cat, mux, uint};

/// What moves between PEs: element (r, c) goes into PE (r, c) from the left or from above.
pub(super) struct Mesh {
    pub(super) first: Array,
    pub(super) last: Array,
    pub(super) rescale: Option<Array>,
    pub(super) act: Array,
    pub(super) weight: Array,
}

/// A step that enters in this cycle, before it is skewed.
pub(super) struct Entry {
    pub(super) first: Signal,
    pub(super) last: Signal,
    pub(super) rescale: Option<Signal>,
    /// Per row and column, extended by the bit of its sign; act is 0 unless the step is a multiplication.
    pub(super) act: Array,
    pub(super) weight: Array,
    /// The step belongs to a tile of bytes.
    pub(super) int8: Option<Signal>,
}

impl<P: MeshPe> MultiScaleArrayOf<P> {
    pub(super) fn edges(&self, m: &mut Module, io: &MultiScaleArrayPorts, mesh: &Mesh) -> Entry {
        let entry = self.entry(m, io);
        let entry = if self.short_paths() { self.registered(m, &entry) } else { entry };
        // A row sees the controls one cycle after the row above.
        let (mut first, mut last, mut rescale) = (entry.first, entry.last, entry.rescale);
        m.connect(mesh.first.at((0, 0)), first);
        m.connect(mesh.last.at((0, 0)), last);
        if let (Some(grid), Some(signal)) = (mesh.rescale, rescale) {
            m.connect(grid.at((0, 0)), signal);
        }
        if self.rows > 1 {
            m.comment("A row sees the controls one cycle after the row above.");
        }
        let delayed = |m: &mut Module, name: &str, signal: Signal| {
            let register = m.reg_init(name, signal.ty(), 0);
            register.next(signal);
            register.q
        };
        m.for_each("below", self.rows - 1, |m, r| {
            first = delayed(m, "first_q", mesh.first.at((r, 0)));
            last = delayed(m, "last_q", mesh.last.at((r, 0)));
            m.connect(mesh.first.at((r + 1, 0)), first);
            m.connect(mesh.last.at((r + 1, 0)), last);
            if let Some(grid) = mesh.rescale {
                rescale = Some(delayed(m, "rescale_q", grid.at((r, 0))));
                m.connect(grid.at((r + 1, 0)), rescale.unwrap_or(first));
            }
        });
        let (lane, width) = (self.pe.lane(), self.pe.lane().width);
        let in_memory = self.skew_in_memory;
        let lines = |lanes| SkewLines { lanes, width, direction: SkewDirection::Skew, in_memory };
        let left = m.instance("u_act_skew", lines(self.rows));
        let above = m.instance("u_weight_skew", lines(self.columns));
        m.for_each("left", self.rows, |m, r| {
            m.connect(left.data_i.at(r), entry.act.at(r));
            m.connect(mesh.act.at((r, 0)), left.data_o.at(r).cast(lane));
        });
        m.for_each("above", self.columns, |m, c| {
            m.connect(above.data_i.at(c), entry.weight.at(c));
            m.connect(mesh.weight.at((0, c)), above.data_o.at(c).cast(lane));
        });
        entry
    }

    fn entry(&self, m: &mut Module, io: &MultiScaleArrayPorts) -> Entry {
        let step = &io.step;
        let busy = self.sums_in_the_way(m, io);
        let blocked = match self.pe.drain() {
            // The registers beside the accumulators are in use: no other tile may end.
            Drain::Double => busy & step.last,
            Drain::Single => busy,
        };
        m.connect(step.ready, !blocked);
        let fire = m.wire("step_fire", step.fire());
        let rescale = step.rescale.map(|amount| m.wire("rescale_now", mux(fire, amount, 0)));
        let multiplies = match step.rescale {
            Some(amount) => m.wire("multiplies", fire & !amount.any()),
            None => fire,
        };
        let int8 = step.int8;
        let extended = |m: &mut Module, name: &str, source: Array, signed: Signal, gate: Option<Signal>| {
            let count = source.count();
            let lanes = m.nets(name, uint(self.pe.lane().width), count);
            // Low halves of bytes are unsigned.
            let low = match int8 {
                Some(int8) => m.wire(&format!("{name}_low_signed"), signed & !int8),
                None => signed,
            };
            let lane = |m: &mut Module, i, signed: Signal| {
                let extended = self.extended(source.at(i), signed);
                let operand = gate.map_or(extended, |gate| mux(gate, extended, 0));
                m.connect(lanes.at(i), operand);
            };
            if self.int8 {
                m.for_each(&format!("{name}_pairs"), count / 2, |m, i| {
                    lane(m, i * 2, low);
                    lane(m, i * 2 + 1, signed);
                });
            } else {
                m.for_each(&format!("{name}_lanes"), count, |m, i| lane(m, i, low));
            }
            lanes
        };
        // A zero on one side is enough for a bubble.
        let act = extended(m, "act_now", step.act, step.act_signed, Some(multiplies));
        let weight = extended(m, "weight_now", step.weight, step.weight_signed, None);
        let first = m.wire("first_now", fire & step.first);
        let last = m.wire("last_now", fire & step.last);
        Entry { first, last, rescale, act, weight, int8 }
    }

    /// An operand with the bit of its integer's sign above the integer.
    pub(super) fn extended(&self, operand: Signal, signed: Signal) -> Signal {
        if self.pe.has_integers_only() {
            return cat(&[signed & operand.msb(), operand]);
        }
        let (integer, all) = (self.pe.integer_bits(), operand.width());
        let sign = signed & operand.bit(integer - 1);
        cat(&[operand.slice(integer..all), sign, operand.slice(0..integer)])
    }

    /// The same step a cycle later: between the port and the first multiplier there is no other register.
    fn registered(&self, m: &mut Module, entry: &Entry) -> Entry {
        m.comment("A step that enters waits for a cycle.");
        let mut control = |name: &str, signal: Signal| {
            let register = m.reg_init(name, signal.ty(), 0);
            register.next(signal);
            register.q
        };
        let first = control("first_entered_q", entry.first);
        let last = control("last_entered_q", entry.last);
        let rescale = entry.rescale.map(|rescale| control("rescale_entered_q", rescale));
        let int8 = entry.int8.map(|int8| control("int8_entered_q", int8));
        let mut lanes = |name: &str, source: Array| {
            let entered = m.nets(name, uint(self.pe.lane().width), source.count());
            m.for_each(&format!("{name}_lanes"), source.count(), |m, i| {
                let register = m.reg(&format!("{name}_q"), uint(self.pe.lane().width));
                register.next(source.at(i));
                m.connect(entered.at(i), register.q);
            });
            entered
        };
        let (act, weight) = (lanes("act_entered", entry.act), lanes("weight_entered", entry.weight));
        Entry { first, last, rescale, act, weight, int8 }
    }

    /// Sums of the tile before are in the way of the next end of a tile (`double`), or of any step (`single`).
    fn sums_in_the_way(&self, m: &mut Module, io: &MultiScaleArrayPorts) -> Signal {
        let pause = match self.pe.drain() {
            Drain::Double => self.columns - 1,
            Drain::Single => self.columns + 1,
        };
        if pause == 0 {
            return bit().lit(0);
        }
        let left = m.reg_init("pause_q", uint(bits_for(pause.into())), 0);
        let ends = io.step.fire() & io.step.last;
        let busy = m.wire("busy", left.q.any());
        left.next(mux(ends, left.q.ty().lit(pause), mux(busy, left.q.wrapping_sub(1), 0)));
        busy
    }
}
