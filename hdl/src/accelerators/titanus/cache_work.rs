//! The operation of a cache engine: what is wrong with it, where its rows and areas are, and the sides of a restore.

use super::cache_engine::CacheEngine;
use super::cache_operations::{AppendOperationPorts, RestoreOperationPorts};
use super::titanus_spec::BLOCK_BYTES;
use crate::accelerators::sizes::fit;
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{OperationControllerPorts, Own, Place, first_error};
use crate::blocks::titanus::{CacheReaderPorts, CacheWriterPorts};
use crate::lang::{Module, Signal, bit, mux, select, uint};

/// The operation in hand; steady from its beginning to its end.
pub(super) struct Work<'a> {
    /// Its fields, if it appends.
    pub append: &'a AppendOperationPorts,
    /// Tokens are restored, not appended.
    pub restores: Signal,
    /// Appended: a new sequence begins.
    pub begins: Signal,
    /// Tokens go to the context.
    pub keep: Signal,
    /// Restored tokens go to memory.
    pub to_rows: Signal,
    /// Tokens, from 1 on.
    pub tokens: Signal,
    /// Channels of a token, from 1 on.
    pub channels: Signal,
    /// Blocks of an area.
    pub lines: Signal,
    /// Rows of keys, rows of values.
    pub rows: [Place; 2],
    /// Address of the area of keys, of values.
    pub areas: [Signal; 2],
}

impl<'a> Work<'a> {
    pub fn new(
        m: &mut Module,
        restores: Signal,
        append: &'a AppendOperationPorts,
        restore: &RestoreOperationPorts,
        row_width: u32,
    ) -> Self {
        let either = |restored: Signal, appended: Signal| mux(restores, restored, appended);
        let tokens = m.wire("tokens", either(restore.tokens, append.tokens));
        let channels = m.wire("channels", either(restore.channels, append.channels));
        let rows = [
            (restore.key_address, append.key_address, restore.key_stride, append.key_stride),
            (restore.value_address, append.value_address, restore.value_stride, append.value_stride),
        ]
        .map(|(restored, appended, stride, append_stride)| Place {
            address: either(restored, appended),
            row_bytes: fit(channels, row_width),
            rows: tokens,
            stride: either(stride, append_stride),
        });
        Self {
            append,
            restores,
            begins: m.wire("begins_anew", !restores & !append.position.any()),
            keep: m.wire("keeps", either(!restore.rows, append.keep)),
            to_rows: m.wire("to_rows", restores & restore.rows),
            tokens,
            channels,
            lines: either(restore.lines, append.lines),
            rows,
            areas: [
                m.wire("area_k", either(restore.key_area, append.key_area)),
                m.wire("area_v", either(restore.value_area, append.value_area)),
            ],
        }
    }
}

/// What the cache says of its sequence.
pub(super) struct Sequence<'a> {
    pub writer: &'a CacheWriterPorts,
    pub reader: &'a CacheReaderPorts,
    /// Its prefill lacks tokens: there is no stream yet.
    pub filling: Signal,
    /// Tokens of the context.
    pub context_tokens: Signal,
    /// All tokens of an append are in, all blocks have left, and nothing is on its way to a DMA. Tokens may wait for
    /// the end of the prefill.
    pub settled: Signal,
    /// A new sequence waits for its begin.
    pub starting: Signal,
    /// The area of keys was full, the area of values.
    pub full: [Signal; 2],
}

/// What was damaged.
pub(super) struct Damage {
    /// Its kind; 0: nothing.
    pub kind: Signal,
    /// It is the values, not the keys.
    pub values: Signal,
    /// Address of the area.
    pub place: Signal,
}

/// A side of a restore, and how an operation ends.
pub(super) struct Course {
    /// The side that is restored is the values, not the keys.
    pub values: Signal,
    /// The side is asked for.
    pub asked: Signal,
    /// Blocks of it in memory.
    pub blocks: Signal,
    /// The operation ends well. None where operations overlap: nobody waits for it.
    pub good: Option<Signal>,
    /// A stream is damaged; an area is full.
    pub damaged: Signal,
    pub full: Signal,
}

impl CacheEngine {
    /// What the tables of fields cannot say: sizes that depend on the open sequence and on the context. Returns how many
    /// tokens there are after an append.
    pub(super) fn refuse(
        &self,
        m: &mut Module,
        work: &Work<'_>,
        restore: &RestoreOperationPorts,
        sequence: &Sequence<'_>,
        controller: &OperationControllerPorts,
    ) -> Signal {
        let (append, writer) = (work.append, sequence.writer);
        let both = m.wire("tokens_then", append.tokens + append.position);
        let goes_on = append.position.any();
        let place = goes_on & append.position.ne(writer.tokens_o);
        // Kept tokens go on where the context ends.
        let apart = goes_on & append.position.ne(sequence.context_tokens);
        let keep = m.wire("wrong_keep", append.keep & (apart | both.gt(self.spec.context)));
        let of_append = place | both.msb() | keep;
        let lines = restore.lines.extend(writer.blocks_k_o.width());
        let short = writer.blocks_k_o.gt(lines) | writer.blocks_v_o.gt(lines);
        let beyond = m.wire("beyond_context", restore.tokens.gt(self.spec.context));
        let of_restore = restore.tokens.ne(writer.tokens_o) | sequence.filling | short | (!restore.rows & beyond);
        let wrong_size = m.wire("wrong_size", mux(work.restores, of_restore, of_append));
        let decoder = restore.decoder.or(work.restores, append.decoder);
        controller.refuse(m, &decoder, bit().lit(0), wrong_size);
        both
    }

    /// Rows, then areas; of a restore areas, then rows. Commands are for rows of both sides, or for an area and rows of
    /// one.
    pub(super) fn place(
        &self,
        m: &mut Module,
        work: &Work<'_>,
        course: &Course,
        controller: &OperationControllerPorts,
    ) {
        let (restores, rows) = (work.restores, work.rows);
        let area = |address: Signal, lines: Signal| Place {
            address,
            row_bytes: uint(self.dma.row_width).lit(BLOCK_BYTES),
            rows: lines,
            stride: uint(32).lit(BLOCK_BYTES),
        };
        let yes = bit().lit(1);
        for (k, side) in [(0, 0), (1, 1)] {
            let area = area(work.areas[side], work.lines);
            controller.check(m, k, yes, area.or(restores, rows[side]));
            controller.check(m, k + 2, !restores | work.to_rows, rows[side].or(restores, area));
        }
        let blocks = course.blocks;
        let stream = area(mux(course.values, work.areas[1], work.areas[0]), blocks.slice(0..16));
        let times = mux(restores, course.asked & blocks.any(), yes);
        controller.command(m, 0, times, stream.or(restores, rows[0]));
        controller.command(m, 1, !restores, rows[1]);
        controller.command(m, 2, course.asked & work.to_rows, rows[1].or(course.values, rows[0]));
    }

    /// Keys are restored, then values, each with commands of its own; and how an operation ends.
    pub(super) fn course(
        &self,
        m: &mut Module,
        abort: Signal,
        work: &Work<'_>,
        sequence: &Sequence<'_>,
        controller: &OperationControllerPorts,
    ) -> Course {
        m.comment("Keys are restored, then values.");
        let Sequence { writer, reader, .. } = *sequence;
        let (begins, done) = (controller.begin_o, controller.commands_done_o);
        let side = m.fsm("side", &["None", "Ask", "Read", "Finish"]);
        let over = m.wire("side_over", side.is("Finish") & done);
        let values = m.reg("values_q", bit());
        values.next_when(begins | over, !begins);
        let blocks = m.wire("blocks", mux(values.q, writer.blocks_v_o, writer.blocks_k_o));
        m.connect(reader.read.valid, side.is("Ask") & !abort);
        m.connect(reader.read.blocks, blocks);
        m.connect(reader.read.tokens, work.tokens);
        m.connect(reader.end.ready, side.is("Read"));
        let asked = m.wire("asked", reader.read.fire());
        let ended = m.wire("read_ended", reader.end.fire());
        let damaged = m.wire("damaged", ended & reader.end.damaged);
        for from in ["Ask", "Read", "Finish"] {
            side.goto(from, abort | controller.failed_o, "None");
        }
        side.goto("None", begins & work.restores & !abort, "Ask");
        side.goto("Ask", asked, "Read");
        side.goto("Read", ended, "Finish");
        side.goto("Finish", over & values.q, "None");
        side.goto("Finish", over, "Ask");

        m.comment("The end.");
        let append_settled = m.wire("append_settled", !work.restores & !sequence.starting & sequence.settled);
        let appended = m.wire("appended", controller.runs_o & append_settled & done);
        let restored = (!self.overlaps).then(|| m.wire("restored", over & values.q));
        let any_full = sequence.full[0] | sequence.full[1];
        let overflow = m.wire("overflow", (writer.overflow_k_o | writer.overflow_v_o) & work.append.exact);
        let ends = [(any_full, job_error::FIELD), (overflow, job_error::OVERFLOW)];
        let none = uint(8).lit(0);
        let result = mux(work.restores, none, first_error(&ends));
        Own {
            again: asked,
            fail: first_error(&[(damaged, job_error::FIELD)]),
            done: append_settled | (side.is("Finish") & values.q),
            result,
            ..controller.own()
        }
        .connect(m, controller);
        let good = restored.map(|restored| (appended & !any_full & !overflow) | restored);
        Course {
            values: values.q,
            asked,
            blocks,
            good: good.map(|good| m.wire("ends_well", good & !controller.failed_o)),
            damaged,
            full: m.wire("full", appended & any_full),
        }
    }

    /// Damage of a job, kept up to the next job.
    pub(super) fn damage(
        m: &mut Module,
        job_begins: Signal,
        work: &Work<'_>,
        sequence: &Sequence<'_>,
        course: &Course,
    ) -> Damage {
        let code = |number: u32| uint(8).lit(number);
        let now = [(course.damaged, code(2)), (course.full, code(3)), (job_begins, code(0))];
        let kind = m.reg_init("damage_q", uint(8), 0);
        kind.next(select(&now, kind.q));
        let found = m.wire("damage_found", course.damaged | course.full);
        let of_values = m.wire("damage_of_values", mux(course.damaged, course.values, !sequence.full[0]));
        let values = m.reg_init("damage_values_q", bit(), 0);
        values.next(mux(found, of_values, !job_begins & values.q));
        let place = m.reg_init("damage_where_q", uint(64), 0);
        let area = mux(of_values, work.areas[1], work.areas[0]);
        place.next(mux(found, area, mux(job_begins, uint(64).lit(0), place.q)));
        Damage { kind: kind.q, values: values.q, place: place.q }
    }
}
