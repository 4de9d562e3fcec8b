//! Gives the operations of a chain to the engines of an accelerator, in order. Operations that do not depend on each
//! other are in flight at the same time, one on each engine.

mod properties;

use super::job_controller::{INDEPENDENT, Operation, OperationEnd, OperationSpec};
use crate::lang::{
    About, Array, Block, CatalogBlock, Field, In, InArray, InStream, InStreams, Module, Out, OutArray, OutStream,
    OutStreams, Proof, Signal, Type, bit, bundle, index_width, mux, parameters, ports, reduce, select, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct Dispatcher {
        /// Engines.
        engines: u32 = 2, in 2..=8, tag "e";
        /// Words of an operation.
        words: u32 = 24, in 1..=248, tag "w";
        /// Bits that are kept with an operation, and told with its error.
        kept_width: u32 = 96, in 1..=256, tag "k";
    }
}

impl Dispatcher {
    /// The operations that come.
    #[must_use]
    pub fn operation(&self) -> OperationSpec {
        OperationSpec { words: self.words, kept: Some(self.kept_width) }
    }

    /// Type of the number of an engine.
    #[must_use]
    pub fn number(&self) -> Type {
        uint(index_width(self.engines.into()))
    }
}

/// Bits of the number of operations that went after one in flight: the engines bound it. Of the operations after it, those
/// that have ended are independent of it, 7 at most, and each other engine has one more at most.
const BEHIND: u32 = INDEPENDENT + 1;

bundle! {
    /// An operation for an engine.
    pub struct Given(words: u32) {
        /// Number of the operation.
        opcode: Field = uint(8),
        /// Its words, the first one lowest.
        words: Field = uint(32 * words),
    }
}

ports! {
    /// Ports of [`Dispatcher`].
    pub struct DispatcherPorts(p: &Dispatcher) {
        /// Drops all operations.
        clear_i: In = bit(),
        /// No operation is in flight, and no end is to be told.
        idle_o: Out = bit(),
        /// Operations, in the order of the chain.
        operation: InStream<Operation> = p.operation(),
        /// With operation_valid_i: the engine that does it. A number beyond the engines is the last one's.
        engine_i: In = p.number(),
        /// An end for each operation, in order. After an error there is no other one up to clear_i.
        operation_end: OutStream<OperationEnd> = p.operation().kept,
        /// To each engine: what to do; the fields stay up to its end.
        engine: OutStreams<Given> = (p.engines, p.words),
        /// From each engine: its operation is right. High in a cycle after it was taken, up to its end.
        right_i: InArray = bit().array(p.engines),
        /// To each engine: all operations have ended that its operation depends on. It stays up to its end.
        released_o: OutArray = bit().array(p.engines),
        /// To each engine: all operations have ended that may write what its operation reads early. It stays up to its
        /// end.
        early_o: OutArray = bit().array(p.engines),
        /// From each engine: how its operation ended.
        engine_end: InStreams<OperationEnd> = (p.engines, None),
    }
}

/// The fields of an operation that say how it may overlap others.
#[derive(Clone, Copy, Debug)]
struct Order {
    independent: Signal,
    early: Signal,
    nothing: Signal,
    waits: Signal,
    kept: Signal,
}

impl Order {
    fn of(io: &DispatcherPorts) -> Self {
        let of = |field: Option<Signal>| field.expect("an operation of a dispatcher has all fields");
        let asked = &io.operation;
        Self {
            independent: of(asked.independent),
            early: of(asked.early),
            nothing: of(asked.nothing),
            waits: of(asked.waits),
            kept: of(asked.kept),
        }
    }
}

/// The operations in flight, one for each engine.
struct Flights {
    /// There is one; an operation that failed stays.
    busy: Array,
    /// It failed.
    failed: Array,
    /// It is not known whether it is right.
    unknown: Array,
    /// It ends well in this cycle.
    well: Array,
    /// Operations that were given to engines after it.
    behind: Array,
    /// It is the first one, in the order of the chain.
    first: Array,
}

impl Block for Dispatcher {
    type Ports = DispatcherPorts;
    const ABOUT: About = About {
        name: "dispatcher",
        summary: "gives the operations of a chain to several engines, which work at the same time",
        contract: "An operation goes to its engine when the engine is free, and when the operation before is right.\n\
            Operations go in order, so nothing after an operation that an engine refuses has begun.\n\
            An engine waits for released_o before it reads and writes. It is high when all operations before have\n\
            ended but the last `independent` ones. What an operation reads early waits for early_o only.\n\
            After an operation that failed, none goes to an engine. Of several that failed, the first one of the\n\
            chain is told, after all operations before it have ended. Then clear_i is awaited.\n\
            clear_i drops everything; engines are to be cleared with it. An engine ends only what it has taken, and\n\
            without an error only after released_o.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &DispatcherPorts) {
        let state = m.fsm("state", &["Ready", "Settle", "Tell", "Over"]);
        let (asked, told) = (&io.operation, &io.operation_end);
        let Order { independent, early, nothing, waits, kept: asked_kept } = Order::of(io);
        let flights = Flights {
            busy: m.nets("busy", bit(), self.engines),
            failed: m.nets("failed", bit(), self.engines),
            unknown: m.nets("unknown", bit(), self.engines),
            well: m.nets("well", bit(), self.engines),
            behind: m.nets("behind", uint(BEHIND), self.engines),
            first: m.nets("first", bit(), self.engines),
        };
        let any = |m: &mut Module, name: &str, of: Array| m.wire(name, of.packed().any());
        let any_busy = any(m, "any_busy", flights.busy);
        let any_failed = any(m, "any_failed", flights.failed);
        let any_unknown = any(m, "any_unknown", flights.unknown);
        // Operations that the next one waits for, and those that may write what it reads early.
        let [awaited, awaited_early] = ["awaited", "awaited_early"].map(|name| m.nets(name, bit(), self.engines));
        let early = m.wire("early", mux(early.gt(independent), early, independent));
        let last = self.engines - 1;
        let number = m.wire("number", mux(io.engine_i.gt(last), self.number().lit(last), io.engine_i));
        let taken = m.lookup("engine_busy", number, &flights.busy.elements());
        let free = m.wire("free", !taken);
        let goes = m.wire("goes", !nothing & free & !any_unknown & !any_failed);
        let takes = m.wire("takes", state.is("Ready") & !io.clear_i & (goes | nothing | any_failed));
        m.connect(asked.ready, takes);
        let sent = m.wire("sent", asked.fire() & goes);

        m.comment("An operation for each engine.");
        let kept = m.nets("kept_of", uint(self.kept_width), self.engines);
        let errors = m.nets("error_of", uint(8), self.engines);
        m.for_each("engines", self.engines, |m, e| {
            let (to, end) = (io.engine.at(e), io.engine_end.at(e));
            let here = m.wire("here", sent & number.eq(e.value(self.number().width)));
            m.connect(end.ready, 1);
            let well = m.wire("ends_well", end.valid & !end.error.any());
            m.connect(flights.well.at(e), well);
            let busy = m.reg_init("busy_q", bit(), 0);
            busy.next(!io.clear_i & (here | (busy.q & !well)));
            m.connect(flights.busy.at(e), busy.q);
            let offers = m.reg_init("offers_q", bit(), 0);
            offers.next(!io.clear_i & (here | (offers.q & !to.ready)));
            let unknown = m.reg_init("unknown_q", bit(), 0);
            unknown.next(!io.clear_i & (here | (unknown.q & !io.right_i.at(e) & !end.valid)));
            m.connect(flights.unknown.at(e), unknown.q);
            let error = m.reg_init("error_q", uint(8), 0);
            error.next(mux(io.clear_i, uint(8).lit(0), mux(end.valid, end.error, error.q)));
            m.connect(errors.at(e), error.q);
            m.connect(flights.failed.at(e), error.q.any());
            let behind = m.reg("behind_q", uint(BEHIND));
            let more = mux(sent, behind.q.wrapping_add(1), behind.q);
            behind.next(mux(here, uint(BEHIND).lit(0), more));
            m.connect(flights.behind.at(e), behind.q);
            m.connect(awaited.at(e), busy.q & behind.q.ge(independent.extend(BEHIND)));
            m.connect(awaited_early.at(e), busy.q & behind.q.ge(early.extend(BEHIND)));
            let open = |m: &mut Module, name: &str, of: Array| {
                let open = m.reg_init(&format!("{name}_q"), uint(self.engines), 0);
                let still = mux(here, of.packed(), open.q) & !flights.well.packed();
                open.next(mux(io.clear_i, uint(self.engines).lit(0), still));
                !open.q.any()
            };
            let (released, early) = (open(m, "waits", awaited), open(m, "waits_early", awaited_early));
            m.connect(io.released_o.at(e), released);
            m.connect(io.early_o.at(e), early);
            m.connect(to.valid, offers.q);
            let opcode = m.reg("opcode_q", uint(8));
            opcode.next_when(here, asked.opcode);
            m.connect(to.opcode, opcode.q);
            let words = m.reg("words_q", uint(32 * self.words));
            words.next_when(here, asked.words.packed());
            m.connect(to.words, words.q);
            let keeps = m.reg("keeps_q", uint(self.kept_width));
            keeps.next_when(here, asked_kept);
            m.connect(kept.at(e), keeps.q);
            let later = (0..self.engines).map(|f| !flights.busy.at(f) | flights.behind.at(f).le(behind.q));
            let later: Vec<Signal> = later.collect();
            m.connect(flights.first.at(e), busy.q & reduce(&later, |a, b| a & b).unwrap_or(bit().lit(1)));
        });

        m.comment("The end that is told.");
        let fails = m.wire("fails", (flights.first.packed() & flights.failed.packed()).any());
        let settled = m.wire("settled", state.is("Settle") & (!any_busy | fails));
        let beyond = m.reg("beyond_q", bit());
        beyond.next_when(asked.fire(), !goes);
        let failed = m.reg_init("failed_q", bit(), 0);
        failed.next(!io.clear_i & (failed.q | (settled & fails)));
        let of_first = |values: Array| -> Vec<(Signal, Signal)> {
            (0..self.engines).map(|e| (flights.first.at(e), values.at(e))).collect()
        };
        let choose = |m: &mut Module, name: &str, values: Array| {
            let (choices, zero) = (of_first(values), values.ty().element.lit(0));
            m.wire(name, select(&choices, zero))
        };
        let error = choose(m, "first_error", errors);
        let behind = choose(m, "first_behind", flights.behind);
        let first_kept = choose(m, "first_kept", kept);
        m.connect(told.valid, state.is("Tell"));
        m.connect(told.error, mux(failed.q, error, uint(8).lit(0)));
        m.connect_option(told.back, Some(behind.wrapping_add(beyond.q.extend(BEHIND))));
        m.connect_option(told.kept, Some(first_kept));
        m.connect(io.idle_o, state.is("Ready") & !any_busy);

        for from in ["Ready", "Settle", "Tell", "Over"] {
            state.goto(from, io.clear_i, "Ready");
        }
        state.goto("Ready", asked.fire() & (waits | !goes), "Settle");
        state.goto("Ready", asked.fire(), "Tell");
        state.goto("Settle", settled, "Tell");
        state.goto("Tell", told.ready & failed.q, "Over");
        state.goto("Tell", told.ready, "Ready");
        self.properties(m, io, &flights.behind);
    }
}

impl CatalogBlock for Dispatcher {
    fn configurations() -> Vec<Self> {
        vec![
            Self { engines: 2, words: 1, kept_width: 1 },
            Self { engines: 3, words: 5, kept_width: 70 },
            Self { engines: 8, words: 2, kept_width: 9 },
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let of = |engines| Self { engines, words: 1, kept_width: 2 };
        [2, 3].map(|engines| Proof { block: of(engines), depth: 12, cover_depth: 24, induction: engines == 2 }).into()
    }
}
