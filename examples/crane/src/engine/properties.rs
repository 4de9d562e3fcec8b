//! What the engine keeps to, whatever comes: counted from its ports, with rows and controller left free.

use senbazuru::accelerator::prelude::*;
use senbazuru::hdl::accelerators::tender::StripWalkerPorts;
use senbazuru::hdl::blocks::common::row::{Section, later, later_valid};
use senbazuru::hdl::blocks::common::shell::OperationControllerPorts;

use super::{ProductEngine, ProductEnginePorts};
use crate::row::{DotRow, DotRowPorts};

impl ProductEngine {
    pub(super) fn properties(
        &self,
        m: &mut Module,
        io: &ProductEnginePorts,
        (controller, strips): (&OperationControllerPorts, &StripWalkerPorts),
        (section, rows): (&Section, &[DotRowPorts]),
    ) {
        let parts = (0..rows.len()).map(|r| format!("u_row_{r}"));
        parts.chain(["u_controller".into()]).for_each(|part| m.free_in_proofs(&part));
        m.formal_alone(|m| {
            let (abort, begins) = (io.shell.abort_i, controller.begin_o);
            let [x, weights] = [0, 1].map(|k| io.shell.read.at(k));
            let (restart, fire) = (m.wire("formal_restart", abort | begins), m.wire("formal_fire", weights.fire()));
            let counted = |m: &mut Module, name: &str, ty: Type, moves: Signal, zero: Signal| {
                let count = m.reg_init(&format!("formal_{name}_q"), ty, 0);
                count.next(mux(zero, ty.lit(0), count.q.wrapping_add(moves.extend(ty.width))));
                count.q
            };

            m.comment("The environment: an operation begins when nothing of the one before is left.");
            let inside = m.reg_init("formal_inside_q", uint(5), 0);
            let moved = inside.q.wrapping_add((fire & weights.row_last).extend(5));
            let leaves = section.fifo.output.fire();
            inside.next(mux(abort, uint(5).lit(0), moved.wrapping_sub(leaves.extend(5))));
            m.assume("begins_when_idle", !begins | (!strips.busy_o & !inside.q.any() & !x.valid));

            m.comment("Rows: each quarter of a word to its place.");
            let address = rows[0].address_i.ty();
            let ends = x.fire() & x.row_last;
            let quarter = counted(m, "quarter", uint(address.width + 2), x.fire(), restart | ends);
            let row = counted(m, "row", uint(8), ends, restart);
            m.assume("as_many_rows", row.lt(self.array.rows) | !x.fire());
            let came = later_valid(m, "formal_came", x.fire(), 1, abort);
            let [place, of_row] = [later(m, "formal_place", quarter, 1), later(m, "formal_of_row", row, 1)];
            for (r, ports) in (0u32..).zip(rows) {
                let here = came & of_row.eq(r);
                m.assert_always(&format!("row_{r}_is_written"), ports.write_i.any().eq(here));
                let which = uint(4).lit(1).shl_by(place.slice(0..2)).slice(0..4);
                let right = ports.write_i.eq(which) & ports.write_address_i.eq(place.slice(2..address.width + 2));
                m.assert_always(&format!("row_{r}_in_its_place"), !here | right);
            }

            m.comment("Weights: after all rows; each word with its number, and nothing after the last channel.");
            let all = m.reg_init("formal_all_q", bit(), 0);
            all.next(!restart & (all.q | (x.fire() & x.last)));
            m.assert_always("weights_wait_for_rows", !fire | all.q);
            let word = counted(m, "word", address, fire, abort | (fire & weights.row_last));
            let first = later(m, "formal_first", !word.any(), DotRow::TO_FIRST);
            let adds = later_valid(m, "formal_adds", fire, DotRow::TO_FIRST, abort);
            let stepped = later_valid(m, "formal_stepped", fire, 1, abort);
            let used = |i: u32| weights.bytes.gt(i / 2).repeat(4);
            let nibbles = (0..self.weights()).rev().map(|i| weights.data.data.slice(4 * i..4 * i + 4) & used(i));
            let nibbles = cat(&nibbles.collect::<Vec<_>>());
            let nibbles = later(m, "formal_weights", nibbles, 1);
            for (r, ports) in rows.iter().enumerate() {
                let right = ports.step_i.eq(fire) & (!fire | ports.address_i.eq(word));
                m.assert_always(&format!("row_{r}_steps"), right);
                m.assert_always(&format!("row_{r}_adds"), ports.adds_i.eq(adds) & (!adds | ports.first_i.eq(first)));
                let of_row = ports.weights_i.packed();
                m.assert_always(&format!("row_{r}_weights"), !stepped | of_row.eq(nibbles));
            }

            m.comment("Results: a place for each, and offers stay.");
            let most = Section::places(DotRow::LATENCY);
            m.assert_always("as_many_as_there_is_room_for", inside.q.le(most));
            m.assert_always("a_result_has_room", !section.fifo.input.valid | section.fifo.input.ready | abort);
            m.assert_always("a_result_is_of_a_column", !section.fifo.output.valid | inside.q.any());
            let (write, command) = (io.shell.write.at(0), io.shell.write_command.at(0));
            let of_command = cat(&[command.address, command.row_bytes, command.rows]);
            for (name, valid, ready, data) in [
                ("beat", write.valid, write.ready, write.data.data),
                ("command", command.valid, command.ready, of_command),
            ] {
                let waits = m.reg_init(&format!("formal_{name}_waits_q"), bit(), 0);
                waits.next(valid & !ready & !restart);
                let before = later(m, &format!("formal_{name}"), data, 1);
                m.assert_always(&format!("a_{name}_stays"), !waits.q | (valid & data.eq(before)));
            }

            m.comment("What is written is the operand that was checked.");
            let of = &strips.matrix;
            let (last, wide) = (Self::READERS, of.columns.width() + 1);
            let right = of.address.eq(controller.operand_address_i.at(last).slice(0..self.axi.address_width))
                & of.stride.eq(controller.operand_stride_i.at(last))
                & of.rows.eq(controller.operand_rows_i.at(last))
                & of.columns.shl(1).extend(wide).eq(controller.operand_row_bytes_i.at(last).slice(0..wide));
            m.assert_always("writes_what_was_checked", right);
            m.cover("a_second_column", leaves & inside.q.ge(2));
            m.cover("a_beat", write.fire());
        });
    }
}
