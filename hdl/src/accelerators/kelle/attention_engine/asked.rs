//! What an operation on heads asks for, why it is refused, and what the DMAs do for it.

use super::super::attention_operation::AttentionOperationPorts;
use super::super::head_operations::{
    ClearOperationPorts, RecomputeOperationPorts, RefreshOperationPorts, RestoreOperationPorts, SaveOperationPorts,
};
use super::super::token_saver::FRONT_BYTES;
use super::{AttentionEngine, opcode};
use crate::accelerators::engine::EnginePorts;
use crate::accelerators::sizes::fit;
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{OperationControllerPorts, Place, first_error};
use crate::lang::operation::Decoder;
use crate::lang::{Bundle, Module, Signal, bit, bits_for, mux, or_all};

/// The reader of queries, and of saved tokens.
const QUERIES: u32 = 0;
/// The reader of values.
const VALUES: u32 = 2;

/// The operation in hand: which one it is, and the fields of all operations by name.
pub(super) struct Asked {
    /// Tokens enter a head.
    pub attends: Signal,
    pub attention: AttentionOperationPorts,
    /// Heads are emptied.
    pub clears: Signal,
    pub clear: ClearOperationPorts,
    /// Refresh intervals change.
    pub sets: Signal,
    pub refresh: RefreshOperationPorts,
    /// Tokens are written to memory.
    pub saves: Option<(Signal, SaveOperationPorts)>,
    /// Saved tokens come back.
    pub restores: Option<(Signal, RestoreOperationPorts)>,
    /// A token gets a slot.
    pub keeps: Option<(Signal, RecomputeOperationPorts)>,
    /// The head, of operations on one.
    pub head: Signal,
    /// Slices of a vector.
    pub slices: Signal,
    /// Bytes of a key or a value, as integers or as fp16 numbers.
    vector_bytes: Signal,
    /// Rows are written.
    writes: Signal,
    /// Operands are read or written.
    pub moves: Signal,
    /// Tokens come to the head: it is emptied if the operation fails.
    pub fills: Signal,
}

impl Asked {
    /// The operations on heads that this build has: their descriptors, and whether the operation is one.
    fn all(&self) -> Vec<(Signal, Decoder)> {
        let mut all = vec![
            (self.attends, self.attention.decoder),
            (self.clears, self.clear.decoder),
            (self.sets, self.refresh.decoder),
        ];
        all.extend(self.saves.iter().map(|(saves, save)| (*saves, save.decoder)));
        all.extend(self.restores.iter().map(|(restores, restore)| (*restores, restore.decoder)));
        all.extend(self.keeps.iter().map(|(keeps, recompute)| (*keeps, recompute.decoder)));
        all
    }
}

impl AttentionEngine {
    /// Names the fields of the operation.
    pub(super) fn ask(&self, m: &mut Module, shell: &EnginePorts) -> Asked {
        m.comment("The operation, and its fields by name.");
        let is = |m: &mut Module, name: &str, number: u32| m.wire(name, shell.operation.opcode.eq(number));
        let attends = is(m, "attends", opcode::ATTENTION);
        let clears = is(m, "clears", opcode::CLEAR);
        let sets = is(m, "sets", opcode::REFRESH);
        let attention = shell.decode(m, "u_attention", self.attention());
        let clear = shell.decode(m, "u_clear", self.clear());
        let refresh = shell.decode(m, "u_refresh", self.refresh());
        let saves = self.save().map(|block| (is(m, "saves", opcode::SAVE), shell.decode(m, "u_save", block)));
        let restores = self.restore();
        let restores = restores.map(|block| (is(m, "restores", opcode::RESTORE), shell.decode(m, "u_restore", block)));
        let keeps = self.recompute();
        let keeps = keeps.map(|block| (is(m, "keeps", opcode::RECOMPUTE), shell.decode(m, "u_recompute", block)));
        let (mut head, mut elements) = (attention.head, attention.elements);
        let (mut writes, mut fills) = (attends, attends);
        if let Some((saves, save)) = &saves {
            head = mux(*saves, save.head, head);
            elements = mux(*saves, save.elements, elements);
            writes = writes | *saves;
        }
        if let Some((restores, restore)) = &restores {
            head = mux(*restores, restore.head, head);
            elements = mux(*restores, restore.elements, elements);
            fills = m.wire("fills", fills | *restores);
        }
        if let Some((keeps, recompute)) = &keeps {
            head = mux(*keeps, recompute.head, head);
        }
        let (spec, width) = (&self.spec, self.dma.row_width);
        let elements = m.wire("elements", elements);
        let slices = elements.shr(spec.spec.columns.trailing_zeros());
        Asked {
            head: m.wire("head_asked", head),
            slices: m.wire("slices", fit(slices, bits_for(spec.slices().into()))),
            vector_bytes: m.wire("vector_bytes", fit(elements.shl(1), width)),
            writes: m.wire("writes_rows", writes),
            moves: m.wire("moves", writes | fills),
            fills,
            attends,
            attention,
            clears,
            clear,
            sets,
            refresh,
            saves,
            restores,
            keeps,
        }
    }

    /// Why the fields are wrong; `count` is how many tokens the head has.
    pub(super) fn refuse(&self, m: &mut Module, asked: &Asked, count: Signal, controller: &OperationControllerPorts) {
        m.comment("Fields that are wrong.");
        let all = asked.all();
        let chosen = |which: fn(&Decoder) -> Signal| -> Vec<Signal> {
            all.iter().map(|(chosen, decoder)| *chosen & which(decoder)).collect()
        };
        let known: Vec<Signal> = all.iter().map(|(chosen, _)| *chosen).collect();
        let missing = m.wire("missing", !or_all(bit(), &known));
        let reserved = m.wire("reserved", or_all(bit(), &chosen(|decoder| decoder.reserved)));
        let unknown = m.wire("unknown", or_all(bit(), &chosen(|decoder| decoder.unknown)));
        let mut sizes = chosen(|decoder| decoder.wrong_size);
        sizes.extend(self.wrong_sizes(m, asked, count));
        let wrong_size = m.wire("wrong_size", or_all(bit(), &sizes));
        let wrong = first_error(&[
            (missing, job_error::FIELD),
            (reserved, job_error::RESERVED),
            (unknown, job_error::FIELD),
            (wrong_size, job_error::SIZE),
        ]);
        m.connect(controller.wrong_i, wrong);
    }

    /// Sizes that depend on others, or on the tokens of the head.
    fn wrong_sizes(&self, m: &mut Module, asked: &Asked, count: Signal) -> Vec<Signal> {
        let (a, low) = (&asked.attention, self.spec.spec.columns.trailing_zeros());
        let kept = m.wire("kept", a.sink + a.window);
        let too_few = m.wire("budget_is_too_small", kept.ge(a.budget.extend(kept.width())));
        let part = m.wire("part_of_a_slice", a.elements.slice(0..low).any());
        let mut attention = part | too_few;
        if self.spec.recompute > 0 {
            let rows = m.wire("all_rows", a.tokens.extend(16) + a.again.extend(16));
            attention = attention | rows.bit(16);
        }
        let width = 1 + asked.clear.heads.width();
        let end = m.wire("heads_end", asked.clear.first.extend(width).wrapping_add(asked.clear.heads.extend(width)));
        let mut wrong = vec![asked.attends & attention, asked.clears & end.gt(self.spec.heads)];
        if let Some((saves, save)) = &asked.saves {
            let width = 2 + count.width();
            let end = m.wire("saved_end", save.first.extend(width).wrapping_add(save.tokens.extend(width)));
            let part = m.wire("part_is_saved", save.elements.slice(0..low).any());
            wrong.push(*saves & (part | end.gt(count.extend(width))));
        }
        if let Some((restores, restore)) = &asked.restores {
            let width = 2 + count.width().max(restore.tokens.width());
            let end = m.wire("restored_end", restore.first.extend(width).wrapping_add(restore.tokens.extend(width)));
            let other = m.wire("other_tokens", restore.first.extend(width).ne(count.extend(width)));
            let part = m.wire("part_is_restored", restore.elements.slice(0..low).any());
            wrong.push(*restores & (part | other | end.gt(self.spec.slots)));
        }
        if let Some((keeps, recompute)) = &asked.keeps {
            let width = 1 + count.width();
            wrong.push(*keeps & recompute.position.extend(width).ge(count.extend(width)));
        }
        wrong
    }

    /// Queries, keys, values, results; rows of saved tokens. Values that are late are asked for from the first scores on, `scores`.
    pub(super) fn place(
        &self,
        m: &mut Module,
        (asked, shell): (&Asked, &EnginePorts),
        scores: Signal,
        controller: &OperationControllerPorts,
    ) {
        m.comment("Queries, keys, values, results.");
        let (a, width) = (&asked.attention, self.dma.row_width);
        let vector = asked.vector_bytes;
        let query = m.wire("query_bytes", fit(a.elements.shl(1) * a.group, width));
        let tokens = a.tokens.extend(16);
        let rows = match self.spec.recompute {
            0 => tokens,
            _ => m.wire("rows_that_come", tokens.wrapping_add(a.again.extend(16))),
        };
        let reads = [
            Place { address: a.query_address, row_bytes: query, rows: tokens, stride: a.query_stride },
            Place { address: a.key_address, row_bytes: vector, rows, stride: a.key_stride },
            Place { address: a.value_address, row_bytes: vector, rows, stride: a.value_stride },
        ];
        let mut results = Place { address: a.out_address, row_bytes: query, rows: tokens, stride: a.out_stride };
        if let Some((saves, save)) = &asked.saves {
            let row_bytes = m.wire("saved_bytes", fit(save.elements.shl(2), width).wrapping_add(FRONT_BYTES));
            let rows = save.tokens.extend(16);
            let saved = Place { address: save.out_address, row_bytes, rows, stride: save.out_stride };
            results = saved.or(*saves, results);
        }
        for (k, place) in (0..).zip(reads) {
            let (mut used, mut place) = (asked.attends, place);
            if let (QUERIES, Some((restores, restore))) = (k, &asked.restores) {
                let row_bytes = fit(restore.elements.shl(2), width).wrapping_add(FRONT_BYTES);
                let row_bytes = m.wire("restored_bytes", row_bytes);
                let rows = restore.tokens.extend(16);
                let saved = Place { address: restore.saved_address, row_bytes, rows, stride: restore.saved_stride };
                (used, place) = (asked.fills, saved.or(*restores, place));
            }
            controller.check(m, k, used, place);
            controller.command(m, k, used, place);
        }
        controller.check(m, Self::READERS, asked.writes, results);
        controller.command(m, Self::READERS, asked.writes, results);

        let scored = m.reg_init("scored_q", bit(), 0);
        scored.next((scored.q | scores) & !controller.begin_o);
        let may = m.wire("values_may_come", scored.q | !a.late);
        for k in 0..Self::READERS {
            let (to, from) = (shell.read_command.at(k), controller.read_command.at(k));
            if k == VALUES {
                to.data.drive(m, "values", &from.data);
                m.connect(to.valid, from.valid & may);
                m.connect(from.ready, to.ready & may);
            } else {
                m.connect_stream(&to, &from);
            }
        }
        shell.write_command.connect(m, &controller.write_command);
        m.for_each("other_command", Self::READERS + 1, |m, k| m.connect(controller.other_taken_i.at(k), 0));
    }
}
