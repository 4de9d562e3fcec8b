//! Width converter: several narrow beats become a wide one, or the other way round, with strobes and `last`.

use crate::lang::{
    About, Block, CatalogBlock, Field, In, InStream, Module, OutStream, Proof, Signal, Timing, bit, bundle, cat,
    index_width, mux, or_all, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct StreamWidthConverter {
        /// Bits of a beat that comes.
        input_width: u32 = 32, in 1..=4096, tag "i";
        /// Bits of a beat that goes; one of the two widths is a multiple of the other.
        output_width: u32 = 128, in 1..=4096, tag "o";
        /// Bits that share a strobe.
        granule: u32 = 8, in 1..=4096, note "a divisor of both widths", tag "g", named "when set";
    }
    rules = |p, rules| {
        let (low, high) = (p.input_width.min(p.output_width), p.input_width.max(p.output_width));
        let factor = format!("a multiple or a divisor of input_width = {}", p.input_width);
        rules.demand(high.is_multiple_of(low), "output_width", p.output_width, factor);
        rules.demand(low.is_multiple_of(p.granule), "granule", p.granule, format!("a divisor of {low}"));
        rules.demand(high / low <= 64, "output_width", p.output_width, "at most 64 times wider or narrower");
    };
}

bundle! {
    /// Part of a packet of bytes.
    pub struct Part(shape: (u32, u32)) {
        /// The bits.
        data: Field = uint(shape.0),
        /// Per granule: it is part of the packet. Granules of a packet are strobed from the first one on without gaps.
        strobe: Field = uint(shape.0 / shape.1),
        /// The beat is the last one of its packet.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`StreamWidthConverter`].
    pub struct StreamWidthConverterPorts(p: &StreamWidthConverter) {
        /// Drops all beats inside at the coming edge. Nothing is taken in this cycle; a beat that leaves in this cycle
        /// has left. The next beat begins a packet.
        clear_i: In = bit(),
        /// Beats that come.
        input: InStream<Part> = (p.input_width, p.granule),
        /// The same granules in beats of another width.
        output: OutStream<Part> = (p.output_width, p.granule),
    }
}

impl Block for StreamWidthConverter {
    type Ports = StreamWidthConverterPorts;
    const ABOUT: About = About {
        name: "stream_width_converter",
        summary: "beats of a stream become wider or narrower, with strobes and last",
        contract: "To wider beats: n = output_width / input_width beats become one, or fewer at the end of a\n\
            packet. The first one is in the low bits.\n\
            Parts that did not come have data and strobe 0. A beat comes out one cycle after its last part came in.\n\
            To narrower beats: each beat becomes up to n = input_width / output_width beats, low bits\n\
            first. Trailing parts without a strobe are left out, except the first part of a beat. last stays with\n\
            the last part. The first part comes out one cycle after the beat came in.\n\
            The narrower side moves one beat a cycle without a break.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &StreamWidthConverterPorts) {
        if self.output_width > self.input_width {
            self.widen(m, io);
        } else if self.output_width < self.input_width {
            self.narrow(m, io);
        } else {
            self.pass(m, io);
        }
        m.formal(|m| self.properties(m, io));
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(1).beat(u64::from(self.ratio()))
    }
}

impl StreamWidthConverter {
    /// Narrow beats in a wide one.
    #[must_use]
    pub fn ratio(&self) -> u32 {
        let (low, high) = (self.input_width.min(self.output_width), self.input_width.max(self.output_width));
        high / low
    }

    fn pass(&self, m: &mut Module, io: &StreamWidthConverterPorts) {
        let full = m.reg_init("full_q", bit(), 0);
        m.connect(io.input.ready, (!full.q | io.output.ready) & !io.clear_i);
        let load = m.wire("load", io.input.fire());
        full.next((load | (full.q & !io.output.ready)) & !io.clear_i);
        m.connect(io.output.valid, full.q);
        let held = crate::lang::Bundle::hold(&io.input.data, m, "held", load);
        crate::lang::Bundle::drive(&io.output.data, m, "output", &held);
    }

    fn widen(&self, m: &mut Module, io: &StreamWidthConverterPorts) {
        let (parts, width) = (self.ratio(), self.input_width);
        let strobes = width / self.granule;
        let place_ty = uint(index_width(parts.into()));
        let complete = m.reg_init("complete_q", bit(), 0);
        let place = m.reg_init("place_q", place_ty, 0);
        let last = m.reg("last_q", bit());
        m.connect(io.input.ready, (!complete.q | io.output.ready) & !io.clear_i);
        let load = m.wire("load", io.input.fire());
        let ends = m.wire("ends", place.q.eq(parts - 1) | io.input.last);
        complete.next(((load & ends) | (complete.q & !io.output.ready)) & !io.clear_i);
        let next = mux(ends, place_ty.lit(0), place.q.wrapping_add(1));
        place.next(mux(io.clear_i, place_ty.lit(0), mux(load, next, place.q)));
        last.next_when(load, io.input.last);
        let data = m.regs("data", uint(width), parts);
        let strobe = m.regs("strobe", uint(strobes), parts);
        let first = m.wire("first", load & place.q.eq(0));
        m.for_each("parts", parts, |m, i| {
            // The first part of a beat empties all others.
            let here = m.wire("here", load & place.q.eq(i.value(place_ty.width)));
            let gate = |s: Signal| s & here.repeat(s.width());
            let changes = m.wire("changes", here | first);
            data.next_when(m, i, changes, gate(io.input.data.data));
            strobe.next_when(m, i, changes, gate(io.input.strobe));
        });
        m.connect(io.output.valid, complete.q);
        m.connect(io.output.data.data, data.q.packed());
        m.connect(io.output.strobe, strobe.q.packed());
        m.connect(io.output.last, last.q);
    }

    fn narrow(&self, m: &mut Module, io: &StreamWidthConverterPorts) {
        let (parts, width) = (self.ratio(), self.output_width);
        let strobes = width / self.granule;
        let data = m.reg("data_q", uint(self.input_width));
        let strobe = m.reg("strobe_q", uint(self.input_width / self.granule));
        let last = m.reg("last_q", bit());
        let full = m.reg_init("full_q", bit(), 0);
        // The parts after the present one.
        let rest = strobe.q.slice(strobes..strobes * parts);
        let final_part = m.wire("final_part", !rest.any());
        let done = m.wire("done", io.output.fire() & final_part);
        m.connect(io.input.ready, (!full.q | done) & !io.clear_i);
        let load = m.wire("load", io.input.fire());
        full.next((load | (full.q & !done)) & !io.clear_i);
        let shift = m.wire("shift", io.output.fire());
        let down = |s: Signal, by: u32| cat(&[uint(by).lit(0), s.slice(by..s.width())]);
        data.next_when(load | shift, mux(load, io.input.data.data, down(data.q, width)));
        strobe.next_when(load | shift, mux(load, io.input.strobe, down(strobe.q, strobes)));
        last.next_when(load, io.input.last);
        m.connect(io.output.valid, full.q);
        m.connect(io.output.data.data, data.q.slice(0..width));
        m.connect(io.output.strobe, strobe.q.slice(0..strobes));
        m.connect(io.output.last, last.q & final_part);
    }

    /// Strobed granules and packets are conserved, and an offer stays.
    fn properties(&self, m: &mut Module, io: &StreamWidthConverterPorts) {
        let ty = uint(8);
        let ones = |s: Signal| {
            let bits: Vec<Signal> = (0..s.width()).map(|k| s.bit(k).extend(8)).collect();
            bits.into_iter().fold(ty.lit(0), |sum, b| sum.wrapping_add(b))
        };
        // From the first one on without gaps.
        let low = io.input.strobe;
        m.assume("no_gaps", (low & low.wrapping_add(1)).eq(0));
        let came = m.reg_init("formal_came_q", ty, 0);
        let gone = m.reg_init("formal_gone_q", ty, 0);
        let more = mux(io.input.fire(), ones(io.input.strobe), ty.lit(0));
        let less = mux(io.output.fire(), ones(io.output.strobe), ty.lit(0));
        let ahead = m.wire("formal_ahead", came.q.wrapping_add(more));
        came.next(ahead);
        gone.next(mux(io.clear_i, ahead, gone.q.wrapping_add(less)));
        let inside = came.q.wrapping_sub(gone.q);
        let most = self.input_width.max(self.output_width) / self.granule;
        m.assert_always("granules_fit", inside.le(most));
        let packets_in = m.reg_init("formal_packets_in_q", ty, 0);
        let packets_out = m.reg_init("formal_packets_out_q", ty, 0);
        let more = (io.input.fire() & io.input.last).extend(8);
        let less = (io.output.fire() & io.output.last).extend(8);
        let begun = m.wire("formal_packets", packets_in.q.wrapping_add(more));
        packets_in.next(begun);
        packets_out.next(mux(io.clear_i, begun, packets_out.q.wrapping_add(less)));
        let open = packets_in.q.wrapping_sub(packets_out.q);
        m.assert_always("one_end_inside", open.le(1));
        m.assert_always("ends_with_its_granules", !(io.output.fire() & io.output.last) | open.eq(1));
        let waits = m.reg_init("formal_waits_q", bit(), 0);
        waits.next(io.output.valid & !io.output.ready & !io.clear_i);
        m.assert_always("offer_stays", !waits.q | io.output.valid);
        let quiet = or_all(bit(), &[io.output.valid, io.input.valid]);
        m.cover("whole_packet", !quiet & packets_out.q.eq(2));
    }
}

impl CatalogBlock for StreamWidthConverter {
    fn configurations() -> Vec<Self> {
        let set = |input_width, output_width, granule| Self { input_width, output_width, granule };
        vec![set(8, 8, 8), set(8, 24, 8), set(72, 24, 8), set(128, 32, 8), set(1, 5, 1), set(6, 2, 1), set(256, 8, 8)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |input_width, output_width| Proof {
            block: Self { input_width, output_width, granule: 1 },
            depth: 8,
            cover_depth: 14,
            induction: true,
        };
        vec![proof(1, 3), proof(3, 1), proof(2, 2)]
    }
}
