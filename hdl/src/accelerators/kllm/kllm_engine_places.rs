//! What a product reads and writes: operands for the checks, commands for each DMA.

use super::kllm_engine::KllmEngine;
use super::kllm_spec::{CODEBOOK_BYTES, COUNT, HEAD_BYTES, ProductSize, READERS};
use super::matmul_operation::MatmulOperationPorts;
use crate::accelerators::engine::EnginePorts;
use crate::accelerators::sizes::{fit, groups, whole};
use crate::blocks::common::shell::{OperationControllerPorts, Place};
use crate::lang::{Module, Signal, bit, mux, uint};

/// The DMAs in order: codebook and heads of tokens, their indices, their outliers, panels of weights, constants,
/// addends; then the DMAs with panels of further groups, and the DMA that writes.
const HEADS: u32 = 0;
const INDICES: u32 = 1;
const OUTLIERS: u32 = 2;
const PANELS: u32 = 3;
const CONSTANTS: u32 = 4;
const ADDENDS: u32 = 5;

/// Events that move the place of the next command.
#[derive(Clone, Copy)]
struct Moves {
    /// A product begins.
    begins: Signal,
    /// The DMA takes a command.
    taken: Signal,
}

impl KllmEngine {
    /// Operands are checked as a whole. Then each DMA gets a command for each panel, or for the only part.
    pub(super) fn place(
        &self,
        m: &mut Module,
        shell: &EnginePorts,
        o: &MatmulOperationPorts,
        size: &ProductSize,
        controller: &OperationControllerPorts,
    ) {
        let width = self.dma.row_width;
        let integers = size.integers;
        let nibbles = groups(size.inner, 2, COUNT);
        let index_bytes = m.wire("index_bytes", whole(fit(mux(integers, size.inner, nibbles), width), 64));
        let outlier_bytes = m.wire("outlier_bytes", whole(fit(size.outliers.shl(2), width), 64));
        let token_bytes = index_bytes.wrapping_add(outlier_bytes).wrapping_add(HEAD_BYTES);
        let token_bytes = m.wire("token_bytes", mux(integers, index_bytes, token_bytes));
        let tokens = Place { address: o.token_address, row_bytes: token_bytes, rows: o.tokens, stride: o.token_stride };

        let panels = m.wire("panels", groups(o.channels, self.spec.panel(), 16));
        let panel_bytes = fit(size.beats.shl(self.spec.beat_bytes().trailing_zeros()), width);
        let weights = Place {
            address: o.panel_address,
            row_bytes: m.wire("panel_bytes", panel_bytes),
            // Panels in memory: the panels of all groups.
            rows: panels.shl(self.spec.groups.trailing_zeros()).slice(0..16),
            stride: o.panel_stride,
        };
        let constant_bytes = m.wire("constant_bytes", fit(o.channels.shl(3), width));
        let constants = Place::row(o.constants_address, constant_bytes);
        let codebook = Place::row(o.codebook_address, uint(width).lit(CODEBOOK_BYTES));
        let row_bytes = m.wire("out_bytes", fit(o.channels.shl(1), width));
        let out = Place { address: o.out_address, row_bytes, rows: o.tokens, stride: o.out_stride };
        let addends = Place { address: o.addend_address, stride: o.addend_stride, ..out };
        let yes = bit().lit(1);
        let operands =
            [(yes, tokens), (yes, weights), (yes, constants), (yes, codebook), (yes, out), (size.add, addends)];
        for (k, (used, place)) in (0..).zip(operands) {
            controller.check(m, k, used, place);
        }

        let none = uint(16).lit(0);
        let head = tokens.address.wrapping_add(mux(integers, uint(64).lit(0), HEAD_BYTES));
        let indices = Place { address: m.wire("index_address", head), row_bytes: index_bytes, ..tokens };
        let after = indices.address.wrapping_add(index_bytes.extend(64));
        let outliers = Place { address: m.wire("outlier_address", after), row_bytes: outlier_bytes, ..tokens };
        let times = mux(integers, uint(16).lit(1), panels.wrapping_add(1));
        let first = heads(m, tokens, codebook, moves(controller, HEADS));
        controller.command(m, HEADS, times, first);
        controller.command(m, INDICES, panels, indices);
        controller.command(m, OUTLIERS, mux(size.outliers.any(), panels, none), outliers);
        self.panels(m, shell, weights, (panels, tokens.rows), size.fits, controller);
        controller.command(m, CONSTANTS, yes, constants);
        let writes = self.spec.readers();
        for (k, name, times, place) in
            [(ADDENDS, "addend", mux(size.add, panels, none), addends), (writes, "out", panels, out)]
        {
            let place = self.piece(m, name, place, o.channels, moves(controller, k));
            controller.command(m, k, times, place);
        }
    }

    /// The weights of one panel after the other, of each group: once for all tokens if they fit, else for each.
    fn panels(
        &self,
        m: &mut Module,
        shell: &EnginePorts,
        weights: Place,
        (panels, tokens): (Signal, Signal),
        fits: Signal,
        controller: &OperationControllerPorts,
    ) {
        let (stride, groups) = (weights.stride.extend(64), self.spec.groups);
        let step = |at: Signal| at.wrapping_add(stride.shl(groups.trailing_zeros()).slice(0..64));
        let rows = mux(fits, uint(16).lit(1), tokens);
        let first = moves(controller, PANELS);
        let at = walk(m, "panel_address_q", weights.address, first, step);
        let place = Place { address: at, rows, stride: uint(32).lit(0), ..weights };
        controller.command(m, PANELS, panels, place);
        if groups == 1 {
            return;
        }
        m.comment("The first panel of a group follows the first panel of the group before. Its address is known long before all is checked.");
        let prepares = m.reg_init("prepares_q", bit(), 0);
        prepares.next(shell.operation.fire() | (prepares.q & !first.begins));
        let mut before = weights.address;
        for group in 1..groups {
            let k = READERS + group - 1;
            let moves = Moves { begins: prepares.q, ..moves(controller, k) };
            before = walk(m, &format!("panel_{group}_address_q"), before.wrapping_add(stride), moves, step);
            controller.command(m, k, panels, Place { address: before, ..place });
        }
    }

    /// The columns of the next panel.
    fn piece(&self, m: &mut Module, name: &str, all: Place, channels: Signal, moves: Moves) -> Place {
        let panel = self.spec.panel();
        let at = walk(m, &format!("{name}_address_q"), all.address, moves, |at| at.wrapping_add(2 * panel));
        let channels = channels.extend(COUNT);
        let left = walk(m, &format!("{name}_channels_q"), channels, moves, |left| left.wrapping_sub(panel));
        let here = mux(left.gt(panel), uint(COUNT).lit(panel), left);
        let row_bytes = m.wire(&format!("{name}_bytes_here"), here.shl(1).extend(self.dma.row_width));
        Place { address: at, row_bytes, ..all }
    }
}

/// What moves the commands of a DMA.
fn moves(controller: &OperationControllerPorts, k: u32) -> Moves {
    Moves { begins: controller.begin_o, taken: controller.taken_o.at(k) }
}

/// The codebook, then the heads of all tokens, for each panel.
fn heads(m: &mut Module, tokens: Place, codebook: Place, moves: Moves) -> Place {
    let given = m.reg_init("codebook_given_q", bit(), 0);
    given.next((moves.taken | given.q) & !moves.begins);
    let row_bytes = uint(codebook.row_bytes.width()).lit(HEAD_BYTES);
    Place { row_bytes, ..tokens }.or(given.q, codebook)
}

/// A value that begins with `first` and moves on with each command that is taken.
fn walk(m: &mut Module, name: &str, first: Signal, moves: Moves, step: impl FnOnce(Signal) -> Signal) -> Signal {
    let at = m.reg(name, first.ty());
    let moved = step(at.q);
    at.next_when(moves.begins | moves.taken, mux(moves.begins, first, moved));
    at.q
}
