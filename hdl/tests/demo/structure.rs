//! Registers, state machines, memories, streams, loops, instances and checks.

use hdl::lang::*;

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
            let lane = m.instance("u_lane", Lane {});
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
    /// A state that is never left, and a transition that hides the one behind it.
    Ends EndsPorts "ends" "done_o for good, two cycles behind go_i." {
        go_i: In = bit(),
        done_o: Out = bit(),
    } |m, io| {
        let fsm = m.fsm("state", &["idle", "run", "done"]);
        fsm.goto("idle", io.go_i, "run");
        fsm.goto("run", true, "done");
        fsm.goto("run", io.go_i, "idle");
        m.connect(io.done_o, fsm.is("done"));
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
        clocks: vec!["CK".into()],
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

bundle! {
    /// Four numbers with a tag.
    pub struct Tagged(lanes: u32) {
        /// Travels with the numbers.
        tag: Field = uint(3),
        /// The numbers.
        data: FieldArray = sint(8).array(*lanes),
        /// Left out with fewer than eight lanes.
        wide: FieldOption = bit().when(*lanes >= 8),
    }
}

demo! {
    /// A register slice.
    Slice SlicePorts "slice" "load passes to store one cycle later; one beat in two cycles." {
        /// What comes.
        load: InStream<Tagged> = 4,
        /// What goes.
        store: OutStream<Tagged> = 4,
    } |m, io| {
        let full = m.reg_init("full_q", bit(), 0);
        full.next(mux(full.q, !io.store.ready, io.load.valid));
        m.connect(io.load.ready, !full.q);
        m.connect(io.store.valid, full.q);
        let take = m.wire("take", io.load.fire());
        let held = io.load.hold(m, "held", take);
        io.store.drive(m, "store", &held);
    }
}

demo! {
    /// Two slices in a row.
    Streams StreamsPorts "streams" "store is load, two cycles later at the earliest." {
        /// What comes.
        load: InStream<Tagged> = 4,
        /// What goes.
        store: OutStream<Tagged> = 4,
    } |m, io| {
        let first = m.instance("u_first", Slice {});
        let second = m.instance("u_second", Slice {});
        m.connect_stream(&first.load, &io.load);
        m.connect_stream(&second.load, &first.store);
        m.connect_stream(&io.store, &second.store);
    }
}

demo! {
    /// Arrays: elements chosen at run time, arrays of registers, vectors cut by loops, a port as one vector.
    Tables TablesPorts "tables" "five scores; the one at row_i changes, and is shown." {
        /// Row of the score.
        row_i: In = uint(3),
        /// Column of the grid.
        column_i: In = uint(2),
        /// Add to the score of that row.
        add_i: In = bit(),
        /// What is added, two bits a row.
        amounts_i: In = uint(10),
        /// Four by four bytes.
        grid_i: InArray = uint(8).array(16),
        /// The score; of rows past the end, the last one.
        score_o: Out = uint(6),
        /// All scores.
        scores_o: OutArray = uint(6).array(5),
        /// Byte (row, column) of the grid, rows modulo 4.
        byte_o: Out = uint(8),
        /// Byte (i, column) of the grid.
        bytes_o: OutArray = uint(8).array(4),
        /// The grid, upside down.
        flipped_o: OutArray = uint(8).array(16),
        /// First byte of the grid: a part of the port as wide as an element.
        corner_o: Out = uint(8),
    } |m, io| {
        let score = m.regs_init("score", uint(6), 5, 0);
        m.for_each("rows", 5, |m, i| {
            let here = m.wire("here", io.row_i.eq(i.value(3)) & io.add_i);
            let sum = score.q.at(i).wrapping_add(io.amounts_i.slice_at(i * 2, 2).extend(6));
            score.next_when(m, i, here, sum);
        });
        m.connect(io.score_o, score.q.at(io.row_i));
        m.connect_each("all", io.scores_o, score.q);
        let grid = m.grid("grid", uint(8), 4, 4);
        m.for_each("copy", 16, |m, i| m.connect(grid.flat().at(i), io.grid_i.at(i)));
        let row = m.wire("row", io.row_i.truncate(2));
        m.connect(io.byte_o, grid.at((row, io.column_i)));
        m.for_each("column", 4, |m, i| m.connect(io.bytes_o.at(i), grid.at((i, io.column_i))));
        m.connect(io.flipped_o.packed(), !io.grid_i.packed());
        m.connect(io.corner_o, io.grid_i.packed().slice(0..8));
    }
}
