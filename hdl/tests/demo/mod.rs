//! Small blocks that together use every construct of the language. Their Verilog is snapshotted here, and linted and
//! simulated in `testbenches`.

#![allow(dead_code, reason = "each test file uses what it needs")]

use hdl::lang::*;
use serde::Serialize;

/// A block without parameters.
macro_rules! demo {
    ($(#[$doc:meta])* $name:ident $ports:ident $module:literal $contract:literal { $($port:tt)* } |$m:ident, $io:ident| $body:block) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Serialize)]
        pub struct $name;
        ports! {
            /// Its ports.
            pub struct $ports(p: &$name) { $($port)* }
        }
        impl Block for $name {
            type Ports = $ports;
            const ABOUT: About = About {
                name: $module,
                summary: "a demonstration",
                contract: $contract,
                reference: "",
                source: "hdl/tests/demo/mod.rs",
            };
            fn module_name(&self) -> String {
                $module.into()
            }
            fn build(&self, $m: &mut Module, $io: &$ports) $body
        }
    };
}

/// All of them, elaborated.
pub fn all() -> Vec<Design> {
    fn design<B: Block>(block: &B) -> Design {
        elaborate(block).unwrap_or_else(|e| panic!("{e}"))
    }
    vec![
        design(&Arithmetic),
        design(&Choices),
        design(&Deep),
        design(&Formal),
        design(&Lanes),
        design(&Machine),
        design(&Masks),
        design(&Memories),
        design(&Outside),
        design(&Registers),
        design(&Requant { acc_width: 24, scale_width: 16, shift: 12, out_width: 8 }),
        design(&Shared),
        design(&Streams),
        design(&Rows),
    ]
}

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
    /// Assertions with a helper register.
    Formal FormalPorts "formal_counter" "counts up while en_i is high, from 0 to 9 and round again." {
        en_i: In = bit(),
        count_o: Out = uint(4),
    } |m, io| {
        let count = m.reg_init("count_q", uint(4), 0);
        let last = m.wire("last", count.q.eq(9));
        count.next_when(io.en_i, mux(last, uint(4).lit(0), count.q.wrapping_add(1)));
        m.connect(io.count_o, count.q);
        m.formal(|m| {
            let before = m.reg_init("before_q", uint(4), 0);
            before.next(count.q);
            let step = m.wire("step", count.q - before.q);
            m.assume("enable_is_known", io.en_i.eq(io.en_i));
            m.assert_always("in_range", count.q.le(9));
            m.assert_always("one_step", step.eq(0) | step.eq(1) | step.eq(-9));
            m.cover("comes_round", last & io.en_i);
            m.for_each("value", 4, |m, i| {
                m.cover("value_seen", count.q.eq(i.value(4)));
            });
        });
    }
}

demo! {
    /// One lane of `Lanes`.
    Lane LanePorts "lane" "y_o is the largest x_i since first_i." {
        first_i: In = bit(),
        x_i: In = sint(8),
        y_o: Out = sint(8),
        again_o: Out = bit(),
    } |m, io| {
        let y = m.reg("y_q", sint(8));
        let again = m.reg_init("again_q", bit(), 0);
        y.next_when(io.first_i | io.x_i.gt(y.q), io.x_i);
        again.next(!io.first_i);
        m.connect(io.y_o, y.q);
        m.connect(io.again_o, again.q);
    }
}

demo! {
    /// Loops of one and two dimensions, instances in loops, arrays of nets, loop variables as values.
    Lanes LanesPorts "lanes" "y_o[i] follows x_i[5 - i]; total_o is the sum; match_o[r, c] = (key_i == 4 r + c)." {
        first_i: In = bit(),
        key_i: In = uint(4),
        x_i: InArray = sint(8).array(6),
        y_o: OutArray = sint(8).array(6),
        total_o: Out = sint(11),
        match_o: OutArray = bit().array(12),
        parity_o: Out = bit(),
    } |m, io| {
        let y = m.nets("y", sint(8), 6);
        m.for_each("lane", 6, |m, i| {
            let lane = m.instance("u_lane", Lane);
            m.connect(lane.first_i, io.first_i);
            m.connect(lane.x_i, io.x_i.at(Index::from(5) - i));
            m.connect(y.at(i), lane.y_o);
        });
        m.connect_each("result", io.y_o, y);
        let sum = m.nets("sum", sint(11), 7);
        m.connect(sum.at(0), 0);
        m.for_each("sum", 6, |m, i| {
            m.connect(sum.at(i + 1), sum.at(i).wrapping_add(y.at(i)));
        });
        m.connect(io.total_o, sum.at(6));
        let odd = m.grid("odd", bit(), 3, 4);
        m.for_each("row", 3, |m, r| {
            m.for_each("column", 4, |m, c| {
                let place = m.wire("place", (r * 4 + c).value(4));
                let hit = m.wire("hit", io.key_i.eq(place));
                m.connect(io.match_o.at(r * 4 + c), hit);
                m.connect(odd.at((r, c)), hit & place.bit(0));
                m.unused(place);
            });
        });
        m.connect(io.parity_o, odd.packed().parity());
    }
}

demo! {
    /// A state machine whose conditions are described after it.
    Machine MachinePorts "machine" "busy_o from start_i until limit_i cycles have passed; then done_o for one cycle." {
        start_i: In = bit(),
        stop_i: In = bit(),
        limit_i: In = uint(4),
        busy_o: Out = bit(),
        done_o: Out = bit(),
        next_busy_o: Out = bit(),
    } |m, io| {
        let fsm = m.fsm("state", &["idle", "run", "done"]);
        let count = m.reg_init("count_q", uint(4), 0);
        let run = m.wire("run", fsm.is("run"));
        count.next(mux(run, count.q.wrapping_add(1), uint(4).lit(0)));
        let full = m.wire("full", count.q.eq(io.limit_i));
        fsm.goto("idle", io.start_i & !io.stop_i, "run");
        fsm.goto("run", io.stop_i, "idle");
        fsm.goto("run", full, "done");
        fsm.goto("done", true, "idle");
        m.connect(io.busy_o, run);
        m.connect(io.done_o, fsm.is("done"));
        m.connect(io.next_busy_o, fsm.next_is("run"));
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

demo! {
    /// A memory with byte enables and a register file.
    Memories MemoriesPorts "memories" "read data one cycle after read_i, before a write of the same cycle." {
        write_i: In = uint(4),
        write_address_i: In = uint(5),
        data_i: In = uint(32),
        read_i: In = bit(),
        address_i: In = uint(5),
        data_o: Out = uint(32),
        file_write_i: In = bit(),
        file_address_i: In = uint(3),
        file_a_o: Out = uint(6),
        file_b_o: Out = uint(6),
    } |m, io| {
        let ram = m.memory("ram", 32, 32, 8);
        ram.write(io.write_i, io.write_address_i, io.data_i);
        let data = ram.read("ram_data", io.read_i, io.address_i);
        m.connect(io.data_o, data);
        let file = m.memory("file", 6, 6, 6);
        let next = m.wire("next_place", (io.file_address_i + 1).truncate(3));
        file.write(io.file_write_i, io.file_address_i, io.data_i.slice(0..6));
        let a = file.read_async("file_a", io.file_address_i);
        let b = file.read_async("file_b", next);
        m.connect(io.file_a_o, a);
        m.connect(io.file_b_o, b);
    }
}

/// A macro of somebody else.
pub fn outside_macro() -> ExternalModule {
    let port = |name: &str, direction, ty| ExternalPort { name: name.into(), direction, ty };
    ExternalModule {
        name: "VENDOR_DFF".into(),
        ports: vec![
            port("D", Direction::Input, uint(4)),
            port("Q", Direction::Output, uint(4)),
            port("QN", Direction::Output, uint(4)),
        ],
        clock: Some("CK".into()),
        reset: None,
        source: Some(
            "module VENDOR_DFF (input wire CK, input wire [3:0] D, output reg [3:0] Q, output wire [3:0] QN);
  assign QN = ~Q;
  always @(posedge CK) Q <= D;
endmodule
"
            .into(),
        ),
        registered_outputs: true,
    }
}

demo! {
    /// Modules from outside.
    Outside OutsidePorts "outside" "q_o is d_i two cycles ago." {
        d_i: In = uint(4),
        q_o: Out = uint(4),
    } |m, io| {
        let first = m.external("u_first", &outside_macro());
        let second = m.external("u_second", &outside_macro());
        m.connect(first.port("D"), !io.d_i);
        m.connect(second.port("D"), first.port("QN"));
        m.connect(io.q_o, second.port("Q"));
    }
}

demo! {
    /// Registers with and without reset and enable.
    Registers RegistersPorts "registers" "each output is a register of its kind." {
        en_i: In = bit(),
        d_i: In = sint(8),
        free_o: Out = sint(8),
        reset_o: Out = sint(8),
        enabled_o: Out = sint(8),
        both_o: Out = sint(8),
        pair_o: Out = uint(2),
        less_o: Out = bit(),
    } |m, io| {
        let free = m.reg("free_q", sint(8));
        let reset = m.reg_init("reset_q", sint(8), -128);
        let enabled = m.reg("enabled_q", sint(8));
        let both = m.reg_init("both_q", sint(8), 5);
        let high = m.reg_init("high_q", bit(), 1);
        let low = m.reg_init("low_q", bit(), 0);
        let less = m.reg("less_q", bit());
        free.next(io.d_i);
        reset.next(io.d_i);
        enabled.next_when(io.en_i, io.d_i);
        both.next_when(io.en_i, io.d_i);
        high.next(low);
        low.next(high.q & io.d_i.msb());
        less.next(free.q.le(reset.q));
        m.connect(io.free_o, free.q);
        m.connect(io.reset_o, reset.q);
        m.connect(io.enabled_o, enabled.q);
        m.connect(io.both_o, both.q);
        m.connect(io.pair_o, cat(&[high.q, low.q]));
        m.connect(io.less_o, less.q);
    }
}

/// The requantizer of the design document.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Requant {
    /// Accumulator width in bits.
    pub acc_width: u32,
    /// Scale width in bits.
    pub scale_width: u32,
    /// Bits shifted out.
    pub shift: u32,
    /// Result width in bits.
    pub out_width: u32,
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
        source: "hdl/tests/demo/mod.rs",
    };

    fn module_name(&self) -> String {
        format!("requant_a{}_s{}_n{}_o{}", self.acc_width, self.scale_width, self.shift, self.out_width)
    }

    fn check(&self) -> Result<(), ParamError> {
        ensure_param("shift", self.shift, 1..self.acc_width + self.scale_width)
    }

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
        let lane = m.instance("u_lane", Lane);
        m.connect(lane.first_i, equal);
        m.connect(lane.x_i, sum.as_sint());
        m.connect(io.peak_o, lane.y_o);
    }
}

demo! {
    /// A register slice.
    Slice SlicePorts "slice" "load passes to store one cycle later; one beat in two cycles." {
        load: InStream = stream().field("tag", uint(3)).array("data", sint(8).array(4)),
        store: OutStream = stream().field("tag", uint(3)).array("data", sint(8).array(4)),
    } |m, io| {
        let full = m.reg_init("full_q", bit(), 0);
        full.next(mux(full.q, !io.store.ready, io.load.valid));
        m.connect(io.load.ready, !full.q);
        m.connect(io.store.valid, full.q);
        let take = m.wire("take", io.load.fire());
        let tag = m.reg("tag_q", uint(3));
        tag.next_when(take, io.load.field("tag"));
        m.connect(io.store.field("tag"), tag.q);
        m.for_each("element", 4, |m, i| {
            let data = m.reg("data_q", sint(8));
            data.next_when(take, io.load.array("data").at(i));
            m.connect(io.store.array("data").at(i), data.q);
        });
    }
}

demo! {
    /// Two slices in a row.
    Streams StreamsPorts "streams" "store is load, two cycles later at the earliest." {
        load: InStream = stream().field("tag", uint(3)).array("data", sint(8).array(4)),
        store: OutStream = stream().field("tag", uint(3)).array("data", sint(8).array(4)),
    } |m, io| {
        let first = m.instance("u_first", Slice);
        let second = m.instance("u_second", Slice);
        m.connect_stream(&first.load, &io.load);
        m.connect_stream(&second.load, &first.store);
        m.connect_stream(&io.store, &second.store);
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
