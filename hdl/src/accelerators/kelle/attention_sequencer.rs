//! Leads the tokens of an operation, one after the other, through loading, products, softmax and eviction.

use super::attention_spec::AttentionSpec;
use crate::lang::{
    About, Block, Fsm, In, InOption, Module, Out, OutOption, Signal, bit, bits_for, mux, parameters, ports, select,
    uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct AttentionSequencer {
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
    }
}

const STATES: [&str; 13] =
    ["Idle", "Load", "Find", "Write", "Keys", "Values", "Judge", "Search", "Remove", "End", "Fetch", "Place", "Put"];
/// States of a build without recomputation.
const FEWER: usize = 10;

ports! {
    /// Ports of [`AttentionSequencer`].
    pub struct AttentionSequencerPorts(p: &AttentionSequencer) {
        /// Drops everything.
        clear_i: In = bit(),
        /// An operation begins.
        begin_i: In = bit(),
        /// Tokens of it; steady up to done_o.
        tokens_i: In = uint(16),
        /// Tokens that a head has after a step, at most; steady likewise.
        budget_i: In = uint(16),
        /// Values come after the scores; steady likewise.
        late_i: In = bit(),
        /// Slots whose tokens come again, before the others; steady likewise.
        again_i: InOption = uint(bits_for(p.spec.recompute.into())).when(p.spec.recompute > 0),
        /// The head has a token in the slot of slot_o.
        held_i: InOption = bit().when(p.spec.recompute > 0),
        /// The slot.
        slot_o: OutOption = p.spec.slot().when(p.spec.recompute > 0),
        /// The rows that are loaded belong to the slot; steady from load_o to loaded_i.
        fetches_o: OutOption = bit().when(p.spec.recompute > 0),
        /// The row of the cache that the slot's token has is looked for, for one cycle.
        place_o: OutOption = bit().when(p.spec.recompute > 0),
        /// The loaded token is to be written there, up to written_i.
        put_o: OutOption = bit().when(p.spec.recompute > 0),
        /// Tokens that the head has when the operation begins.
        count_i: In = p.spec.count(),
        /// Tokens before the new one.
        old_o: Out = p.spec.count(),
        /// The rows of the next token are wanted, for one cycle: when the one before has ended, or, where values are
        /// late, is in the cache.
        load_o: Out = bit(),
        /// They are there, but for a value that is late.
        loaded_i: In = bit(),
        /// The value is there.
        value_loaded_i: In = bit(),
        /// The row after the youngest token is looked for, for one cycle.
        find_o: Out = bit(),
        /// The new token is to be written there.
        write_o: Out = bit(),
        /// With write_o: it is there, but for its value.
        again_o: Out = bit(),
        /// The write is done.
        written_i: In = bit(),
        /// Products with keys begin, for one cycle.
        keys_o: Out = bit(),
        /// Probabilities of all queries are there.
        probabilities_i: In = bit(),
        /// Products with values begin, for one cycle.
        values_o: Out = bit(),
        /// The array works on values, or did last.
        valued_o: Out = bit(),
        /// All results have left.
        results_i: In = bit(),
        /// The victim is known.
        known_i: In = bit(),
        /// There is one.
        found_i: In = bit(),
        /// A further victim is looked for, for one cycle.
        search_o: Out = bit(),
        /// The victim goes, for one cycle.
        remove_o: Out = bit(),
        /// Later tokens move up.
        moving_i: In = bit(),
        /// The step of the token ends, for one cycle: the head has a token more than old_o.
        end_o: Out = bit(),
        /// Nothing is left to be done.
        done_o: Out = bit(),
    }
}

impl Block for AttentionSequencer {
    type Ports = AttentionSequencerPorts;
    const ABOUT: About = About {
        name: "attention_sequencer",
        summary: "tokens of an operation of attention, one after the other",
        contract: "Before the first token, keys and values come again for the slots that the head has tokens in.\n\
            For each token, rows are loaded, and key and value written after the youngest token. Then queries are\n\
            multiplied by all keys, and probabilities by all values. A late value is loaded while queries are\n\
            multiplied; then the token is written again, and the next one is loaded. Then victims go until the head\n\
            has no more tokens than its budget.",
        reference: "Kelle, sections 4.1 and 5.3",
    };

    fn build(&self, m: &mut Module, io: &AttentionSequencerPorts) {
        let states = if self.spec.recompute > 0 { &STATES[..] } else { &STATES[..FEWER] };
        let state = m.fsm("state", states);
        let left = m.reg("left_q", uint(16));
        let old = m.reg("old_q", self.spec.count());
        let ends = m.wire("ends", state.is("End"));
        let over = m.wire("over_budget", Self::over(io, old.q));
        let removes = m.wire("removes", state.is("Judge") & io.known_i & io.found_i & !io.clear_i);
        left.next(select(&[(io.begin_i, io.tokens_i), (ends, left.q.wrapping_sub(1))], left.q));
        let one = uint(old.q.width()).lit(1);
        let step = select(&[(ends, old.q.wrapping_add(one)), (removes & over, old.q.wrapping_sub(one))], old.q);
        old.next(mux(io.begin_i, io.count_i, step));
        m.connect(io.old_o, old.q);

        m.comment("What begins is told in the first cycle of its state.");
        let entered = |m: &mut Module, name: &'static str| {
            let before = m.reg_init(&format!("was_{}_q", name.to_lowercase()), bit(), 0);
            let here = state.is(name);
            before.next(here);
            m.wire(&format!("enters_{}", name.to_lowercase()), here & !before.q)
        };
        let [loads, keys, values, searches] = ["Load", "Keys", "Values", "Search"].map(|name| entered(m, name));
        m.connect(io.find_o, state.is("Find"));
        m.connect(io.keys_o, keys);
        m.connect(io.values_o, values);
        m.connect(io.search_o, searches);
        m.connect(io.remove_o, removes & over);
        m.connect(io.end_o, ends);
        m.connect(io.done_o, state.is("Idle"));
        let valued = m.reg_init("valued_q", bit(), 0);
        valued.next(select(&[(keys, bit().lit(0)), (state.is("Values"), bit().lit(1))], valued.q));
        m.connect(io.valued_o, state.is("Values") | (valued.q & !keys));

        m.comment("A late value is written before any value is read: reads wait for writes.");
        let scores_end = m.wire("scores_end", state.is("Keys") & !keys & io.probabilities_i & io.value_loaded_i);
        let again = m.reg_init("again_q", bit(), 0);
        again.next(!io.clear_i & mux(scores_end, io.late_i, again.q & !io.written_i));
        m.connect(io.write_o, state.is("Write") | again.q);
        m.connect(io.again_o, again.q);
        // After that no part needs the loaded rows.
        let ahead = m.reg_init("ahead_q", bit(), 0);
        let next = io.late_i & !again.q & !ahead.q & left.q.gt(1);
        let early = m.wire("loads_ahead", state.is("Values") & next);
        let loaded = m.wire("loaded", state.is("Load") & (!loads | ahead.q) & io.loaded_i);
        ahead.next(!io.clear_i & (early | (ahead.q & !loaded)));
        for &from in states {
            state.goto(from, io.clear_i, "Idle");
        }
        let fetches = io.again_i.map(|_| entered(m, "Fetch"));
        let load = (loads & !ahead.q) | early;
        m.connect(io.load_o, fetches.map_or(load, |fetches| load | fetches));
        if let Some(fetches) = fetches {
            Self::slots(m, io, &state, fetches);
        }
        state.goto("Idle", io.begin_i, "Load");
        state.goto("Load", loaded, "Find");
        state.goto("Find", bit().lit(1), "Write");
        state.goto("Write", io.written_i, "Keys");
        state.goto("Keys", scores_end, "Values");
        state.goto("Values", !values & io.results_i, "Judge");
        state.goto("Judge", !over, "End");
        // There always is a victim: sink and window are less than the budget. Without one the step ends all the same.
        state.goto("Judge", io.known_i & !io.found_i, "End");
        state.goto("Judge", io.known_i, "Remove");
        // In its first cycle a removal is not yet under way.
        state.goto("Remove", io.moving_i, "Remove");
        state.goto("Remove", !over, "End");
        state.goto("Remove", bit().lit(1), "Search");
        state.goto("Search", bit().lit(1), "Judge");
        state.goto("End", left.q.eq(1), "Idle");
        state.goto("End", bit().lit(1), "Load");
    }
}

impl AttentionSequencer {
    /// Keys and values that come again, a slot after the other; they are dropped for a slot without a token.
    fn slots(m: &mut Module, io: &AttentionSequencerPorts, state: &Fsm, fetches: Signal) {
        let ports = (io.again_i, io.held_i, io.slot_o, io.fetches_o, io.place_o, io.put_o);
        let (Some(again), Some(held), Some(slot_o), Some(fetches_o), Some(place_o), Some(put_o)) = ports else {
            return;
        };
        m.comment("Tokens that come again.");
        let slot = m.reg("slot_q", again.ty());
        let placed = m.wire("placed", (state.is("Place") & !held) | (state.is("Put") & io.written_i));
        let next = m.wire("next_slot", slot.q.wrapping_add(1));
        slot.next(select(&[(io.begin_i, again.ty().lit(0)), (placed, next)], slot.q));
        let last = m.wire("last_slot", next.eq(again));
        m.connect(slot_o, slot.q.slice(0..slot_o.width()));
        m.connect(fetches_o, state.is("Fetch"));
        m.connect(place_o, state.is("Place"));
        m.connect(put_o, state.is("Put"));
        state.goto("Idle", io.begin_i & again.any(), "Fetch");
        state.goto("Fetch", !fetches & io.loaded_i, "Place");
        state.goto("Place", held, "Put");
        for from in ["Place", "Put"] {
            state.goto(from, placed & last, "Load");
            state.goto(from, placed, "Fetch");
        }
    }

    /// With the new token the head has too many.
    fn over(io: &AttentionSequencerPorts, old: Signal) -> Signal {
        old.extend(17).wrapping_add(1).gt(io.budget_i.extend(17))
    }
}
