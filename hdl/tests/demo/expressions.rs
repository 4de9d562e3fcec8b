//! Arithmetic, choices, and expressions of unusual shape.

use hdl::lang::*;

use super::Lane;

demo! {
    /// Exact, wrapping and saturating arithmetic, shifts, casts.
    Arithmetic ArithmeticPorts "arithmetic" "each output is one operation of the inputs." {
        a_i: In = uint(8),
        b_i: In = uint(5),
        x_i: In = sint(8),
        y_i: In = sint(12),
        amount_i: In = uint(4),
        sum_o: Out = uint(9),
        difference_o: Out = sint(9),
        product_o: Out = sint(20),
        fused_o: Out = sint(21),
        wrapped_o: Out = uint(8),
        narrow_o: Out = sint(6),
        saturated_o: Out = sint(8),
        clipped_o: Out = uint(4),
        negative_o: Out = sint(9),
        scaled_o: Out = sint(11),
        quotient_o: Out = sint(5),
        left_o: Out = uint(8),
        right_o: Out = sint(12),
        bit_o: Out = bit(),
        reduced_o: Out = uint(3),
        less_o: Out = bit(),
    } |m, io| {
        m.connect(io.sum_o, io.a_i + io.b_i);
        m.connect(io.difference_o, io.a_i - io.b_i);
        m.connect(io.product_o, io.x_i * io.y_i);
        m.connect(io.fused_o, io.x_i * io.y_i + io.y_i);
        m.connect(io.wrapped_o, io.a_i.wrapping_sub(io.b_i));
        m.connect(io.narrow_o, (io.x_i * io.y_i + 3).truncate(6));
        m.connect(io.saturated_o, io.y_i.saturate(8));
        m.connect(io.clipped_o, io.a_i.saturate(4));
        m.connect(io.negative_o, -io.x_i);
        m.connect(io.scaled_o, io.x_i.shl(3));
        m.connect(io.quotient_o, io.x_i.shr(3));
        m.connect(io.left_o, io.a_i.shl_by(io.amount_i));
        m.connect(io.right_o, io.y_i.shr_by(io.amount_i));
        m.connect(io.bit_o, io.a_i.bit_at(io.amount_i));
        m.connect(io.reduced_o, cat(&[io.a_i.any(), io.a_i.all(), io.a_i.parity()]));
        m.connect(io.less_o, io.x_i.lt(io.y_i));
    }
}

demo! {
    /// Multiplexers, priority choices, tables.
    Choices ChoicesPorts "choices" "first_o is the value of the first request, else 9." {
        request_i: In = uint(3),
        a_i: In = sint(8),
        b_i: In = sint(8),
        first_o: Out = uint(4),
        largest_o: Out = sint(8),
        square_o: Out = uint(6),
        any_o: Out = bit(),
    } |m, io| {
        let value = |v: u32| uint(4).lit(v);
        let r = io.request_i;
        let choices = [(r.bit(0), value(1)), (r.bit(1), value(2)), (r.bit(2), value(4))];
        m.connect(io.first_o, select(&choices, value(9)));
        m.connect(io.largest_o, mux(io.a_i.lt(io.b_i), io.b_i, io.a_i));
        m.comment("Squares of 0 to 5; the last stands for all that follow.");
        let squares: Vec<_> = (0..6_u32).map(|i| uint(6).lit(i * i)).collect();
        let square = m.lookup("square", r, &squares);
        m.connect(io.square_o, square);
        let bits: Vec<_> = (0..3).map(|i| r.bit(i)).collect();
        m.connect(io.any_o, or_all(bit(), &bits));
    }
}

demo! {
    /// A chain far deeper than a text should nest, in a module whose names are those the printer likes.
    Deep DeepPorts "deep" "y_o is a_i + 200 b_i modulo 2^8; some_o is high when any of 100 comparisons holds." {
        a_i: In = uint(8),
        b_i: In = uint(8),
        y_o: Out = uint(8),
        some_o: Out = bit(),
        twice_o: Out = uint(8),
    } |m, io| {
        let i = m.wire("i", io.a_i ^ io.b_i);
        let y_sum = m.wire("y_sum", i ^ io.b_i);
        let sum = (0..200).fold(y_sum, |sum, _| sum.wrapping_add(io.b_i));
        m.connect(io.y_o, sum);
        let terms: Vec<_> = (0..100_u32).map(|k| io.a_i.eq(k) & io.b_i.bit(k % 8)).collect();
        let some = terms.iter().fold(bit().lit(0), |some, &t| some | t);
        m.connect(io.some_o, some);
        m.for_each("bit", 8, |m, i| {
            let lane = m.nets("lane", bit(), 1);
            m.connect(lane.at(0), io.a_i.bit_at(i.value(3)));
            m.unused(lane.at(0));
        });
        m.connect(io.twice_o, i.shl_by(uint(1).lit(1)));
    }
}

demo! {
    /// One-hot masks of thousands of bits.
    Masks MasksPorts "masks" "mask_o remembers the indices that were set; lowest_o is the lowest of them." {
        set_i: In = bit(),
        index_i: In = uint(12),
        mask_o: Out = uint(4096),
        lowest_o: Out = uint(4096),
        empty_o: Out = bit(),
        set_o: Out = bit(),
        top_o: Out = uint(64),
    } |m, io| {
        let mask = m.reg_init("mask_q", uint(4096), 0);
        let one_hot = m.wire("one_hot", uint(4096).lit(1).shl_by(io.index_i));
        mask.next_when(io.set_i, mask.q | one_hot);
        m.connect(io.mask_o, mask.q);
        m.connect(io.lowest_o, mask.q & !mask.q.wrapping_sub(1));
        m.connect(io.empty_o, !mask.q.any());
        m.connect(io.set_o, mask.q.bit_at(io.index_i));
        m.connect(io.top_o, mask.q.slice(4032..4096));
    }
}

parameters! {
    /// The requantizer of the design document.
    pub struct Requant {
        /// Accumulator width in bits.
        acc_width: u32 = 24, in 2..=64, tag "a";
        /// Scale width in bits.
        scale_width: u32 = 16, in 2..=64, tag "s";
        /// Bits shifted out.
        shift: u32 = 12, in 1..=127, note "below the width of the product", tag "n";
        /// Result width in bits.
        out_width: u32 = 8, in 1..=64, tag "o";
    }
    rules = |p, rules| {
        let width = p.acc_width + p.scale_width;
        rules.demand(p.shift < width, "shift", p.shift, format!("1 to {}", width - 1));
    };
}

ports! {
    /// Its ports.
    pub struct RequantPorts(p: &Requant) {
        valid_i: In = bit(),
        acc_i: In = sint(p.acc_width),
        scale_i: In = sint(p.scale_width),
        valid_o: Out = bit(),
        data_o: Out = sint(p.out_width),
    }
}

impl Block for Requant {
    type Ports = RequantPorts;
    const ABOUT: About = About {
        name: "requant",
        summary: "scales a wide accumulator back to an activation.",
        contract: "one cycle after valid_i, data_o = saturate(round_half_up(acc_i * scale_i / 2^shift)).",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &RequantPorts) {
        let valid = m.reg_init("valid_q", bit(), 0);
        let data = m.reg("data_q", sint(self.out_width));
        // Full-precision product: nothing is lost before the rounding step.
        let product = m.wire("product", io.acc_i * io.scale_i);
        let half = 1_u64 << (self.shift - 1);
        let rounded = m.wire("rounded", product + half).shr(self.shift);
        valid.next(io.valid_i);
        data.next_when(io.valid_i, rounded.saturate(self.out_width));
        m.connect(io.valid_o, valid.q);
        m.connect(io.data_o, data.q);
    }
}

demo! {
    /// Expressions used twice, bits that nothing reads, an output of an instance that nothing reads.
    Shared SharedPorts "shared" "sum_o = (a_i + b_i) / 2, top_o its most significant bit; the largest a_i + b_i so far." {
        a_i: In = uint(7),
        b_i: In = uint(7),
        spare_i: In = uint(6),
        sum_o: Out = uint(7),
        top_o: Out = bit(),
        equal_o: Out = bit(),
        spare_o: Out = uint(2),
        peak_o: Out = sint(8),
    } |m, io| {
        let sum = io.a_i + io.b_i;
        let half = sum.shr(1);
        let equal = io.a_i.eq(io.b_i) & io.a_i.any();
        m.connect(io.sum_o, half);
        m.connect(io.top_o, half.msb() | equal);
        m.connect(io.equal_o, equal);
        m.connect(io.spare_o, cat(&[io.spare_i.bit(4), io.spare_i.bit(1)]));
        let lane = m.instance("u_lane", Lane {});
        m.connect(lane.first_i, equal);
        m.connect(lane.x_i, sum.as_sint());
        m.connect(io.peak_o, lane.y_o);
    }
}

demo! {
    /// Rows of a table chosen in a loop, and long lists on one line.
    Rows RowsPorts "rows" "row_o[c] = value_i[4 row_i + c]; all_o is the concatenation of all odd places." {
        row_i: In = uint(3),
        value_i: InArray = uint(5).array(32),
        row_o: OutArray = uint(5).array(4),
        all_o: Out = uint(80),
        flags_o: Out = uint(32),
    } |m, io| {
        m.for_each("column", 4, |m, c| {
            let rows: Vec<_> = (0..8).map(|r| io.value_i.at(c + r * 4)).collect();
            let value = m.lookup("chosen_value", io.row_i, &rows);
            m.connect(io.row_o.at(c), value);
        });
        let odd: Vec<_> = (0..16).map(|i| io.value_i.at(2 * i + 1)).collect();
        m.connect(io.all_o, cat(&odd));
        let flags: Vec<_> = (0..32).map(|i| io.value_i.at(i).any()).collect();
        m.connect(io.flags_o, cat(&flags));
    }
}
