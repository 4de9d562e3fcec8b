//! Whose turn it is at the array, where operations of its two users are in flight at the same time.

use crate::lang::{About, Block, In, InArray, Module, Out, bit, mux, parameters, ports};

parameters! {
    /// Elaboration parameters.
    pub struct ArrayTurns {}
}

ports! {
    /// Ports of [`ArrayTurns`].
    pub struct ArrayTurnsPorts(_p: &ArrayTurns) {
        /// Drops all operations.
        clear_i: In = bit(),
        /// A user takes an operation, after the operation before has ended. Never both in the same cycle.
        takes_i: InArray = bit().array(2),
        /// Its operation has ended; what it did with the array is done.
        leaves_i: InArray = bit().array(2),
        /// The array is the first user's.
        first_o: Out = bit(),
    }
}

impl Block for ArrayTurns {
    type Ports = ArrayTurnsPorts;
    const ABOUT: About = About {
        name: "array_turns",
        summary: "hands the array over between two users, in the order of their operations",
        contract: "The array belongs to the operation that was taken first, from the cycle after it was taken up to\n\
            the cycle in which it ends. Then it belongs to the other one, if there is one. In the order of a chain no\n\
            operation waits for a later one, so that the array becomes free.",
        reference: "Kelle, section 6",
    };

    fn build(&self, m: &mut Module, io: &ArrayTurnsPorts) {
        m.comment("A user has an operation.");
        let [first, second] = [(0, "first_q"), (1, "second_q")].map(|(k, name)| {
            let has = m.reg_init(name, bit(), 0);
            let next = (io.takes_i.at(k) | (has.q & !io.leaves_i.at(k))) & !io.clear_i;
            has.next(next);
            next
        });
        let turn = m.reg_init("turn_q", bit(), 0);
        turn.next(mux(first & second, turn.q, mux(first | second, first, turn.q)));
        m.connect(io.first_o, turn.q);
        m.formal(|m| properties(m, io));
    }
}

/// Operations are counted from the ports alone.
fn properties(m: &mut Module, io: &ArrayTurnsPorts) {
    let bit_of = |m: &mut Module, name: &str| m.reg_init(name, bit(), 0);
    m.comment("The environment: a user takes an operation when it has none, and gives the array back when it has it.");
    let [takes, leaves] = [&io.takes_i, &io.leaves_i].map(|both| [both.at(0), both.at(1)]);
    let has = ["formal_first_q", "formal_second_q"].map(|name| bit_of(m, name));
    for (k, has) in has.iter().enumerate() {
        has.next((takes[k] | (has.q & !leaves[k])) & !io.clear_i);
        let own = if k == 0 { io.first_o } else { !io.first_o };
        m.assume(&format!("takes_{k}_when_it_has_none"), !takes[k] | !has.q);
        m.assume(&format!("leaves_{k}_what_it_has"), !leaves[k] | (has.q & own));
    }
    m.assume("one_takes", !(takes[0] & takes[1]));
    let [first, second] = has.map(|has| has.q);

    m.comment("The array is the user's whose operation was taken first.");
    let before = bit_of(m, "formal_first_is_before_q");
    let stays = mux(takes[1], first & !leaves[0], before.q);
    before.next(mux(takes[0], !second | leaves[1], stays));
    m.assert_always("in_the_order_of_the_chain", !(first & second) | io.first_o.eq(before.q));
    m.assert_always("one_user_has_it", (first & second) | ((!first | io.first_o) & (!second | !io.first_o)));
    let held = bit_of(m, "formal_held_q");
    held.next((first | second) & !io.clear_i & !leaves[0] & !leaves[1]);
    let owner = bit_of(m, "formal_owner_q");
    owner.next(io.first_o);
    m.assert_always("it_stays_until_it_is_given_back", !held.q | io.first_o.eq(owner.q));
    let waited = bit_of(m, "formal_waited_q");
    waited.next(first & second & leaves[0]);
    m.cover("handed_over", waited.q & second & !io.first_o);
}
