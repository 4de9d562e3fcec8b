//! Why the data of several managers comes in the order of their addresses: intermediate steps, which look inside.
//!
//! Each burst of a manager is followed from the first sight of its address to the end of its data. In between, its address
//! passes the places of the address channel and waits for its turn. Its data passes the places of the data channel,
//! earlier or later. Each place must hold the address or data of the burst that it belongs to.

use super::{Lengths, NewBurst, count};
use crate::blocks::common::bus::axi::{AxiReadData, AxiWriteData, AxiWriteResponse};
use crate::blocks::common::bus::axi_arbiter::{AxiArbiter, AxiArbiterPorts};
use crate::lang::{Array, Module, Signal, Stream, bit, cat, mux, reduce, uint};

/// What the registers of the arbiter hold, for the intermediate steps of its proofs.
pub(in super::super) struct ArbiterState {
    /// A write address has its turn at the coming edge.
    pub(in super::super) load: Signal,
    /// The manager of that address.
    pub(in super::super) turn: Signal,
    /// The data of the first turn is over at the coming edge.
    pub(in super::super) ends: Signal,
    pub(in super::super) waiting: Signal,
    pub(in super::super) tail: Signal,
    pub(in super::super) head: Signal,
    pub(in super::super) turns: Array,
    /// The first place of each manager's data.
    pub(in super::super) data: Vec<Stream<AxiWriteData>>,
    pub(in super::super) answers: Stream<AxiWriteResponse>,
    pub(in super::super) read_data: Stream<AxiReadData>,
}

/// Places of an address channel in front of the turns, and of a manager's data channel.
const PLACES: u32 = 2;

/// A manager's bursts that are not over, the first one first.
struct Followed {
    /// Per burst: it has a second beat.
    lens: Signal,
    number: Signal,
}

impl Followed {
    fn at(&self, place: Signal) -> Signal {
        (self.lens & self.lens.ty().lit(1).shl_by(place)).any()
    }
}

/// Follows up to `most` bursts from their beginning to `pop` of the first one.
#[track_caller]
fn follow(m: &mut Module, name: &str, most: u32, burst: NewBurst, pop: Signal) -> Followed {
    let NewBurst { begins: push, len } = burst;
    let number = count(m, &format!("{name}_number"), most, (push, pop), None);
    let lens = m.reg(&format!("formal_{name}_lens_q"), uint(most));
    let rest = m.wire(&format!("formal_{name}_rest"), mux(pop, lens.q.shr(1).extend(most), lens.q));
    let tail = m.wire(&format!("formal_{name}_tail"), number.wrapping_sub(pop));
    let places: Vec<Signal> = (0..most).rev().map(|j| mux(push & tail.eq(j), len, rest.bit(j))).collect();
    lens.next(cat(&places));
    Followed { lens: lens.q, number }
}

/// A manager at its ports: its address is shown for the first time, and its bursts with data that is not taken yet.
pub(super) struct Manager {
    pub(super) begins: Signal,
    pub(super) promised: Lengths,
}

/// The bursts with a turn, the first one first.
struct Turns {
    /// Per place: there is a burst.
    there: Vec<Signal>,
    /// Per place: the manager of the burst.
    whose: Vec<Signal>,
    /// Beats of the first burst that are on the port or were.
    beats: Signal,
    /// The last beat of the burst before it is offered.
    ends: Signal,
}

pub(super) fn order(
    m: &mut Module,
    p: &AxiArbiter,
    io: &AxiArbiterPorts,
    at: &ArbiterState,
    (writes, new_address): (&Lengths, Signal),
    managers: &[Manager],
) {
    let w = &io.mem.write.w;
    m.assert_always("turns_fit", at.waiting.le(p.outstanding));
    let level = at.waiting.truncate(at.head.width());
    m.assert_always("turns_in_order", at.tail.eq(at.head.wrapping_add(level)));
    let ends = m.wire("formal_port_ends", w.valid & w.last);
    let whose = (0..p.outstanding).map(|j| at.turns.at(if j == 0 { at.head } else { at.head.wrapping_add(j) }));
    let turns = Turns {
        there: (0..p.outstanding).map(|j| at.waiting.gt(j)).collect(),
        whose: whose.enumerate().map(|(j, turn)| m.wire(&format!("formal_turn_{j}"), turn)).collect(),
        beats: m.wire("formal_port_beats", mux(ends, bit().lit(0), writes.beat.wrapping_add(w.valid))),
        ends,
    };
    let bursts: Vec<Followed> =
        (0..).zip(managers).map(|(k, manager)| of_manager(m, (p, io, at), k, manager, &turns)).collect();
    of_port(m, (p, io, at), (writes, new_address), &turns, &bursts);
}

/// The address and the data of manager `k`. Returns its bursts.
fn of_manager(
    m: &mut Module,
    (p, io, at): (&AxiArbiter, &AxiArbiterPorts, &ArbiterState),
    k: u32,
    manager: &Manager,
    turns: &Turns,
) -> Followed {
    let (aw, w) = (io.mgr.aw.at(k), io.mgr.w.at(k));
    let (len, promised) = (aw.len.bit(0), &manager.promised);
    let ends = at.ends & turns.whose[0].eq(k);
    let most = p.outstanding + PLACES + 1;
    let bursts = follow(m, &format!("bursts_{k}"), most, NewBurst { begins: manager.begins, len }, ends);
    // Addresses: each has its turn, or is in a place of the channel, or is offered.
    let inside =
        follow(m, &format!("addresses_{k}"), PLACES, NewBurst { begins: aw.fire(), len }, at.load & at.turn.eq(k));
    let offered = aw.valid & !manager.begins;
    let mine: Vec<Signal> = turns.there.iter().zip(&turns.whose).map(|(&there, turn)| there & turn.eq(k)).collect();
    let with_turn = reduce(&mine, |a, b| a + b).unwrap_or_else(|| bit().lit(0));
    let with_turn = m.wire(&format!("formal_with_turn_{k}"), with_turn);
    m.assert_always(&format!("addresses_{k}"), bursts.number.eq(with_turn + inside.number + offered));
    let full = inside.number.eq(PLACES);
    m.assert_always(&format!("places_of_addresses_{k}"), inside.number.le(PLACES) & aw.ready.ne(full));
    for j in 0..PLACES {
        let same = inside.lens.bit(j).eq(bursts.at(with_turn + j));
        m.assert_always(&format!("address_{j}_of_{k}"), inside.number.le(j) | same);
    }
    m.assert_always(&format!("offered_address_{k}"), !offered | len.eq(bursts.at(with_turn + inside.number)));
    // Data: of the first burst as many beats have left as its turn says. Then come the beats in the two places, then
    // the promised beats. The second place holds the last beat that was taken.
    let held = &at.data[k as usize];
    let spare = m.wire(&format!("formal_spare_{k}"), !w.ready);
    let spare_last = m.reg(&format!("formal_spare_last_{k}_q"), bit());
    spare_last.next_when(w.fire(), w.last);
    let left = m.wire(&format!("formal_left_{k}"), mine[0] & turns.beats);
    let second = mux(held.last, !bursts.lens.bit(1), bit().lit(1));
    let sent = (held.valid & held.last) + (spare & spare_last.q);
    let sent = m.wire(&format!("formal_sent_{k}"), sent);
    m.assert_always(&format!("places_of_data_{k}"), !spare | held.valid);
    m.assert_always(&format!("held_last_{k}"), !held.valid | held.last.eq(left.eq(bursts.lens.bit(0))));
    m.assert_always(&format!("spare_last_{k}"), !spare | spare_last.q.eq(second));
    m.assert_always(&format!("bursts_{k}"), bursts.number.eq(sent + promised.number));
    let behind = !spare | !held.last | bursts.number.gt(1);
    m.assert_always(&format!("data_has_a_burst_{k}"), !held.valid | (bursts.number.any() & behind));
    let beat = mux(spare, !spare_last.q, mux(held.valid, !held.last, left));
    m.assert_always(&format!("beats_of_{k}"), promised.beat.eq(beat));
    for j in 0..promised.most {
        let len = promised.lens.at(promised.head.wrapping_add(j));
        m.assert_always(&format!("promised_{j}_of_{k}"), promised.number.le(j) | len.eq(bursts.at(sent + j)));
    }
    bursts
}

/// The port: after the burst whose last beat is offered come the bursts with a turn. The last of them may have a new
/// address.
fn of_port(
    m: &mut Module,
    (p, io, at): (&AxiArbiter, &AxiArbiterPorts, &ArbiterState),
    (writes, new_address): (&Lengths, Signal),
    turns: &Turns,
    bursts: &[Followed],
) {
    let (aw, w) = (&io.mem.write.aw, &io.mem.write.w);
    m.assert_always("bursts_of_turns", (writes.number + new_address).eq(at.waiting + turns.ends));
    m.assert_always("a_new_address_has_a_turn", !new_address | at.waiting.any());
    for j in 0..p.outstanding {
        let whose = turns.whose[j as usize];
        if !p.managers.is_power_of_two() {
            m.assert_always(&format!("turn_{j}_is_a_manager"), !turns.there[j as usize] | whose.lt(p.managers));
        }
        // A manager's bursts have their turns in order: this burst comes after its earlier ones.
        let before: Vec<Signal> = turns.whose[..j as usize].iter().map(|turn| turn.eq(whose)).collect();
        let rank = reduce(&before, |a, b| a + b);
        let lens: Vec<Signal> =
            bursts.iter().map(|of| rank.map_or_else(|| of.lens.bit(0), |rank| of.at(rank))).collect();
        let len = m.lookup(&format!("formal_turn_{j}_len"), whose, &lens);
        let new = new_address & at.waiting.eq(j + 1);
        let shown = writes.lens.at(writes.head.wrapping_add(turns.ends).wrapping_add(j));
        let shown = mux(new, aw.len.bit(0), shown);
        m.assert_always(&format!("turn_{j}_has_its_length"), !turns.there[j as usize] | shown.eq(len));
        if j == 0 {
            m.assert_always("a_second_beat_comes", !turns.beats | (at.waiting.any() & len));
        }
    }
    m.assert_always("first_of_two_beats", !w.valid | w.last | !writes.beat);
}
