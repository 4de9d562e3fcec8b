//! Eviction controller: the tokens of one head in order of age, and the slot of each in the KV cache.
//!
//! The list is a RAM of slots, the oldest token first. A decode step walks it. Each entry leaves with its slot, so that
//! the key and the score can be fetched, and with a bit that says whether the token is protected. Protected are the
//! first `sink_i` tokens of all and the last `window_i`. Since the list is in order of age, protection is a comparison
//! of positions, and a tie in the evictor goes to the older token by itself.
//!
//! While there is room a new token gets the next slot. Then it gets the slot of the victim, whose entry becomes a hole
//! in the list. The next walk closes the hole as it passes, moving each later entry up by one, at no cost: it reads and
//! writes one entry a cycle. So one token can enter between two walks once the cache is full.

mod properties;

use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{
    About, Block, CatalogBlock, Field, In, InStream, Module, Out, OutStream, Proof, Signal, Timing, Type, bit,
    bits_for, bundle, cat, index_width, mux, parameters, ports, select, uint,
};

/// Most slots with which the formal section is there: it holds the whole list.
const LARGEST_MODEL: u32 = 8;

parameters! {
    /// Elaboration parameters.
    pub struct EvictionController {
        /// Tokens that the cache of a head holds (N').
        slots: u32 = 128, in 2..=65_536, tag "n";
    }
}

bundle! {
    /// A token of the list.
    pub struct Entry(p: EvictionController) {
        /// Its slot in the cache.
        slot: Field = p.slot(),
        /// It is stored as the layer's input, not as key and value.
        recompute: Field = bit(),
        /// It must not be evicted.
        guarded: Field = bit(),
        /// It is the youngest: the walk ends.
        last: Field = bit(),
    }
}

bundle! {
    /// A new token.
    pub struct Arrival(p: EvictionController) {
        /// It is stored as the layer's input, not as key and value.
        recompute: Field = bit(),
        /// There is a victim, should the cache be full.
        found: Field = bit(),
        /// Position of the victim in the last walk, the oldest token being 0.
        victim: Field = p.slot(),
    }
}

bundle! {
    /// The result for a new token.
    pub struct Place(p: EvictionController) {
        /// Its slot in the cache; of no meaning when it is refused.
        slot: Field = p.slot(),
        /// Another token had to go for it.
        evicted: Field = bit(),
        /// It is not in the cache, which is as it was before.
        refused: Field = bit(),
    }
}

ports! {
    /// Ports of [`EvictionController`].
    pub struct EvictionControllerPorts(p: &EvictionController) {
        /// Forgets all tokens, at any time: a walk ends without its last entry, a place that was not taken never comes.
        /// Walks and new tokens are not taken in its cycle.
        clear_i: In = bit(),
        /// First tokens of the sequence, which are never evicted. When it changes, it counts the tokens of the present
        /// list. Stable during a walk.
        sink_i: In = p.count(),
        /// Most recent tokens, which are not evicted. Stable during a walk.
        window_i: In = p.count(),
        /// Tokens in the cache. Always valid; grows in the cycle after an insertion, 0 in the cycle after `clear_i`.
        count_o: Out = p.count(),
        /// Walk through the tokens; without tokens nothing comes.
        walk_valid_i: In = bit(),
        /// The walk begins at the coming edge, when it is wanted. Low during a walk, until a place is taken, and with
        /// `clear_i`.
        walk_ready_o: Out = bit(),
        /// A token, the oldest first.
        entry: OutStream<Entry> = p.clone(),
        /// A new token. Not taken when a walk could begin at the same edge, nor between an eviction and the end of the
        /// next walk.
        insert: InStream<Arrival> = p.clone(),
        /// Where the new token goes.
        place: OutStream<Place> = p.clone(),
    }
}

impl EvictionController {
    /// Type of a slot, or of a position in the list.
    #[must_use]
    pub fn slot(&self) -> Type {
        uint(index_width(u64::from(self.slots)))
    }

    /// Type of a number of tokens.
    #[must_use]
    pub fn count(&self) -> Type {
        uint(bits_for(u64::from(self.slots)))
    }
}

impl Block for EvictionController {
    type Ports = EvictionControllerPorts;
    const ABOUT: About = About {
        name: "eviction_controller",
        summary: "tokens of one head in order of age: allocates, evicts, replaces, protects",
        contract: "walk: all tokens leave at entry, the oldest first, one a cycle; guarded: among the first sink_i\n\
            or the last window_i.\n\
            insert: while count < slots the token gets slot number count. Then it takes the slot of the token at\n\
            position victim, which is gone. It is refused if no victim was found, or if the victim is protected or\n\
            does not exist. The new token is the youngest.\n\
            recompute: the token is stored as the layer's input, not as key and value; fixed until it is evicted.\n\
            After an eviction, insert is ready again when the list has been walked.\n\
            clear_i and reset: at any time. All tokens are forgotten. Entries and the place that were due do not\n\
            come (their valid falls), and the next cycle takes walks and new tokens. Nothing that is offered or not\n\
            taken can block it.",
        reference: "Kelle, sections 4.1 and 5.1, figure 10",
    };

    fn build(&self, m: &mut Module, io: &EvictionControllerPorts) {
        let (slot_ty, count_ty) = (self.slot(), self.count());
        let wide = |s: Signal| s.extend(count_ty.width + 1);
        let state = m.fsm("state", &["Idle", "Walk", "Find", "Reply"]);
        let count = m.reg_init("count_q", count_ty, 0);
        let position = m.reg_init("position_q", slot_ty, 0);
        let hole = m.reg_init("hole_q", bit(), 0);
        let hole_at = m.reg("hole_at_q", slot_ty);
        let youngest = m.reg("youngest_q", uint(slot_ty.width + 1));
        let recompute = m.reg("recompute_q", bit());
        let reply_slot = m.reg("reply_slot_q", slot_ty);
        let evicted = m.reg("evicted_q", bit());
        let refused = m.reg("refused_q", bit());
        let list = m.instance("u_list", Ram::words(self.slots, slot_ty.width + 1, RamImplementation::Inferred));
        m.connect(io.count_o, count.q);

        m.comment("A token is protected by its place in the order of age.");
        let guarded = |m: &mut Module, name: &str, at: Signal| {
            let recent = wide(at.extend(count_ty.width)) + wide(io.window_i);
            m.wire(name, at.lt(io.sink_i) | recent.ge(count.q))
        };

        m.comment("Walk: the entry after the hole moves up as it passes; the youngest closes the list.");
        let idle = m.wire("idle", state.is("Idle"));
        let open = m.wire("open", idle & !io.clear_i);
        m.connect(io.walk_ready_o, open);
        let start = m.wire("start", io.walk_valid_i & open & count.q.any());
        let walking = m.wire("walking", state.is("Walk"));
        let last = m.wire("last", (wide(position.q.extend(count_ty.width)) + 1).eq(wide(count.q)));
        let beyond = m.wire("beyond", hole.q & position.q.ge(hole_at.q));
        let entry = m.wire("entry", mux(hole.q & last, youngest.q, list.data_o));
        let entry_slot = m.wire("entry_slot", entry.slice(0..slot_ty.width));
        let is_guarded = guarded(m, "is_guarded", position.q);
        m.connect(io.entry.valid, walking);
        m.connect(io.entry.slot, entry_slot);
        m.connect(io.entry.recompute, entry.msb());
        m.connect(io.entry.guarded, is_guarded);
        m.connect(io.entry.last, last);
        let passes = m.wire("passes", walking & io.entry.ready);
        let next = m.wire("next_position", mux(idle, slot_ty.lit(0), position.q.wrapping_add(1)));
        position.next_when(idle | passes, next);
        let skip = m.wire("skip", hole.q & next.ge(hole_at.q));
        let fetched = m.wire("fetched", mux(skip, next.wrapping_add(1), next));

        m.comment("A new token.");
        let full = m.wire("full", count.q.eq(self.slots));
        let takes = m.wire("takes", open & !hole.q & !io.walk_valid_i);
        let taken = m.wire("taken", io.insert.valid & takes);
        m.connect(io.insert.ready, takes);
        let victim = io.insert.victim;
        let victim_guarded = guarded(m, "victim_guarded", victim);
        let no_victim = m.wire("no_victim", !io.insert.found | victim_guarded);
        let refuses = m.wire("refuses", full & no_victim);
        let evicts = m.wire("evicts", taken & full & !no_victim);
        let appends = m.wire("appends", taken & !full);
        let new_slot = m.wire("new_slot", count.q.truncate(slot_ty.width));
        recompute.next_when(taken, io.insert.recompute);
        hole_at.next_when(evicts, victim);
        evicted.next_when(taken, evicts);
        refused.next_when(taken, refuses);
        let finding = m.wire("finding", state.is("Find"));
        let found_slot = m.wire("found_slot", list.data_o.slice(0..slot_ty.width));
        reply_slot.next_when(taken | finding, mux(finding, found_slot, new_slot));
        youngest.next_when(finding, cat(&[recompute.q, found_slot]));
        hole.next(select(&[(io.clear_i, bit().lit(0)), (evicts, bit().lit(1)), (passes & last, bit().lit(0))], hole.q));
        count.next(select(&[(io.clear_i, count_ty.lit(0)), (appends, count.q.wrapping_add(1))], count.q));
        m.connect(io.place.valid, state.is("Reply"));
        m.connect(io.place.slot, reply_slot.q);
        m.connect(io.place.evicted, evicted.q);
        m.connect(io.place.refused, refused.q);

        m.connect(list.read_i, start | passes | evicts);
        m.connect(list.read_address_i, mux(evicts, victim, fetched));
        m.connect(list.write_i, appends | (passes & beyond));
        m.connect(list.write_address_i, mux(appends, new_slot, position.q));
        m.connect(list.data_i, mux(appends, cat(&[io.insert.recompute, new_slot]), entry));

        state.goto("Idle", start, "Walk");
        state.goto("Idle", evicts, "Find");
        state.goto("Idle", taken, "Reply");
        state.goto("Walk", io.clear_i | (io.entry.ready & last), "Idle");
        state.goto("Find", io.clear_i, "Idle");
        state.goto("Find", true, "Reply");
        state.goto("Reply", io.clear_i | io.place.ready, "Idle");

        if self.slots <= LARGEST_MODEL {
            self.properties(m, io);
        }
    }

    fn timing(&self) -> Timing {
        Timing::new()
            .beat(1)
            .phase("walk", 1, "from the start of a walk to its first entry")
            .phase("insert", 1, "from a new token to its place")
            .phase("evict", 2, "from a new token to its place, when another one goes")
    }
}

impl CatalogBlock for EvictionController {
    // Of two tokens one is the first or the last.
    const SAMPLE: &'static [(&'static str, u32)] = &[("slots", 3)];

    fn configurations() -> Vec<Self> {
        [2, 5, 64].map(|slots| Self { slots }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        [2, 3].map(|slots| Proof { block: Self { slots }, depth: 10, cover_depth: 20, induction: true }).into()
    }
}
