//! What is proved of the arbiter.

use super::order::{ArbiterState, Manager, order};
use super::{Duty, NewBurst, before, count, lengths, stays};
use crate::blocks::common::bus::axi::AxiAddress;
use crate::blocks::common::bus::axi_arbiter::{AxiArbiter, AxiArbiterPorts};
use crate::blocks::common::bus::axi_turns::{AxiTurns, AxiTurnsPorts};
use crate::lang::{Module, Signal, Stream, bits_for, mux, uint};

pub(in super::super) fn arbiter(m: &mut Module, p: &AxiArbiter, io: &AxiArbiterPorts, at: &ArbiterState) {
    let (mem, mgr) = (&io.mem, &io.mgr);
    let low = p.axi.id_width;
    let (ar, aw, w, b, r) = (&mem.read.ar, &mem.write.aw, &mem.write.w, &mem.write.b, &mem.read.r);
    stays(m, Duty::Ours, ar, None);
    let new_address = stays(m, Duty::Ours, aw, None);
    let new_beat = stays(m, Duty::Ours, w, None);
    let aborted = before(m, "aborted", io.abort_i);
    m.assert_always("no_strobes_after_abort", !(new_beat & aborted) | !w.strb.any());
    m.cover("beats_after_abort", new_beat & aborted);
    stays(m, Duty::Theirs, b, None);
    stays(m, Duty::Theirs, r, None);
    // Data in the order of the addresses, each burst as long as its address says (A5.2).
    let most = 2 * p.outstanding;
    let writes = lengths(m, "write", most, NewBurst { begins: new_address, len: aw.len.bit(0) }, w.fire());
    m.assert_always("beats_have_an_address", !w.valid | writes.number.any());
    m.assert_always("last_is_last", !w.valid | w.last.eq(writes.last));
    m.assert_always("addresses_ahead", writes.number.le(p.outstanding + 1));
    let number = |id: Signal| id.slice(low..id.width());
    let of = |there: Signal, id: Signal| Beat { there, manager: number(id) };
    let held = of(at.answers.valid, at.answers.id);
    let answers = Places::of(m, "answer", of(b.fire(), b.id), b.ready, held);
    let held = of(at.read_data.valid, at.read_data.id);
    let read_data = Places::of(m, "read_data", of(r.fire(), r.id), r.ready, held);
    let mut managers = Vec::new();
    for k in 0..p.managers {
        let (ar_k, aw_k, w_k) = (mgr.ar.at(k), mgr.aw.at(k), mgr.w.at(k));
        let (b_k, r_k) = (mgr.b.at(k), mgr.r.at(k));
        stays(m, Duty::Theirs, &ar_k, None);
        let begins = stays(m, Duty::Theirs, &aw_k, None);
        stays(m, Duty::Theirs, &w_k, None);
        stays(m, Duty::Ours, &b_k, None);
        stays(m, Duty::Ours, &r_k, None);
        // Managers keep their own rules; bursts of up to two beats are enough to see the order.
        let few = 4;
        let promised = lengths(m, &format!("write_{k}"), few, NewBurst { begins, len: aw_k.len.bit(0) }, w_k.fire());
        m.assume(&format!("beats_have_an_address_{k}"), !w_k.valid | promised.number.any());
        m.assume(&format!("last_is_last_{k}"), !w_k.valid | w_k.last.eq(promised.last));
        m.assume(&format!("few_bursts_{k}"), !begins | promised.number.lt(few));
        m.assume(&format!("short_bursts_{k}"), aw_k.len.le(1));
        // Each beat that goes in comes out, under the manager's number; a channel has two places.
        answers.pass(m, k, b_k.fire(), b_k.valid);
        read_data.pass(m, k, r_k.fire(), r_k.valid);
        m.cover(&format!("waits_{k}"), ar_k.valid & !ar_k.ready);
        m.cover(&format!("write_waits_{k}"), aw_k.valid & !aw_k.ready);
        m.cover(&format!("data_waits_{k}"), w_k.valid & !w_k.ready);
        m.cover(&format!("answered_{k}"), b_k.fire());
        m.cover(&format!("read_{k}"), r_k.fire() & r_k.last);
        managers.push(Manager { begins, promised });
    }
    // With one turn, its steps would say less than their names.
    if p.outstanding > 1 {
        order(m, p, io, at, (&writes, new_address), &managers);
    }
    m.cover("read_data_stalled", r.valid & !r.ready);
    m.cover("answer_stalled", b.valid & !b.ready);
}

/// A beat of a channel, or a place for one.
#[derive(Clone, Copy)]
struct Beat {
    /// It is there.
    there: Signal,
    /// The number of its manager.
    manager: Signal,
}

/// A channel from the port to the managers: each beat carries the number of its manager.
struct Places {
    name: &'static str,
    /// A beat that comes.
    comes: Beat,
    /// The first place.
    held: Beat,
    /// The second place.
    spare: Beat,
}

impl Places {
    #[track_caller]
    fn of(m: &mut Module, name: &'static str, comes: Beat, ready: Signal, held: Beat) -> Self {
        // The second place holds the last beat that was taken. The manager of a beat after it cannot be seen from here.
        let spare = m.reg(&format!("formal_{name}_spare_q"), comes.manager.ty());
        spare.next_when(comes.there, comes.manager);
        m.assert_always(&format!("{name}_spare_is_behind"), ready | held.there);
        Self { name, comes, held, spare: Beat { there: !ready, manager: spare.q } }
    }

    /// As many beats leave to manager `k` as come for it; at most two are inside.
    #[track_caller]
    fn pass(&self, m: &mut Module, k: u32, goes: Signal, seen: Signal) {
        let name = format!("{}_{k}", self.name);
        let mine = |beat: Beat| beat.there & beat.manager.eq(k);
        let inside = count(m, &name, 2, (mine(self.comes), goes), None);
        m.assert_always(&format!("{name}_came_in"), !seen | inside.any());
        m.assert_always(&format!("{name}_fits"), inside.le(2));
        m.assert_always(&format!("{name}_inside_is"), inside.eq(mine(self.held) + mine(self.spare)));
    }
}

/// What is proved of the turns: each address that goes in comes out, and a manager waits for at most one turn of each
/// other manager.
pub(in super::super) fn turns(
    m: &mut Module,
    p: &AxiTurns,
    io: &AxiTurnsPorts,
    (waiting, start): (&[Stream<AxiAddress>], Signal),
) {
    let to = &io.to;
    let (low, all) = (p.axi.id_width, to.id.width());
    for k in 0..p.managers {
        let from = io.from.at(k);
        let shown = to.id.slice(low..all).eq(k);
        let inside = count(m, &format!("inside_{k}"), 3, (from.fire(), to.fire() & shown), None);
        m.assert_always(&format!("came_in_{k}"), !(to.valid & shown) | inside.any());
        m.assert_always(&format!("fits_{k}"), inside.le(3));
        // Two places next to the manager, one next to the port.
        let waits = waiting[k as usize].valid;
        m.assert_always(&format!("inside_is_{k}"), inside.eq((waits + !from.ready) + (to.valid & shown)));
        m.assert_always(&format!("spare_is_behind_{k}"), waits | from.ready);
        let ty = uint(bits_for(p.managers.into()) + 1);
        let others = m.reg_init(&format!("formal_others_{k}_q"), ty, 0);
        let mine = io.load_o & io.turn_o.eq(k);
        others.next(mux(mine | !waits, ty.lit(0), others.q.wrapping_add(io.load_o)));
        m.assert_always(&format!("fair_{k}"), others.q.lt(p.managers));
        // Turns that others may have before this manager.
        let ahead: Vec<Signal> = (0..p.managers).map(|s| ty.lit((k + p.managers - s) % p.managers)).collect();
        let ahead = m.lookup(&format!("formal_ahead_{k}"), start, &ahead);
        m.assert_always(&format!("on_its_way_{k}"), !waits | (others.q + ahead).lt(p.managers));
        m.cover(&format!("waits_for_another_{k}"), others.q.eq(p.managers - 1));
    }
    if !p.managers.is_power_of_two() {
        m.assert_always("start_is_a_manager", start.lt(p.managers));
    }
}
