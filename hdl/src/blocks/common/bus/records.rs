//! Rings of places in registers, and the buffer of beats.

use crate::blocks::common::stream::Word;
use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{
    About, Array, Block, Bundle, In, Module, Out, OutStream, Signal, bit, bits_for, index_width, mux, parameters,
    ports, uint,
};

/// `at` counts from 0 to `last` and starts again.
#[track_caller]
pub(super) fn wrapping_next(at: Signal, last: u32) -> Signal {
    let zero = at.ty().lit(0);
    mux(at.eq(last), zero, at.wrapping_add(1))
}

/// A place in a ring of `places`, moved on by `step`.
#[track_caller]
pub(super) fn pointer(m: &mut Module, name: &str, places: u32, step: Signal) -> Signal {
    let at = m.reg_init(name, uint(index_width(places.into())), 0);
    at.next_when(step, wrapping_next(at.q, places - 1));
    at.q
}

/// A count that goes up and down, up to `most`.
#[track_caller]
pub(super) fn counter(m: &mut Module, name: &str, most: u32, up: Signal, down: Signal) -> Signal {
    let width = bits_for(most.into());
    let count = m.reg_init(name, uint(width), 0);
    count.next(count.q.wrapping_add(up.extend(width)).wrapping_sub(down.extend(width)));
    count.q
}

/// What is written to a ring of registers.
pub(super) struct Put<'a, B> {
    /// It is written in this cycle.
    pub(super) put: Signal,
    /// Its place.
    pub(super) at: Signal,
    pub(super) value: &'a B,
}

/// A ring of registers. Returns the words at the places `looked_at`, and all words.
#[track_caller]
pub(super) fn ring<B: Bundle, const N: usize>(
    m: &mut Module,
    name: &str,
    (spec, places): (&B::Spec, u32),
    Put { put, at, value }: Put<'_, B>,
    looked_at: [(&str, Signal); N],
) -> ([B; N], Array) {
    let words = m.regs(name, uint(B::width(spec)), places);
    let word = m.wire(&format!("{name}_word"), value.pack());
    m.for_each(&format!("{name}s"), places, |m, i| {
        let here = m.wire("here", put & at.eq(i.value(at.width())));
        words.next_when(m, i, here, word);
    });
    let found = looked_at.map(|(what, place)| {
        let found = m.wire(&format!("{what}_word"), words.q.at(place));
        B::unpack(m, what, spec, found)
    });
    (found, words.q)
}

parameters! {
    /// Elaboration parameters.
    pub struct AxiBuffer {
        /// Bits of a beat.
        width: u32 = 129, in 1..=65536, tag "w";
        /// Beats that fit.
        depth: u32 = 128, in 2..=65536, tag "d";
        /// Where they are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
}

ports! {
    /// Ports of [`AxiBuffer`].
    pub struct AxiBufferPorts(p: &AxiBuffer) {
        /// Drops all beats at the coming edge.
        clear_i: In = bit(),
        /// A beat comes, for which there is room.
        push_i: In = bit(),
        /// The beat.
        data_i: In = uint(p.width),
        /// The same beats.
        output: OutStream<Word> = p.width,
        /// Beats inside.
        level_o: Out = uint(bits_for(p.depth.into())),
    }
}

impl Block for AxiBuffer {
    type Ports = AxiBufferPorts;
    const ABOUT: About = About {
        name: "axi_buffer",
        summary: "beats in a memory whose places were promised beforehand",
        contract: "output has the pushed beats, in order. A beat comes out two cycles after its push at the earliest.\n\
            A push into a full buffer is not allowed.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &AxiBufferPorts) {
        let ty = uint(bits_for(self.depth.into()));
        let count = |m: &mut Module, name: &str, up: Signal, down: Signal| {
            let count = m.reg_init(name, ty, 0);
            let moved = count.q.wrapping_add(up.extend(ty.width)).wrapping_sub(down.extend(ty.width));
            count.next(mux(io.clear_i, ty.lit(0), moved));
            count.q
        };
        let shown = m.reg_init("shown_q", bit(), 0);
        // The memory's read register is the last place: it is filled when it is free.
        let fetch = m.net("fetch", bit());
        let pop = m.wire("pop", io.output.fire());
        let level = count(m, "level_q", io.push_i, pop);
        let stored = count(m, "stored_q", io.push_i, fetch);
        m.connect(fetch, stored.any() & (!shown.q | io.output.ready));
        shown.next((fetch | (shown.q & !io.output.ready)) & !io.clear_i);
        let place = |m: &mut Module, name: &str, step: Signal| {
            let at_ty = uint(index_width(self.depth.into()));
            let at = m.reg_init(name, at_ty, 0);
            let next = wrapping_next(at.q, self.depth - 1);
            at.next(mux(io.clear_i, at_ty.lit(0), mux(step, next, at.q)));
            at.q
        };
        let write = place(m, "write_q", io.push_i);
        let read = place(m, "read_q", fetch);
        let ram = m.instance("u_ram", Ram::words(self.depth, self.width, self.storage));
        m.connect(ram.write_i, io.push_i);
        m.connect(ram.write_address_i, write);
        m.connect(ram.data_i, io.data_i);
        m.connect(ram.read_i, fetch);
        m.connect(ram.read_address_i, read);
        m.connect(io.output.valid, shown.q);
        m.connect(io.output.data.data, ram.data_o);
        m.connect(io.level_o, level);
        m.formal(|m| {
            m.assert_always("room_was_promised", !io.push_i | level.lt(self.depth) | io.clear_i);
            m.assert_always("counts", level.eq(stored + shown.q) & level.le(self.depth));
        });
    }
}
