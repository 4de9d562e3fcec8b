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
    }
}
