//! Panels of the right matrix, which one DMA reads, or two of them half of the channels each.

use super::panel_buffer::PanelBuffer;
use crate::blocks::common::bus::RowBeat;
use crate::lang::{
    About, Block, In, InStreams, Module, Out, OutOption, Signal, Timing, bit, connect_all, mux, parameters, ports, uint,
};

/// Bytes that addresses are multiples of.
const UNIT: u32 = 64;

parameters! {
    /// Elaboration parameters.
    pub struct WeightBuffer {
        /// Panels, whole.
        panels: PanelBuffer = PanelBuffer::default();
        /// DMAs that read them.
        readers: u32 = 1, in 1..=2, tag "n";
    }
}

impl WeightBuffer {
    /// Channels of the first half end at a multiple of this.
    fn unit(&self) -> u32 {
        (8 * UNIT / self.panels.word_width).max(1)
    }

    fn half(&self) -> PanelBuffer {
        let depth = match self.readers {
            1 => self.panels.depth,
            _ => self.panels.depth.div_ceil(2).next_multiple_of(self.unit()).min(self.panels.depth).max(2),
        };
        PanelBuffer { depth, ..self.panels.clone() }
    }

    /// Channels of the first half, of so many in all: the second half begins at an address that a DMA can have, and is
    /// empty if there are few.
    fn first_half(&self, m: &mut Module, channels: Signal) -> Signal {
        let (wide, unit) = (channels.extend(17), self.unit());
        let half = wide.wrapping_add(2 * unit - 1).slice(unit.trailing_zeros() + 1..17);
        let whole = m.wire("half_channels", half.shl(unit.trailing_zeros()).extend(17));
        m.wire("first_half", mux(whole.gt(wide), wide, whole).slice(0..16))
    }
}

ports! {
    /// Ports of [`WeightBuffer`].
    pub struct WeightBufferPorts(p: &WeightBuffer) {
        /// Drops all panels at the coming edge.
        clear_i: In = bit(),
        /// Channels of a panel; steady while one is inside.
        channels_i: In = uint(16),
        /// With two readers: channels of the first half. Follows channels_i in the same cycle.
        first_o: OutOption = uint(16).when(p.readers > 1),
        /// Panels that come, of each reader its half.
        input: InStreams<RowBeat> = (p.readers, p.panels.axi.clone()),
        /// The oldest panel is there, whole.
        valid_o: Out = bit(),
        /// Read a word of it.
        read_i: In = bit(),
        /// Which channel.
        address_i: In = p.panels.address(),
        /// The word read last, from the cycle after its read on.
        data_o: Out = uint(p.panels.word_width),
        /// The oldest panel is not needed any more, after this cycle's read.
        free_i: In = bit(),
    }
}

impl Block for WeightBuffer {
    type Ports = WeightBufferPorts;
    const ABOUT: About = About {
        name: "weight_buffer",
        summary: "panels of the right matrix in double buffers, from one DMA or two",
        contract: "As panel_buffer. With two readers the second one brings the channels from half of them on, rounded up\n\
            to a multiple of 64 bytes; with fewer channels it brings nothing.",
        reference: "Tender, section IV-A, figure 6(a)",
    };

    fn build(&self, m: &mut Module, io: &WeightBufferPorts) {
        let half = self.half();
        if self.readers == 1 {
            let panels = m.instance("u_panels", half);
            m.connect_stream(&panels.input, &io.input.at(0));
            connect_all!(m, panels, io, [clear_i, read_i, address_i, free_i]);
            m.connect(io.valid_o, panels.valid_o);
            m.connect(io.data_o, panels.data_o);
            m.unused(io.channels_i);
            return;
        }
        let first = self.first_half(m, io.channels_i);
        m.connect_option(io.first_o, Some(first));
        let both = m.wire("both", io.channels_i.gt(first));
        let address = io.address_i.extend(17);
        let second = m.wire("second", address.ge(first.extend(17)));
        let place = mux(second, address.wrapping_sub(first.extend(17)), address);
        let place = m.wire("place", place.slice(0..half.address().width));
        let valid = m.nets("half_valid", bit(), 2);
        let words = m.nets("half_word", uint(half.word_width), 2);
        m.for_each("half", 2, |m, k| {
            let panels = m.instance("u_panels", half.clone());
            m.connect_stream(&panels.input, &io.input.at(k));
            m.connect(panels.clear_i, io.clear_i);
            m.connect(panels.read_i, io.read_i & second.eq(k.value(1)));
            m.connect(panels.address_i, place);
            m.connect(panels.free_i, io.free_i);
            m.connect(valid.at(k), panels.valid_o);
            m.connect(words.at(k), panels.data_o);
        });
        let there = m.wire("there", valid.at(0) & (valid.at(1) | !both));
        m.connect(io.valid_o, there);
        let from = m.reg("from_q", bit());
        from.next_when(io.read_i & there, second);
        m.connect(io.data_o, words.at(from.q));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}
