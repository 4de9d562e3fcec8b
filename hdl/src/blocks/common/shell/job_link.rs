//! Lets the jobs of accelerators in a chain wait for each other, token by token: an operation that takes tokens from
//! the accelerator before this one, and gives tokens to the next one.
//!
//! [`LinkOperation`] has its fields.

use super::job_controller::{Operation, OperationEnd, OperationSpec};
use super::job_error;
use super::link_operation::{LinkOperation, LinkOperationPorts};
use super::operation_controller::first_error;
use crate::lang::{
    About, Block, Bundle, CatalogBlock, Field, In, InStream, Module, Out, OutStream, Proof, Signal, bit, bundle, mux,
    parameters, ports, select, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct JobLink {
        /// Words of an operation.
        words: u32 = 24, in 4..=248, tag "w";
        /// Number of the operation; all other operations go on to the accelerator.
        opcode: u32 = 6, in 1..=255, tag "o";
        /// Bits of a number of tokens, in an operation or waiting.
        token_bits: u32 = 16, in 2..=16, tag "t";
        /// Bits of a number of cycles to wait.
        patience_bits: u32 = 32, in 2..=32, tag "p";
        /// Where other operations overlap: bits that are kept with an operation, and told with its error. 0: they do not
        /// overlap.
        kept_width: u32 = 0, in 0..=256, tag "k", named "when set";
    }
}

impl JobLink {
    /// The operations that pass.
    fn operation(&self) -> OperationSpec {
        OperationSpec { words: self.words, kept: (self.kept_width > 0).then_some(self.kept_width) }
    }

    /// The descriptor of its operation.
    #[must_use]
    pub fn fields(&self) -> LinkOperation {
        LinkOperation { words: self.words, token_bits: self.token_bits, patience_bits: self.patience_bits }
    }
}

bundle! {
    /// A result of the accelerator before this one is in memory.
    pub struct Token(_unit: ()) {
        /// It is the last token of a piece of work.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`JobLink`].
    pub struct JobLinkPorts(p: &JobLink) {
        /// Drops the operation in flight, and all tokens that wait; takes nothing, gives nothing.
        clear_i: In = bit(),
        /// Most cycles to wait for each token where an operation names none; 0: no limit. It comes from a register of
        /// the host, since no descriptor may let the accelerator wait for ever. It stays while an operation is in
        /// flight.
        limit_i: In = uint(p.patience_bits),
        /// No operation of its own is in flight.
        idle_o: Out = bit(),
        /// Tokens that wait; cleared by reset and clear_i only.
        tokens_o: Out = uint(p.token_bits),
        /// The newest token that waits is a last one.
        ended_o: Out = bit(),
        /// The operation; its fields stay up to its end.
        operation: InStream<Operation> = p.operation(),
        /// How the operation ended.
        operation_end: OutStream<OperationEnd> = p.operation().kept,
        /// To the accelerator: operations with other numbers. Where they overlap, also one that is nothing, to learn the end
        /// of all that are in flight.
        other: OutStream<Operation> = p.operation(),
        /// From the accelerator: one end for each of these operations.
        other_end: InStream<OperationEnd> = p.operation().kept,
        /// Tokens of the accelerator before this one; taken at any time, as long as no last token waits.
        prior: InStream<Token> = (),
        /// Tokens to the next accelerator; a token that is offered is dropped only by clear_i or by the end of its
        /// time.
        next: OutStream<Token> = (),
    }
}

impl Block for JobLink {
    type Ports = JobLinkPorts;
    const ABOUT: About = About {
        name: "job_link",
        summary: "an operation that waits for tokens of the accelerator before, and gives tokens to the next one",
        contract: "Operations with another number go on to the accelerator and their ends come back, in the same\n\
            cycle. The operation with this number takes its tokens, one a cycle as they come, then gives its own.\n\
            It ends with ERROR_RESERVED (5) if a bit that must be 0 is not. Bits 0 and 1 of word 3 must be 0 without\n\
            tokens to take or to give. It ends with ERROR_SIZE (9) if there are no tokens, or too many tokens or\n\
            cycles. In both cases no token is taken.\n\
            It ends with ERROR_FIELD (15) if word 3 and a token that is taken disagree about a last token. It ends\n\
            with ERROR_TIMEOUT (13) if a token did not come, or was not taken, in time.\n\
            With all tokens there it offers its end awaited + given + 4 cycles after it was taken.\n\
            Where other operations overlap, it first waits until all that are in flight have ended, for three cycles at\n\
            least. If one of them fails, that is its end, and no token is taken.\n\
            Tokens that wait stay from job to job, as many as token_bits can count. No token is taken after a last\n\
            one until the last one is used, so a sender never runs into the next piece of work.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &JobLinkPorts) {
        let overlaps = self.kept_width > 0;
        let states: &[&str] = match overlaps {
            true => &["Idle", "Ask", "Hear", "Check", "Take", "Give", "End"],
            false => &["Idle", "Check", "Take", "Give", "End"],
        };
        let state = m.fsm("state", states);
        let (operation, bits) = (&io.operation, self.token_bits);
        let count = uint(bits);
        let own = operation.opcode.eq(self.opcode);
        // What is nothing is an operation of nobody, whatever its number.
        let own = m.wire("own", operation.nothing.map_or(own, |nothing| own & !nothing));
        let passes = operation.valid & !own;
        let asks = overlaps.then(|| state.is("Ask") & !io.clear_i);
        m.connect(io.other.valid, asks.map_or(passes, |asks| passes | asks));
        let nothing = operation.nothing.zip(asks).map(|(nothing, asks)| nothing | asks);
        let other = Operation { nothing, ..operation.data.clone() };
        io.other.data.drive(m, "operation_other", &other);
        m.connect(operation.ready, mux(own, state.is("Idle") & !io.clear_i, io.other.ready));
        let begins = m.wire("begins", operation.valid & own & state.is("Idle") & !io.clear_i);

        let fields = m.instance("u_fields", self.fields());
        m.connect_each("word", fields.decoder.words, operation.words);
        let (awaited, given) = (fields.awaited, fields.given);
        let (last_taken, last_given) = (fields.last_awaited, fields.last_given);
        let rest = m.wire("rest", fields.decoder.reserved);
        let beyond = m.wire("beyond", fields.decoder.wrong_size);
        m.unused(fields.decoder.unknown);
        let patience = m.wire("patience", mux(fields.patience.any(), fields.patience, io.limit_i));
        let code = |number: u32| uint(8).lit(number);
        let none = !(awaited.any() | given.any());
        let wrong = m.wire("wrong", first_error(&[(rest, job_error::RESERVED), (beyond | none, job_error::SIZE)]));

        m.comment("Remaining tokens to take or to give, and cycles since one moved.");
        let left = m.reg("left_q", count);
        let one_left = m.wire("one_left", left.q.eq(1));
        let tokens = m.reg_init("tokens_q", count, 0);
        let ended = m.reg_init("ended_q", bit(), 0);
        let takes = m.wire("takes", state.is("Take") & left.q.any() & tokens.q.any());
        let is_last = m.wire("is_last", ended.q & tokens.q.eq(1));
        let other_mark = m.wire("other_mark", takes & is_last.ne(last_taken & one_left));
        m.connect(io.next.valid, state.is("Give") & left.q.any() & !io.clear_i);
        m.connect(io.next.last, last_given & one_left);
        let gives = m.wire("gives", io.next.fire());
        let moves = m.wire("moves", takes | gives);
        let all_taken = m.wire("all_taken", state.is("Take") & !left.q.any());
        let lower = left.q.wrapping_sub(moves.extend(bits));
        let next_left = select(&[(state.is("Check"), awaited), (all_taken, given)], lower);
        left.next(next_left);
        let waited = m.reg("waited_q", patience.ty());
        let waits = m.wire("waits", (state.is("Take") | state.is("Give")) & left.q.any() & !moves);
        waited.next(mux(waits, waited.q.wrapping_add(1), waited.q.ty().lit(0)));
        let late = m.wire("late", waits & patience.any() & waited.q.eq(patience.wrapping_sub(1)));

        m.comment("Tokens that came.");
        let comes = m.wire("comes", io.prior.fire());
        m.connect(io.prior.ready, !ended.q & !tokens.q.all() & !io.clear_i);
        let more = tokens.q.wrapping_add(comes.extend(bits)).wrapping_sub(takes.extend(bits));
        tokens.next(mux(io.clear_i, count.lit(0), more));
        let stays = ended.q & !(takes & is_last);
        ended.next(!io.clear_i & mux(comes, io.prior.last, stays));
        m.connect(io.tokens_o, tokens.q);
        m.connect(io.ended_o, ended.q);

        let error = m.reg("error_q", uint(8));
        let failed = select(
            &[(state.is("Check"), wrong), (other_mark, code(job_error::FIELD)), (late, code(job_error::TIMEOUT))],
            code(0),
        );
        error.next_when(!state.is("End"), failed);
        let ends = state.is("End");
        let (told, other_end) = (&io.operation_end, &io.other_end);
        m.connect(told.error, mux(ends, error.q, other_end.error));
        if overlaps {
            let goes_on = m.wire("goes_on", state.is("Hear") & other_end.valid & !other_end.error.any());
            m.connect(told.valid, ends | (other_end.valid & !goes_on));
            m.connect(other_end.ready, goes_on | (told.ready & !ends));
            let back = other_end.back.map(|back| mux(ends, back.ty().lit(0), back));
            m.connect_option(told.back, back);
            let kept = operation.kept.zip(other_end.kept).map(|(own, other)| mux(ends, own, other));
            m.connect_option(told.kept, kept);
            state.goto("Ask", io.clear_i, "Idle");
            state.goto("Hear", io.clear_i, "Idle");
            state.goto("Ask", io.other.ready, "Hear");
            state.goto("Hear", goes_on, "Check");
            state.goto("Hear", other_end.fire(), "Idle");
        } else {
            m.connect(told.valid, ends | other_end.valid);
            m.connect(other_end.ready, told.ready & !ends);
        }

        for from in ["Check", "Take", "Give", "End"] {
            state.goto(from, io.clear_i, "Idle");
        }
        state.goto("Idle", begins, if overlaps { "Ask" } else { "Check" });
        state.goto("Check", wrong.any(), "End");
        state.goto("Check", true, "Take");
        state.goto("Take", other_mark | late, "End");
        state.goto("Take", all_taken, "Give");
        state.goto("Give", late | !left.q.any(), "End");
        state.goto("End", io.operation_end.ready, "Idle");
        m.connect(io.idle_o, state.is("Idle"));
        properties(m, io, &fields, bits);
    }
}

/// What is proved: as many tokens move as the operation says, marked as it says, and no token moves twice.
fn properties(m: &mut Module, io: &JobLinkPorts, fields: &LinkOperationPorts, bits: u32) {
    m.formal(|m| {
        let (operation, wide) = (&io.operation, uint(bits + 1));
        let open = m.reg_init("formal_open_q", bit(), 0);
        let ended = m.wire("formal_ended", io.operation_end.fire());
        open.next(!io.clear_i & (operation.fire() | (open.q & !ended)));
        let before = m.reg("formal_operation_q", operation.data.pack().ty());
        before.next(operation.data.pack());
        let same = m.wire("formal_same", operation.data.pack().eq(before.q));
        m.assume("operation_stays", !open.q | same);
        m.assume("one_at_a_time", !(open.q & operation.valid));
        let other = m.reg_init("formal_other_q", bit(), 0);
        other.next(!io.clear_i & (io.other.fire() | (other.q & !io.other_end.fire())));
        m.assume("ends_of_operations", !io.other_end.valid | other.q);

        let counted = |m: &mut Module, name: &str, now: Signal| {
            let count = m.reg_init(&format!("formal_{name}_q"), wide, 0);
            count.next(mux(operation.fire(), wide.lit(0), count.q.wrapping_add(now.extend(bits + 1))));
            count.q
        };
        let held = m.reg_init("formal_held_q", uint(bits), 0);
        let left = m.wire("formal_left", held.q.wrapping_sub(io.tokens_o));
        held.next(io.tokens_o.wrapping_add(io.prior.fire().extend(bits)));
        let cleared = m.reg_init("formal_cleared_q", bit(), 1);
        cleared.next(io.clear_i);
        m.assert_always("one_token_a_cycle", cleared.q | left.le(1));
        m.assert_always("clear_drops_all", !cleared.q | !io.tokens_o.any());
        m.assert_always("a_last_one_waits", !io.ended_o | io.tokens_o.any());
        m.assert_always("none_behind_a_last_one", !io.ended_o | !io.prior.ready);
        let taken = m.wire("formal_takes", !cleared.q & left.any());
        let taken = counted(m, "taken", taken);
        let given = counted(m, "given", io.next.fire());
        let good = m.wire("formal_good", io.operation_end.valid & open.q & !other.q & !io.operation_end.error.any());
        let whole = |count: Signal, wanted: Signal| count.eq(wanted.extend(bits + 1));
        m.assert_always("all_are_taken", !good | whole(taken, fields.awaited));
        m.assert_always("all_are_given", !good | whole(given, fields.given));
        m.assert_always("given_behind_taken", !io.next.valid | whole(taken, fields.awaited));
        let marked = fields.last_given & (given + 1).eq(fields.given.extend(bits + 2));
        m.assert_always("the_last_one_is_marked", !io.next.valid | io.next.last.eq(marked));
        m.assert_always("an_end_for_each_operation", !io.operation_end.valid | open.q);
        m.assert_always("idle_without_its_own", !io.idle_o | !open.q | other.q);
        m.cover("tokens_of_both_kinds", good & taken.gt(1) & given.gt(1));
        m.cover("too_late", io.operation_end.valid & io.operation_end.error.eq(job_error::TIMEOUT) & !other.q);
        m.cover("another_mark", io.operation_end.valid & io.operation_end.error.eq(job_error::FIELD) & !other.q);
    });
}

impl CatalogBlock for JobLink {
    fn configurations() -> Vec<Self> {
        vec![
            Self { words: 4, opcode: 1, token_bits: 6, patience_bits: 8, ..Self::default() },
            Self { words: 9, opcode: 200, token_bits: 10, ..Self::default() },
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let of = |kept_width| Self { words: 4, opcode: 2, kept_width, ..Self::default() };
        [0, 1].map(|kept| Proof { block: of(kept), depth: 12, cover_depth: 16, induction: false }).into()
    }
}
