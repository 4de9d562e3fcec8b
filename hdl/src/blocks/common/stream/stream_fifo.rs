//! FIFO of a stream, of any depth, in registers or in a memory.

use super::properties::assert_queue;
use super::{Word, carry, wrapping_next};
use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{
    About, Block, Bundle, CatalogBlock, In, InStream, Module, Out, OutStream, Proof, Signal, Stream, Timing, bit,
    bits_for, choices, index_width, mux, parameters, ports, uint,
};

choices! {
    /// Where a FIFO keeps its beats.
    pub enum FifoStorage {
        /// Registers; a beat can leave one cycle after it came.
        Registers,
        /// An inferred memory, whose read register is the last place; a beat can leave two cycles after it came.
        Memory,
        /// As a memory, around a black box for a macro.
        BlackBox,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct StreamFifo {
        /// Bits of a beat.
        width: u32 = 32, in 1..=65536, tag "w";
        /// Beats that fit.
        depth: u32 = 16, in 1..=65536, note "at least 2 in a memory", tag "d";
        /// Where they are kept.
        storage: FifoStorage = FifoStorage::Registers, tag "";
        /// Places that are still free when almost_full_o rises.
        slack: u32 = 0, in 0..=65535, note "below depth", tag "slack", named "when set";
    }
    rules = |p, rules| {
        let least = if p.storage == FifoStorage::Registers { 1 } else { 2 };
        rules.demand(p.depth >= least, "depth", p.depth, format!("{least} to 65536 with this storage"));
        rules.demand(p.slack < p.depth, "slack", p.slack, format!("0 to depth - 1 = {}", p.depth - 1));
    };
}

impl StreamFifo {
    /// A FIFO of registers.
    #[must_use]
    pub fn registers(width: u32, depth: u32) -> Self {
        Self { width, depth, storage: FifoStorage::Registers, slack: 0 }
    }
}

ports! {
    /// Ports of [`StreamFifo`].
    pub struct StreamFifoPorts(p: &StreamFifo) {
        /// Drops all beats at the coming edge. Nothing is taken in this cycle; a beat that leaves in this cycle has
        /// left.
        clear_i: In = bit(),
        /// Beats that come.
        input: InStream<Word> = p.width,
        /// The same beats.
        output: OutStream<Word> = p.width,
        /// Beats inside, before the coming edge.
        level_o: Out = uint(bits_for(p.depth.into())),
        /// At most `slack` places are free: level_o >= depth - slack.
        almost_full_o: Out = bit(),
    }
}

impl Block for StreamFifo {
    type Ports = StreamFifoPorts;
    const ABOUT: About = About {
        name: "stream_fifo",
        summary: "FIFO of a ready/valid stream, in registers or in a memory",
        contract: "output is input, in order; up to depth beats are inside. input_ready_o is high while there is\n\
            room and clear_i is low. It does not depend on output_ready_i, so a FIFO of depth 1 takes a beat in\n\
            every second cycle. Deeper FIFOs take one in each cycle.\n\
            A beat can leave one cycle after it came, from a memory two.\n\
            Reset and clear_i leave it empty; the contents of the memory are not cleared, and never seen.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &StreamFifoPorts) {
        let count_ty = uint(bits_for(self.depth.into()));
        let level = m.reg_init("level_q", count_ty, 0);
        m.connect(io.input.ready, level.q.lt(self.depth) & !io.clear_i);
        let push = m.wire("push", io.input.fire());
        let pop = m.wire("pop", io.output.fire());
        let width = count_ty.width;
        let moved = m.wire("moved", level.q.wrapping_add(push.extend(width)).wrapping_sub(pop.extend(width)));
        level.next(mux(io.clear_i, count_ty.lit(0), moved));
        m.connect(io.level_o, level.q);
        m.connect(io.almost_full_o, level.q.ge(self.depth - self.slack));
        match self.storage {
            FifoStorage::Registers => self.registers_of(m, io, push, pop, level.q),
            FifoStorage::Memory => self.memory(m, io, push, RamImplementation::Inferred),
            FifoStorage::BlackBox => self.memory(m, io, push, RamImplementation::BlackBox),
        }
        if self.width > bits_for(self.depth.into()) && self.storage != FifoStorage::BlackBox {
            m.formal_alone(|m| {
                assert_queue(m, self.width, &io.input, &io.output, io.clear_i, level.q);
                // Where the counter reaches further.
                if !(self.depth + 1).is_power_of_two() {
                    m.assert_always("fits", level.q.le(self.depth));
                }
            });
        }
    }

    fn timing(&self) -> Timing {
        let latency = if self.storage == FifoStorage::Registers { 1u64 } else { 2 };
        Timing::new().latency(latency).beat(if self.depth == 1 { 2u64 } else { 1 })
    }
}

impl StreamFifo {
    /// Place in a ring of `places`, moved on by `step` and set back by `clear_i`.
    fn pointer(m: &mut Module, name: &str, places: u32, clear: Signal, step: Signal) -> Signal {
        let ty = uint(index_width(places.into()));
        let at = m.reg_init(&format!("{name}_q"), ty, 0);
        let next = m.wire(&format!("{name}_next"), wrapping_next(at.q, places - 1));
        at.next(mux(clear, ty.lit(0), mux(step, next, at.q)));
        at.q
    }

    fn registers_of(&self, m: &mut Module, io: &StreamFifoPorts, push: Signal, pop: Signal, level: Signal) {
        m.connect(io.output.valid, level.any());
        if self.depth == 1 {
            let data = m.reg("data_q", uint(self.width));
            data.next_when(push, io.input.data.data);
            m.unused(pop);
            m.connect(io.output.data.data, data.q);
            return;
        }
        let write = Self::pointer(m, "write", self.depth, io.clear_i, push);
        let read = Self::pointer(m, "read", self.depth, io.clear_i, pop);
        let words = m.regs("word", uint(self.width), self.depth);
        m.for_each("words", self.depth, |m, i| {
            let here = m.wire("here", push & write.eq(i.value(write.width())));
            words.next_when(m, i, here, io.input.data.data);
        });
        m.connect(io.output.data.data, words.q.at(read));
    }

    /// The read register of the memory is the last place: a word is read ahead when it is free.
    fn memory(&self, m: &mut Module, io: &StreamFifoPorts, push: Signal, implementation: RamImplementation) {
        // A place for each beat, also for the beat in the read register: a word is never read and written at once.
        let places = self.depth;
        let ty = uint(bits_for(places.into()));
        let stored = m.reg_init("stored_q", ty, 0);
        let shown = m.reg_init("shown_q", bit(), 0);
        // A word in the memory can be read from the cycle after its write on.
        let free = m.wire("free", !shown.q | io.output.ready);
        let fetch = m.wire("fetch", stored.q.any() & free);
        let moved = stored.q.wrapping_add(push.extend(ty.width)).wrapping_sub(fetch.extend(ty.width));
        let moved = m.wire("stored_next", moved);
        stored.next(mux(io.clear_i, ty.lit(0), moved));
        shown.next((fetch | (shown.q & !io.output.ready)) & !io.clear_i);
        let write = Self::pointer(m, "write", places, io.clear_i, push);
        let read = Self::pointer(m, "read", places, io.clear_i, fetch);
        let ram = m.instance("u_ram", Ram::words(places, self.width, implementation));
        m.connect(ram.write_i, push);
        m.connect(ram.write_address_i, write);
        m.connect(ram.data_i, io.input.data.data);
        m.connect(ram.read_i, fetch);
        m.connect(ram.read_address_i, read);
        m.connect(io.output.valid, shown.q);
        m.connect(io.output.data.data, ram.data_o);
    }
}

impl CatalogBlock for StreamFifo {
    fn configurations() -> Vec<Self> {
        let set = |width, depth, storage, slack| Self { width, depth, storage, slack };
        vec![
            set(1, 1, FifoStorage::Registers, 0),
            set(9, 2, FifoStorage::Registers, 0),
            set(70, 5, FifoStorage::Registers, 1),
            set(8, 2, FifoStorage::Memory, 1),
            set(33, 13, FifoStorage::Memory, 1),
            set(8, 4, FifoStorage::BlackBox, 1),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |depth, storage| Proof {
            block: Self { width: 4, depth, storage, slack: 0 },
            depth: 8,
            cover_depth: 14,
            induction: true,
        };
        vec![
            proof(1, FifoStorage::Registers),
            proof(3, FifoStorage::Registers),
            proof(4, FifoStorage::Registers),
            proof(2, FifoStorage::Memory),
            proof(3, FifoStorage::Memory),
        ]
    }
}

/// A FIFO for a stream of any bundle; `name` is the instance's, without `u_`. It is not cleared.
#[track_caller]
pub fn fifo<B: Bundle>(m: &mut Module, name: &str, depth: u32, spec: &B::Spec, from: &Stream<B>) -> Stream<B> {
    let u = m.instance(&format!("u_{name}"), StreamFifo::registers(B::width(spec), depth));
    m.connect(u.clear_i, 0);
    carry(m, name, spec, from, (&u.input, &u.output))
}
