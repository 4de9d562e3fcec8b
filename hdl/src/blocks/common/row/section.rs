//! Arithmetic that nothing stops, between two streams.

use super::pipe::later_valid;
use crate::blocks::common::{StreamFifo, StreamFifoPorts};
use crate::lang::{Module, Signal, bit, bits_for, mux, uint};

/// A pipeline that nothing stops, and a FIFO at its end with a place for every beat inside.
#[derive(Debug)]
pub struct Section {
    /// A beat may begin.
    pub room: Signal,
    /// To be driven: a beat begins.
    pub enters: Signal,
    /// To be driven: a beat has left the FIFO.
    pub leaves: Signal,
    /// Beats come out here; [`Section::catch`] puts them in.
    pub fifo: StreamFifoPorts,
    latency: u32,
}

impl Section {
    /// Beats that can be inside, in the pipeline of so many cycles and in the FIFO. There is one more for the cycle in
    /// which a beat is seen to have left.
    #[must_use]
    pub fn places(latency: u32) -> u32 {
        latency + 2
    }

    /// A pipeline of `latency` cycles for beats of `width` bits. `clear` drops all beats.
    #[track_caller]
    pub fn new(m: &mut Module, name: &str, (latency, width): (u32, u32), clear: Signal) -> Self {
        let depth = Self::places(latency);
        let block = StreamFifo::registers(width, depth);
        let fifo = m.instance(&format!("u_{name}_fifo"), block);
        m.connect(fifo.clear_i, clear);
        m.unused(fifo.input.ready);
        m.unused(fifo.level_o);
        m.unused(fifo.almost_full_o);
        let (enters, leaves) = (m.net(&format!("{name}_enters"), bit()), m.net(&format!("{name}_leaves"), bit()));
        let ty = uint(bits_for(depth.into()));
        let inside = m.reg_init(&format!("{name}_inside_q"), ty, 0);
        let moved = inside.q.wrapping_add(enters.extend(ty.width)).wrapping_sub(leaves.extend(ty.width));
        inside.next(mux(clear, ty.lit(0), moved));
        let room = m.wire(&format!("{name}_room"), inside.q.lt(depth) & !clear);
        Self { room, enters, leaves, fifo, latency }
    }

    /// `data` is the output of the pipeline, `latency` cycles after `begins`.
    #[track_caller]
    pub fn catch(&self, m: &mut Module, name: &str, begins: Signal, data: Signal, clear: Signal) {
        let valid = later_valid(m, &format!("{name}_valid"), begins, self.latency, clear);
        m.connect(self.fifo.input.valid, valid);
        m.connect(self.fifo.input.data.data, data);
    }
}
