//! Execution controller: walks the index buffer, tile after tile, and makes steps of the array.
//!
//! Three places form a pipeline: the entry that is read, the channel whose words are read, the step. Each moves when
//! the one before it is free, so that nothing is lost while the array or a buffer waits.

use crate::lang::{
    About, Block, Bundle, CatalogBlock, Field, FieldOption, In, InBundle, Module, Out, OutOption, OutStream, Proof,
    Signal, Timing, Type, bit, bits_for, bundle, index_width, mux, parameters, ports, uint,
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
        /// A mode in which each rescale ends a part of its tile.
        explicit: bool = false, tag "explicit";
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
        /// Explicit requantization: the sums of a part leave with its rescale.
        explicit: FieldOption = bit().when(p.explicit),
    }
}

bundle! {
    /// A step of the array, without its operands: they are on the buffers' outputs.
    pub struct Step(_unit: ()) {
        /// First step of a tile, or of a part of it.
        first: Field = bit(),
        /// Last step of a tile, or of a part of it.
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
        /// The entries are not needed any more.
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
        /// There is a place for the sums of one more tile, or part.
        room_i: In = bit(),
        /// It is taken.
        take_o: Out = bit(),
        /// With take_o: a rescale ends the part, so the sums of the parts before it count twice.
        doubles_o: OutOption = bit().when(p.explicit),
        /// With take_o: it is the last part of its tile.
        ends_o: OutOption = bit().when(p.explicit),
        /// Steps; their words are the ones read last.
        step: OutStream<Step> = (),
    }
}

impl Block for ExecutionController {
    type Ports = ExecutionControllerPorts;
    const ABOUT: About = About {
        name: "execution_controller",
        summary: "walks the channel indices of each tile and makes steps of the array",
        contract: "For each panel of A, for each panel of B: the entries of the index buffer in order, each a step.\n\
            A step comes two cycles after its entry is read; without a wait one comes in each cycle, also from tile\n\
            to tile. The last step of a tile waits for a place for its sums. With tiles_explicit_i so does each\n\
            rescale, and the step after it begins a new part. A panel of B is freed with the last step of its tile,\n\
            a panel of A with its last tile, the indices with the last tile of all. An entry is 0x8000, or a\n\
            channel below `channels`. At any other entry error_o rises, and no step follows.",
        reference: "Tender, section IV-A, figure 6(a)",
    };

    fn build(&self, m: &mut Module, io: &ExecutionControllerPorts) {
        let tiles = &io.tiles;
        let index_ty = uint(index_width(self.steps.into()));
        let (go, advance) = (m.net("go", bit()), m.net("advance", bit()));

        m.comment("The entry that is read next, and its tile.");
        let active = m.reg_init("active_q", bit(), 0);
        let index = m.reg("index_q", index_ty);
        let column = m.reg("column_q", uint(16));
        let row = m.reg("row_q", uint(16));
        let kept = m.reg_init("kept_q", bit(), 0);
        let reads = m.wire("reads", active.q & io.index_valid_i & (!kept.q | go) & !io.clear_i);
        let counts = |at: Signal, of: Signal| {
            let width = of.width();
            at.extend(width).wrapping_add(1).eq(of)
        };
        let index_wide = index.q.extend(tiles.steps.width().max(index_ty.width));
        let last = m.wire("last", counts(index_wide, tiles.steps));
        let last_column = m.wire("last_column", last & counts(column.q, tiles.column_tiles));
        let last_row = m.wire("last_row", last_column & counts(row.q, tiles.row_tiles));
        active.next((io.begin_i | (active.q & !(reads & last_row))) & !io.clear_i);
        let from_zero = |ty: Type, end, q: Signal| mux(end, ty.lit(0), q.wrapping_add(1));
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
        let part = tiles.explicit.map(|explicit| m.wire("ends_part", explicit & rescale));
        let leaves = part.map_or(last_now, |part| m.wire("leaves", last_now | part));
        let ready = m.wire("ready", io.a_valid_i & io.b_valid_i & (!leaves | io.room_i));
        m.connect(go, kept.q & !bad & ready & advance & !io.clear_i);
        m.connect(io.read_o, go & !rescale);
        let place = index_width(self.depth.into());
        m.connect(io.channel_o, channel.slice(0..place));
        let ends = m.wire("ends", go & last_now);
        m.connect(io.take_o, go & leaves);
        let (mut begins, mut behind_part) = (first_now, None);
        if let (Some(part), Some(doubles), Some(last_part)) = (part, io.doubles_o, io.ends_o) {
            m.connect(doubles, rescale);
            m.connect(last_part, last_now);
            let fresh = m.reg_init("fresh_q", bit(), 0);
            fresh.next(mux(go, part, fresh.q) & !io.clear_i & !io.begin_i);
            begins = m.wire("begins", first_now | fresh.q);
            behind_part = Some(fresh.q);
        }
        m.connect(io.b_free_o, ends);
        m.connect(io.a_free_o, ends & last_column_now);
        m.connect(io.index_free_o, ends & last_row_now);

        m.comment("The step.");
        let offered = m.reg_init("offered_q", bit(), 0);
        m.connect(advance, !offered.q | io.step.ready);
        offered.next((go | (offered.q & !io.step.ready)) & !io.clear_i);
        m.connect(io.step.valid, offered.q);
        let step = Step { first: begins, last: leaves, rescale };
        let held = step.hold(m, "step", go);
        io.step.data.drive(m, "step", &held);
        m.connect(io.busy_o, active.q | kept.q | offered.q);
        m.formal(|m| properties(m, io, behind_part));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(2)
    }
}

/// Entries, reads and steps are counted from the ports alone, and the prover chooses the entry whose word is followed.
fn properties(m: &mut Module, io: &ExecutionControllerPorts, behind_part: Option<Signal>) {
    let tiles = &io.tiles;
    let bit_of = |m: &mut Module, name: &str| m.reg_init(name, bit(), 0);
    m.comment("The environment: sizes are right and steady, a beginning only when idle, and panels stay until freed.");
    let begun = bit_of(m, "formal_begun_q");
    begun.next((begun.q | io.begin_i) & !io.clear_i);
    for (name, size) in [("rows", tiles.row_tiles), ("columns", tiles.column_tiles), ("steps", tiles.steps)] {
        let before = m.reg(&format!("formal_{name}_q"), size.ty());
        before.next(size);
        m.assume(&format!("{name}_from_one_on"), size.any() & size.le(3));
        m.assume(&format!("{name}_steady"), !begun.q | size.eq(before.q));
    }
    m.assume("begins_when_idle", !io.begin_i | !io.busy_o);
    let stays = |m: &mut Module, name: &str, valid: Signal, free: Signal| {
        let kept = m.reg_init(&format!("formal_{name}_q"), bit(), 0);
        kept.next(valid & !free & !io.clear_i);
        m.assume(&format!("{name}_stays"), !kept.q | valid);
    };
    stays(m, "index", io.index_valid_i, io.index_free_o);
    stays(m, "a", io.a_valid_i, io.a_free_o);
    stays(m, "b", io.b_valid_i, io.b_free_o);
    stays(m, "room", io.room_i, io.take_o);

    let entry = m.reg("formal_entry_q", io.index_entry_i.ty());
    entry.next(io.index_entry_i);
    let stands = bit_of(m, "formal_stands_q");
    stands.next(!io.index_read_o);
    m.assume("entry_stays", !stands.q | io.index_entry_i.eq(entry.q));
    m.assume("channels_steady", !begun.q | tiles.channels.eq(2));

    m.comment("Each entry is read once, in order, and makes one step.");
    let place_ty = uint(2);
    let from_zero = |counts: Signal, last: Signal, q: Signal| {
        let next = mux(last, place_ty.lit(0), q.wrapping_add(1));
        mux(io.clear_i | io.begin_i, place_ty.lit(0), mux(counts, next, q))
    };
    let steps = tiles.steps.extend(tiles.steps.width().max(2));
    let last_of = |q: Signal| q.extend(steps.width()).wrapping_add(1).eq(steps);
    let next_read = m.reg_init("formal_next_read_q", place_ty, 0);
    next_read.next(from_zero(io.index_read_o, last_of(next_read.q), next_read.q));
    let address = io.index_address_o;
    let wide = address.width().max(2);
    m.assert_always("reads_in_order", !io.index_read_o | address.extend(wide).eq(next_read.q.extend(wide)));
    m.assert_always("reads_what_is_there", !io.index_read_o | io.index_valid_i);
    let moves = io.step.fire();
    let next_step = m.reg_init("formal_next_step_q", place_ty, 0);
    next_step.next(from_zero(moves, last_of(next_step.q), next_step.q));
    let (mut first, mut last) = (!next_step.q.any(), last_of(next_step.q));
    if let Some(explicit) = tiles.explicit {
        m.comment("After a part that left, another begins; a rescale ends one.");
        let ended = bit_of(m, "formal_ended_q");
        ended.next(mux(moves, io.step.last, ended.q) & !io.clear_i & !io.begin_i);
        let before = m.reg("formal_explicit_q", bit());
        before.next(explicit);
        m.assume("explicit_steady", !begun.q | explicit.eq(before.q));
        first = first | ended.q;
        if let Some(fresh) = behind_part {
            m.comment("For induction: properties of the step that follows.");
            let follows = mux(io.step.valid, explicit & io.step.rescale, ended.q & fresh);
            m.assert_always("a_part_begins_behind_a_rescale", fresh.eq(follows));
            m.assert_always("no_part_but_the_last_ends_a_tile", !ended.q | fresh | io.step.valid | !next_step.q.any());
        }
        last = last | (explicit & io.step.rescale);
    }
    m.assert_always("first_is_first", !io.step.valid | io.step.first.eq(first));
    m.assert_always("last_is_last", !io.step.valid | io.step.last.eq(last));
    let ahead = m.reg_init("formal_ahead_q", uint(3), 0);
    let moved = ahead.q.wrapping_add(io.index_read_o.extend(3)).wrapping_sub(moves.extend(3));
    ahead.next(mux(io.clear_i, uint(3).lit(0), moved));
    m.assert_always("two_ahead_at_most", ahead.q.le(2));
    m.assert_always("a_step_was_read", !io.step.valid | ahead.q.any());

    m.comment("Panels are read while they are there, and given back once a tile.");
    m.assert_always("words_of_panels", !io.read_o | (io.a_valid_i & io.b_valid_i));
    let freed = io.ends_o.map_or(io.take_o, |ends| io.take_o & ends);
    m.assert_always("freed_with_its_place", freed.eq(io.b_free_o) & (!io.take_o | io.room_i));
    m.assert_always("a_with_b", !io.a_free_o | io.b_free_o);
    m.assert_always("indices_with_a", !io.index_free_o | io.a_free_o);
    let column = m.reg_init("formal_column_q", uint(16), 0);
    let last_column = column.q.wrapping_add(1).eq(tiles.column_tiles);
    let none = uint(16).lit(0);
    let restart = io.clear_i | io.begin_i;
    let counted = mux(last_column, none, column.q.wrapping_add(1));
    column.next(mux(restart, none, mux(io.b_free_o, counted, column.q)));
    m.assert_always("a_row_of_tiles", !io.b_free_o | io.a_free_o.eq(last_column));
    let row = m.reg_init("formal_row_q", uint(16), 0);
    row.next(mux(restart, none, mux(io.a_free_o, row.q.wrapping_add(1), row.q)));
    let last_row = row.q.wrapping_add(1).eq(tiles.row_tiles);
    m.assert_always("all_rows", !io.a_free_o | io.index_free_o.eq(last_row));
    let offered = bit_of(m, "formal_offered_q");
    offered.next(io.step.valid & !io.step.ready & !io.clear_i);
    m.assert_always("an_offer_stays", !offered.q | io.step.valid);
    let wrong = bit_of(m, "formal_wrong_q");
    wrong.next(io.error_o & !io.clear_i);
    m.assert_always("an_error_stays", !wrong.q | (io.error_o & !io.index_read_o));
    m.cover("a_second_row", io.a_free_o & row.q.eq(1));
    m.cover("an_error", wrong.q & !io.step.valid);
}

impl CatalogBlock for ExecutionController {
    // A few vectors are far longer than the others.
    const SAMPLE_VECTORS: Option<u64> = Some(400);

    fn configurations() -> Vec<Self> {
        let set = |depth, steps, explicit| Self { depth, steps, explicit };
        vec![set(2, 2, false), set(33, 70, false), set(5, 9, true)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |explicit| {
            let block = Self { depth: 3, steps: 3, explicit };
            Proof { block, depth: 10, cover_depth: 16, induction: true }
        };
        vec![prove(false), prove(true)]
    }
}
