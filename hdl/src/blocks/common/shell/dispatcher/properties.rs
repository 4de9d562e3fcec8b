//! What is proved of the dispatcher.

use super::{Dispatcher, DispatcherPorts, INDEPENDENT, Order};
use crate::lang::{Array, Module, Reg, Signal, bit, mux, or_all, reduce, uint};

/// Bits of the numbers of operations in the proofs: more than are in flight at once.
const NUMBER: u32 = INDEPENDENT + 2;

/// An engine as the ports show it.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// It was given an operation that has not ended.
    open: Signal,
    /// It has one that it has not taken, or of which it is not known whether it is right.
    new: Signal,
    /// The number of its operation.
    number: Reg,
    /// The error of its operation, or 0.
    error: Signal,
}

impl Dispatcher {
    /// Properties that hold whatever the engines do, as long as they end what they have taken. Operations are numbered
    /// as they go, and each engine's operation is compared by its number.
    pub(super) fn properties(&self, m: &mut Module, io: &DispatcherPorts, behind: &Array) {
        m.formal(|m| {
            let (asked, told) = (&io.operation, &io.operation_end);
            let number = uint(NUMBER);
            let gives: Vec<Signal> = (0..self.engines)
                .map(|e| {
                    let offered = m.reg_init(&format!("formal_offered_{e}_q"), bit(), 0);
                    let to = io.engine.at(e);
                    offered.next(!io.clear_i & to.valid & !to.ready);
                    m.wire(&format!("formal_gives_{e}"), to.valid & !offered.q)
                })
                .collect();
            let gives_any = m.wire("formal_gives_any", or_all(bit(), &gives));
            let count = m.reg_init("formal_count_q", number, 0);
            count.next(count.q.wrapping_add(gives_any.extend(NUMBER)));
            // What the operation asked for that was taken last.
            let last = |m: &mut Module, name: &str, value: Signal| {
                let kept = m.reg(&format!("formal_{name}_q"), value.ty());
                kept.next_when(asked.fire(), value);
                kept.q
            };
            let order = Order::of(io);
            let independent = last(m, "independent", order.independent);
            let early = last(m, "early", mux(order.early.gt(order.independent), order.early, order.independent));
            let waits = last(m, "waits", order.waits);
            let nothing = last(m, "nothing", order.nothing);
            let engines: Vec<Open> =
                (0..self.engines).map(|e| self.engine(m, io, e, (gives[e as usize], count))).collect();

            m.comment("Asked for, and not told.");
            let awaited = m.reg_init("formal_awaited_q", bit(), 0);
            awaited.next(!io.clear_i & (asked.fire() | (awaited.q & !told.fire())));
            let over = m.reg_init("formal_over_q", bit(), 0);
            over.next(!io.clear_i & (over.q | (told.fire() & told.error.any())));
            m.assert_always("ends_have_an_operation", !told.valid | awaited.q);
            m.assert_always("one_at_a_time", !asked.ready | !(awaited.q | over.q));
            m.assert_always("nothing_after_an_error", !over.q | !(told.valid | asked.ready));

            m.comment("When an operation goes to its engine.");
            let all = |m: &mut Module, name: &str, of: &dyn Fn(&Open) -> Signal| {
                let each: Vec<Signal> = engines.iter().map(of).collect();
                m.wire(name, reduce(&each, |a, b| a & b).unwrap_or(bit().lit(1)))
            };
            let distance = |open: &Open| count.q.wrapping_sub(open.number.q);
            let right = all(m, "formal_all_are_right", &|e| !e.open | !e.new);
            let well = all(m, "formal_none_failed", &|e| !e.error.any());
            m.assert_always("the_one_before_is_right", !gives_any | right);
            // It is offered a cycle after it was sent.
            let well_before = m.reg_init("formal_well_before_q", bit(), 1);
            well_before.next(well);
            m.assert_always("none_goes_after_a_failure", !gives_any | well_before.q);
            m.assert_always("nothing_goes_nowhere", !gives_any | !nothing);
            let none = all(m, "formal_none_is_open", &|e| !e.open);
            let good = m.wire("formal_good", told.valid & !told.error.any());
            m.assert_always("waits_for_all", !(good & (waits | nothing)) | none);
            m.assert_always("idle_without_any", !io.idle_o | (none & well & !awaited.q));

            m.comment("The numbers of operations that went after each other.");
            for (e, of) in (0..).zip(&engines) {
                let after = behind.at(e).extend(NUMBER).wrapping_add(1);
                let counted = distance(of).wrapping_add(gives_any.extend(NUMBER));
                m.assert_always(&format!("counts_what_went_after_{e}"), !of.open | after.eq(counted));
            }

            m.comment("What an operation waits for: all earlier ones but the last ones that it names.");
            for (e, of) in engines.iter().enumerate() {
                for (name, ended, names) in [("released", io.released_o, independent), ("early", io.early_o, early)] {
                    // The number of the operation that is given in this cycle is that of the count.
                    let here = m.reg(&format!("formal_{name}_{e}_q"), names.ty());
                    let own = mux(gives[e], names, here.q);
                    here.next(own);
                    let mine = mux(gives[e], count.q, of.number.q);
                    let waits = all(m, &format!("formal_{name}_has_ended_{e}"), &|other| {
                        let before = mine.wrapping_sub(other.number.q);
                        // Numbers of later operations are far behind.
                        !other.open | before.le(own.extend(NUMBER)) | before.msb()
                    });
                    let open = gives[e] | of.open;
                    m.assert_always(
                        &format!("{name}_after_what_it_waits_for_{e}"),
                        !(open & ended.at(e as u32)) | waits,
                    );
                    let none = all(m, &format!("formal_{name}_waits_for_none_{e}"), &|other| {
                        !(other.open | other.error.any())
                            | mine.wrapping_sub(other.number.q).msb()
                            | mine.eq(other.number.q)
                    });
                    m.assert_always(&format!("{name}_in_time_{e}"), !(open & none) | ended.at(e as u32));
                }
            }

            m.comment("Which error is told: the first one in order, and everything before it has ended.");
            for (e, of) in engines.iter().enumerate() {
                let before = all(m, &format!("formal_first_{e}"), &|other| {
                    let later = distance(other).le(distance(of));
                    !(other.open | other.error.any()) | later
                });
                let this = of.error.any() & before;
                m.assert_always(
                    &format!("first_error_is_told_{e}"),
                    !(told.valid & told.error.any() & this) | told.error.eq(of.error),
                );
                let earlier_open = of.open
                    & all(m, &format!("formal_earliest_{e}"), &|other| {
                        !(other.open | other.error.any()) | distance(other).le(distance(of))
                    });
                m.assert_always(
                    &format!("waits_for_earlier_ones_{e}"),
                    !(told.valid & told.error.any() & earlier_open),
                );
            }

            m.comment("No operation waits without a reason.");
            let free = all(m, "formal_all_are_free", &|e| !e.open & !e.error.any());
            m.assert_always("goes_on", !(free & !awaited.q & !over.q & !io.clear_i) | asked.ready);
            let settles = m.reg_init("formal_settles_q", uint(2), 0);
            let stuck = awaited.q & none & !told.valid & !io.clear_i & !gives_any;
            settles.next(mux(stuck, settles.q.wrapping_add(1), uint(2).lit(0)));
            m.assert_always("an_end_comes", settles.q.lt(3));
            let two: Vec<Signal> = engines.iter().take(2).map(|e| e.open).collect();
            m.cover("two_at_a_time", reduce(&two, |a, b| a & b).unwrap_or(bit().lit(0)));
            if let Some(back) = told.back {
                m.cover("error_of_the_one_before", told.valid & told.error.any() & back.eq(1));
            }
        });
    }

    /// What an engine does, as its ports show it.
    fn engine(&self, m: &mut Module, io: &DispatcherPorts, e: u32, (gives, count): (Signal, Reg)) -> Open {
        let (to, end) = (io.engine.at(e), io.engine_end.at(e));
        let name = |what: &str| format!("formal_{what}_{e}_q");
        let open = m.reg_init(&name("open"), bit(), 0);
        let taken = m.reg_init(&name("taken"), bit(), 0);
        taken.next(!io.clear_i & (to.fire() | (taken.q & !end.valid)));
        m.assume(&format!("engine_{e}_ends_what_it_has"), !end.valid | taken.q);
        m.assume(&format!("engine_{e}_finds_right_what_it_has"), !io.right_i.at(e) | taken.q);
        let ends_well = end.valid & !end.error.any();
        m.assume(&format!("engine_{e}_waits_before_it_ends"), !ends_well | io.released_o.at(e));
        m.assert_always(&format!("engine_{e}_has_one_operation"), !to.valid | !taken.q);
        let here = gives | open.q;
        open.next(!io.clear_i & here & !end.valid);
        let number = m.reg(&name("number"), uint(NUMBER));
        number.next_when(gives, count.q);
        let new = m.reg_init(&name("new"), bit(), 0);
        new.next(!io.clear_i & (gives | new.q) & !io.right_i.at(e) & !end.valid);
        let error = m.reg_init(&name("error"), uint(8), 0);
        error.next(mux(io.clear_i, uint(8).lit(0), mux(end.valid, end.error, error.q)));
        m.assert_always(&format!("engine_{e}_is_left_after_an_error"), !gives | !error.q.any());
        Open { open: open.q, new: new.q, number, error: error.q }
    }
}
