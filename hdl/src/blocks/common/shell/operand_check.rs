//! Checks that the rows of an operand lie inside the window.

use super::job_error;
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::lang::{
    About, Block, CatalogBlock, Field, In, InStream, Module, OutStream, Proof, Signal, Timing, bit, bits_for, bundle,
    cat, mux, parameters, ports, power_of_two, select, uint,
};

/// Bits of an aligned address or stride that are 0.
const UNIT: u32 = 6;

parameters! {
    /// Elaboration parameters.
    pub struct OperandCheck {
        /// Bits of an address on the bus.
        address_width: u32 = 64, in 13..=64, tag "a";
        /// Bits of row_bytes.
        row_width: u32 = 24, in 1..=32, tag "r";
        /// Bits of rows.
        rows_width: u32 = 16, in 1..=32, tag "n";
        /// Bits of stride.
        stride_width: u32 = 32, in 7..=64, tag "s";
        /// Bits of rows that are multiplied in a cycle.
        check_bits: u32 = 1, in power_of_two(1..=32), tag "c", named "when set";
    }
}

bundle! {
    /// Rows of memory.
    pub struct Operand(p: OperandCheck) {
        /// Address of the first row.
        address: Field = uint(64),
        /// Bytes of a row, from 1 on.
        row_bytes: Field = uint(p.row_width),
        /// Rows, from 1 on.
        rows: Field = uint(p.rows_width),
        /// Bytes from the start of a row to the start of the next one.
        stride: Field = uint(p.stride_width),
    }
}

bundle! {
    /// The verdict on an operand.
    pub struct Verdict(_unit: ()) {
        /// 0, or a number of `job_error`.
        error: Field = uint(8),
    }
}

ports! {
    /// Ports of [`OperandCheck`].
    pub struct OperandCheckPorts(p: &OperandCheck) {
        /// Drops the operand in flight at the coming edge.
        clear_i: In = bit(),
        /// First byte that may be touched; steady while an operand is in flight.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operand is in flight.
        window_limit_i: In = uint(64),
        /// An operand.
        operand: InStream<Operand> = p.clone(),
        /// The verdict on it.
        verdict: OutStream<Verdict> = (),
    }
}

impl OperandCheck {
    /// The operands of DMAs.
    #[must_use]
    pub fn of(axi: &AxiSpec, dma: &DmaSpec) -> Self {
        Self {
            address_width: axi.address_width,
            row_width: dma.row_width,
            rows_width: dma.rows_width,
            stride_width: dma.stride_width,
            check_bits: dma.check_bits,
        }
    }

    /// Cycles from an operand to its verdict.
    #[must_use]
    pub fn cycles(&self) -> u32 {
        self.steps() + 2
    }

    /// Cycles of the product.
    fn steps(&self) -> u32 {
        self.rows_width.div_ceil(self.check_bits)
    }
}

impl Block for OperandCheck {
    type Ports = OperandCheckPorts;
    const ABOUT: About = About {
        name: "operand_check",
        summary: "alignment and window of rows at a distance",
        contract: "verdict is ERROR_ALIGNMENT (8) if address or stride is no multiple of 64. Otherwise it is\n\
            ERROR_WINDOW (10) if the first byte of the first row or the last byte of the last row lies outside of\n\
            the window or of the bus. Otherwise it is 0. It comes rows_width / check_bits + 2 cycles after operand\n\
            (rounded up), for one operand at a time.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &OperandCheckPorts) {
        let state = m.fsm("state", &["Idle", "Multiply", "Add", "Tell"]);
        let takes = m.wire("takes", io.operand.fire());
        m.connect(io.operand.ready, state.is("Idle") & !io.clear_i);
        // (rows - 1) * stride, check_bits bits of rows - 1 each cycle. Addresses and strides are kept in units of 64
        // bytes: the verdict about others is known.
        let span_ty = uint(self.rows_width + self.stride_width - UNIT);
        let units = |bytes: Signal| bytes.slice(UNIT..bytes.width());
        let bytes = |units: Signal| cat(&[units, uint(UNIT).lit(0)]);
        let rows = m.reg("rows_q", uint(self.rows_width));
        let stride = m.reg("stride_q", span_ty);
        let span = m.reg("span_q", span_ty);
        let steps = m.reg("steps_q", uint(bits_for(self.steps().into())));
        let address = m.reg("address_q", uint(64 - UNIT));
        let row_last = m.reg("row_last_q", uint(self.row_width));
        let aligned = m.reg("aligned_q", bit());
        let multiplies = state.is("Multiply");
        let (bits, rest) = (self.check_bits.min(self.rows_width), self.check_bits < self.rows_width);
        let again = if rest { rows.q.shr(bits).extend(self.rows_width) } else { rows.q.ty().lit(0) };
        let again = m.wire("again", again);
        rows.next_when(takes | multiplies, mux(takes, io.operand.rows.wrapping_sub(1), again));
        let further = m.wire("further", stride.q.shl(bits).truncate(span_ty.width));
        stride.next_when(takes | multiplies, mux(takes, units(io.operand.stride).extend(span_ty.width), further));
        let part = match bits {
            1 => stride.q & rows.q.bit(0).repeat(span_ty.width),
            _ => (stride.q * rows.q.slice(0..bits)).truncate(span_ty.width),
        };
        let sum = m.wire("sum", span.q.wrapping_add(part));
        span.next_when(takes | multiplies, mux(takes, span_ty.lit(0), sum));
        let fewer = m.wire("fewer", steps.q.wrapping_sub(1));
        steps.next_when(takes | multiplies, mux(takes, uint(steps.q.width()).lit(self.steps()), fewer));
        address.next_when(takes, units(io.operand.address));
        row_last.next_when(takes, io.operand.row_bytes.wrapping_sub(1));
        let low = io.operand.address.slice(0..UNIT).any() | io.operand.stride.slice(0..UNIT).any();
        aligned.next_when(takes, !low);

        // Wide enough for any operand: no carry is lost.
        let wide = (span_ty.width + UNIT).max(64) + 2;
        let first = m.wire("first_byte", bytes(address.q));
        let inside_span = m.wire("inside_span", bytes(span.q).extend(wide).wrapping_add(row_last.q.extend(wide)));
        let end = m.reg("end_q", uint(wide));
        end.next_when(state.is("Add"), inside_span.wrapping_add(first.extend(wide)));
        let beyond = end.q.slice(self.address_width..wide).any();
        let above = end.q.gt(io.window_limit_i.extend(wide));
        let outside = m.wire("outside", beyond | above | first.lt(io.window_base_i));
        let code = |number: u32| uint(8).lit(number);
        let wrong = [(!aligned.q, code(job_error::ALIGNMENT)), (outside, code(job_error::WINDOW))];
        m.connect(io.verdict.error, select(&wrong, code(0)));
        m.connect(io.verdict.valid, state.is("Tell"));

        for from in ["Idle", "Multiply", "Add", "Tell"] {
            state.goto(from, io.clear_i, "Idle");
        }
        state.goto("Idle", takes, "Multiply");
        state.goto("Multiply", steps.q.eq(1), "Add");
        state.goto("Add", true, "Tell");
        state.goto("Tell", io.verdict.ready, "Idle");

        m.formal(|m| {
            // The product at once instead of bit by bit.
            let product = m.reg("formal_product_q", span_ty);
            let times = io.operand.rows.wrapping_sub(1) * units(io.operand.stride);
            product.next_when(takes, times);
            let [base, limit] = ["formal_base_q", "formal_limit_q"].map(|name| m.reg(name, uint(64)));
            base.next(io.window_base_i);
            limit.next(io.window_limit_i);
            let steady = base.q.eq(io.window_base_i) & limit.q.eq(io.window_limit_i);
            m.assume("the_window_stays", state.is("Idle") | steady);
            let rest = (rows.q * stride.q).truncate(span_ty.width);
            m.assert_always("what_is_left_of_the_product", !multiplies | span.q.wrapping_add(rest).eq(product.q));
            let passed = rows.q.shr_by(steps.q.shl(self.check_bits.trailing_zeros())).any();
            m.assert_always("a_step_for_each_bit", !multiplies | (!passed & steps.q.any()));
            m.assert_always("the_product", !state.is("Add") | span.q.eq(product.q));
            let row_last = row_last.q.extend(wide);
            let last = m.wire(
                "formal_last",
                bytes(product.q).extend(wide).wrapping_add(row_last).wrapping_add(first.extend(wide)),
            );
            m.assert_always("the_last_byte", !state.is("Tell") | end.q.eq(last));
            let on_bus = !last.slice(self.address_width..wide).any();
            let above = io.window_limit_i.extend(wide).lt(last);
            let inside = on_bus & !above & !first.lt(io.window_base_i);
            let told = m.wire("formal_told", io.verdict.valid & aligned.q);
            m.assert_always(
                "what_passes_lies_inside",
                !io.verdict.valid | io.verdict.error.any() | (aligned.q & inside),
            );
            m.assert_always("what_lies_inside_passes", !told | !inside | io.verdict.error.eq(0));
            m.cover("passes", io.verdict.valid & io.verdict.error.eq(0) & product.q.any());
            m.cover("fails", told & io.verdict.error.any());
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(self.cycles()).beat(self.cycles() + 1)
    }
}

impl CatalogBlock for OperandCheck {
    // One row has no distance to another one.
    const SAMPLE: &'static [(&'static str, u32)] = &[("row_width", 3), ("rows_width", 3), ("stride_width", 9)];

    fn configurations() -> Vec<Self> {
        let set = |address_width, row_width, rows_width, stride_width| Self {
            address_width,
            row_width,
            rows_width,
            stride_width,
            ..Self::default()
        };
        let faster = |check_bits, of| Self { check_bits, ..of };
        vec![
            set(13, 1, 1, 7),
            set(32, 24, 16, 32),
            set(40, 13, 9, 33),
            set(64, 32, 32, 64),
            set(63, 32, 5, 64),
            faster(4, set(40, 24, 16, 32)),
            faster(4, set(40, 13, 9, 33)),
            faster(8, set(32, 20, 5, 30)),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let set = |rows_width, stride_width, check_bits| Self {
            address_width: 13,
            row_width: 3,
            rows_width,
            stride_width,
            check_bits,
        };
        // An operand; and two, one after the other, with clears: all state of the first is loaded anew for the second.
        [(set(3, 9, 1), 8), (set(2, 7, 1), 13), (set(3, 9, 2), 8)]
            .map(|(block, depth)| Proof { block, depth, cover_depth: 8, induction: false })
            .into()
    }
}
