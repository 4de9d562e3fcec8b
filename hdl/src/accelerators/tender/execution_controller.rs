//! Execution controller: walks the index buffer, tile after tile, and makes steps of the array.
//!
//! Three places follow each other: the entry that is read, the channel whose words are read, the step. Each moves when the one
//! before it is free, so that nothing is lost while the array or a buffer waits.

use crate::lang::{
    About, Block, Bundle, Field, In, InBundle, Module, Out, OutStream, Timing, bit, bits_for, bundle, index_width, mux,
    parameters, ports, uint,
};

/// Bits of an entry of the index buffer: bit 15 for a rescale step, the others for a channel.
pub(super) const ENTRY: u32 = 16;

parameters! {
    /// Elaboration parameters.
    pub struct ExecutionController {
        /// Channels of a panel.
        depth: u32 = 1024, in 2..=32768, tag "d";
        /// Entries of the index buffer.
        steps: u32 = 2048, in 2..=65536, tag "s";
    }
}

bundle! {
    /// The tiles of a product.
    pub struct Tiles(p: ExecutionController) {
        /// Panels of A, from 1 on.
        row_tiles: Field = uint(16),
        /// Panels of B, from 1 on; all of them meet each panel of A.
        column_tiles: Field = uint(16),
        /// Entries of the index buffer, from 1 on.
        steps: Field = uint(bits_for(p.steps.into())),
        /// Channels of a panel, from 1 on.
        channels: Field = uint(bits_for(p.depth.into())),
    }
}

bundle! {
    /// A step of the array, without its operands: those are on the buffers' outputs.
    pub struct Step(_unit: ()) {
        /// First step of a tile.
        first: Field = bit(),
        /// Last step of a tile.
        last: Field = bit(),
        /// All sums times 2; otherwise a product.
        rescale: Field = bit(),
    }
}

ports! {
    /// Ports of [`ExecutionController`].
    pub struct ExecutionControllerPorts(p: &ExecutionController) {
        /// Drops the tiles.
        clear_i: In = bit(),
        /// Begins; only while busy_o is low.
        begin_i: In = bit(),
        /// What to do; steady from begin_i on while busy_o.
        tiles: InBundle<Tiles> = p.clone(),
        /// Steps are to come, or one is offered.
        busy_o: Out = bit(),
        /// An entry is no channel and no rescale: nothing more is done up to clear_i.
        error_o: Out = bit(),
        /// The index buffer has its entries.
        index_valid_i: In = bit(),
        /// Read one.
        index_read_o: Out = bit(),
        /// Which one.
        index_address_o: Out = uint(index_width(p.steps.into())),
        /// The entry read last.
        index_entry_i: In = uint(ENTRY),
        /// They are not needed any more.
        index_free_o: Out = bit(),
        /// A panel of A is there.
        a_valid_i: In = bit(),
        /// It is not needed any more.
        a_free_o: Out = bit(),
        /// A panel of B is there.
        b_valid_i: In = bit(),
        /// It is not needed any more.
        b_free_o: Out = bit(),
        /// Read a word of both.
        read_o: Out = bit(),
        /// Which one.
        channel_o: Out = uint(index_width(p.depth.into())),
        /// There is a place for the sums of one more tile.
        room_i: In = bit(),
        /// It is taken.
        take_o: Out = bit(),
        /// Steps; their words are those read last.
        step: OutStream<Step> = (),
    }
}

impl Block for ExecutionController {
    type Ports = ExecutionControllerPorts;
    const ABOUT: About = About {
        name: "execution_controller",
        summary: "walks the channel indices of each tile and makes steps of the array",
        contract: "For each panel of A, for each panel of B: the entries of the index buffer in order, each a step. A step comes two cycles after its\n\
            entry is read; without a wait one comes in each cycle, also from tile to tile. The last step of a tile waits for a place for its\n\
            sums. A panel of B is freed with the last step of its tile, a panel of A with its last tile, the indices with the last one.\n\
            An entry is 0x8000, or a channel below `channels`; at any other one error_o rises, and no step follows.",
        reference: "Tender, section IV-A, figure 6(a)",
    };

    fn build(&self, m: &mut Module, io: &ExecutionControllerPorts) {
        let tiles = &io.tiles;
        let index_ty = uint(index_width(self.steps.into()));
        let (go, advance) = (m.net("go", bit()), m.net("advance", bit()));

        m.comment("The entry that is read next, and whose it is.");
        let active = m.reg_init("active_q", bit(), 0);
        let index = m.reg("index_q", index_ty);
        let column = m.reg("column_q", uint(16));
        let row = m.reg("row_q", uint(16));
        let kept = m.reg_init("kept_q", bit(), 0);
        let reads = m.wire("reads", active.q & io.index_valid_i & (!kept.q | go) & !io.clear_i);
        let counts = |at: crate::lang::Signal, of: crate::lang::Signal| {
            let width = of.width();
            at.extend(width).wrapping_add(1).eq(of)
        };
        let index_wide = index.q.extend(tiles.steps.width().max(index_ty.width));
        let last = m.wire("last", counts(index_wide, tiles.steps));
        let last_column = m.wire("last_column", last & counts(column.q, tiles.column_tiles));
        let last_row = m.wire("last_row", last_column & counts(row.q, tiles.row_tiles));
        active.next((io.begin_i | (active.q & !(reads & last_row))) & !io.clear_i);
        let from_zero = |ty: crate::lang::Type, end, q: crate::lang::Signal| mux(end, ty.lit(0), q.wrapping_add(1));
        index.next_when(io.begin_i | reads, from_zero(index_ty, io.begin_i | last, index.q));
        column.next_when(io.begin_i | (reads & last), from_zero(uint(16), io.begin_i | last_column, column.q));
        row.next_when(io.begin_i | (reads & last_column), from_zero(uint(16), io.begin_i, row.q));
        m.connect(io.index_read_o, reads);
        m.connect(io.index_address_o, index.q);

        m.comment("The entry that was read.");
        kept.next((reads | (kept.q & !go)) & !io.clear_i);
        let hold = |m: &mut Module, name: &str, value| {
            let held = m.reg(name, bit());
            held.next_when(reads, value);
            held.q
        };
        let is_first = m.wire("first", !index.q.any());
        let first_now = hold(m, "first_q", is_first);
        let last_now = hold(m, "last_q", last);
        let last_column_now = hold(m, "last_column_q", last_column);
        let last_row_now = hold(m, "last_row_q", last_row);
        let (rescale, channel) = (io.index_entry_i.msb(), io.index_entry_i.slice(0..ENTRY - 1));
        let width = tiles.channels.width().max(ENTRY - 1);
        let beyond = channel.extend(width).ge(tiles.channels.extend(width));
        let bad = m.wire("bad", mux(rescale, channel.any(), beyond));
        m.connect(io.error_o, kept.q & bad);
        let ready = m.wire("ready", io.a_valid_i & io.b_valid_i & (!last_now | io.room_i));
        m.connect(go, kept.q & !bad & ready & advance & !io.clear_i);
        m.connect(io.read_o, go & !rescale);
        let place = index_width(self.depth.into());
        m.connect(io.channel_o, channel.slice(0..place));
        let ends = m.wire("ends", go & last_now);
        m.connect(io.take_o, ends);
        m.connect(io.b_free_o, ends);
        m.connect(io.a_free_o, ends & last_column_now);
        m.connect(io.index_free_o, ends & last_row_now);

        m.comment("The step.");
        let offered = m.reg_init("offered_q", bit(), 0);
        m.connect(advance, !offered.q | io.step.ready);
        offered.next((go | (offered.q & !io.step.ready)) & !io.clear_i);
        m.connect(io.step.valid, offered.q);
        let step = Step { first: first_now, last: last_now, rescale };
        let held = step.hold(m, "step", go);
        io.step.data.drive(m, "step", &held);
        m.connect(io.busy_o, active.q | kept.q | offered.q);
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(2).beat(1u32)
    }
}
