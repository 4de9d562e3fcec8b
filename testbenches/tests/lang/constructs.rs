//! Every construct of the language, simulated in Verilator, against values worked out by hand.

use hdl::lang::{Block, elaborate};
use sim::{Bits, BuildOptions, Initial, Model, Sim};

use crate::demo;

/// A simulation of a block, not yet reset.
fn start<B: Block>(block: &B) -> Sim {
    let design = elaborate(block).unwrap_or_else(|e| panic!("{e}"));
    let model = Model::build(&(&design).into(), &BuildOptions::default()).unwrap();
    model.instance_with(Initial::Random(7)).unwrap()
}

/// Sets inputs by name, as two's complement.
fn set(sim: &mut Sim, values: &[(&str, i64)]) {
    for &(name, value) in values {
        let input = sim.input(name).unwrap();
        if value < 0 { sim.poke_i64(input, value) } else { sim.poke_u64(input, value as u64) }
    }
    sim.settle().unwrap();
}

/// An output, in the sign of its port.
fn get(sim: &Sim, name: &str) -> i64 {
    let output = sim.output(name).unwrap();
    if sim.port_of(output).signed { sim.peek_i64(output) } else { sim.peek_u64(output) as i64 }
}

#[track_caller]
fn check(sim: &Sim, expected: &[(&str, i64)]) {
    for &(name, value) in expected {
        assert_eq!(get(sim, name), value, "{name} after {} cycles", sim.cycle_count());
    }
}

#[test]
fn arithmetic() {
    let mut sim = start(&demo::Arithmetic {});
    set(&mut sim, &[("a_i", 200), ("b_i", 31), ("x_i", -100), ("y_i", -2000), ("amount_i", 7)]);
    check(&sim, &[("sum_o", 231), ("difference_o", 169), ("product_o", 200_000), ("fused_o", 198_000)]);
    // 200003 = 0x30d43: the low six bits are 3. -2000 does not fit 8 bits; 200 does not fit 4.
    check(&sim, &[("wrapped_o", 169), ("narrow_o", 3), ("saturated_o", -128), ("clipped_o", 15)]);
    check(&sim, &[("negative_o", 100), ("scaled_o", -800), ("quotient_o", -13), ("left_o", 0), ("right_o", -16)]);
    check(&sim, &[("bit_o", 1), ("reduced_o", 0b101), ("less_o", 0)]);
    set(&mut sim, &[("a_i", 5), ("b_i", 31), ("x_i", -128), ("y_i", 127), ("amount_i", 15)]);
    check(&sim, &[("difference_o", -26), ("wrapped_o", 256 - 26), ("negative_o", 128), ("saturated_o", 127)]);
    check(&sim, &[("clipped_o", 5), ("left_o", 0), ("right_o", 0), ("bit_o", 0), ("less_o", 1)]);
    set(&mut sim, &[("a_i", 255), ("y_i", 128), ("amount_i", 3)]);
    check(&sim, &[("saturated_o", 127), ("left_o", 0xf8), ("right_o", 16), ("bit_o", 1), ("reduced_o", 0b110)]);
}

#[test]
fn choices() {
    let mut sim = start(&demo::Choices {});
    for (request, first, square) in
        [(0, 9, 0), (1, 1, 1), (2, 2, 4), (3, 1, 9), (4, 4, 16), (5, 1, 25), (6, 2, 25), (7, 1, 25)]
    {
        set(&mut sim, &[("request_i", request), ("a_i", -3), ("b_i", request - 4)]);
        check(&sim, &[("first_o", first), ("square_o", square), ("any_o", i64::from(request != 0))]);
        check(&sim, &[("largest_o", (request - 4).max(-3))]);
    }
}

#[test]
fn deep_chains() {
    let mut sim = start(&demo::Deep {});
    for (a, b) in [(0, 0), (1, 2), (99, 255), (99, 0xf7), (100, 255), (255, 1)] {
        set(&mut sim, &[("a_i", a), ("b_i", b)]);
        check(&sim, &[("y_o", (a + 200 * b) % 256), ("twice_o", ((a ^ b) * 2) % 256)]);
        check(&sim, &[("some_o", i64::from(a < 100 && b >> (a % 8) & 1 == 1))]);
    }
}

#[test]
fn loops_and_arrays() {
    let mut sim = start(&demo::Lanes {});
    sim.reset(2).unwrap();
    let x = sim.input("x_i").unwrap();
    let poke = |sim: &mut Sim, values: [i64; 6]| sim.poke(x, &Bits::pack(8, values.map(|v| v as u64)));
    let element = |v: u64| i64::from(v as u8 as i8);
    poke(&mut sim, [1, -2, 3, -4, 5, -128]);
    set(&mut sim, &[("first_i", 1), ("key_i", 7)]);
    sim.tick().unwrap();
    let y = sim.output("y_o").unwrap();
    let outputs: Vec<i64> = sim.peek(y).unpack(8).into_iter().map(element).collect();
    assert_eq!(outputs, [-128, 5, -4, 3, -2, 1]);
    check(&sim, &[("total_o", -125), ("match_o", 1 << 7), ("parity_o", 1)]);
    poke(&mut sim, [0, 0, 100, -5, 127, -128]);
    set(&mut sim, &[("first_i", 0), ("key_i", 6)]);
    sim.tick().unwrap();
    let outputs: Vec<i64> = sim.peek(y).unpack(8).into_iter().map(element).collect();
    assert_eq!(outputs, [-128, 127, -4, 100, 0, 1]);
    check(&sim, &[("total_o", 96), ("match_o", 1 << 6), ("parity_o", 0)]);
    set(&mut sim, &[("key_i", 12)]);
    check(&sim, &[("match_o", 0)]);
}

#[test]
fn state_machine() {
    let mut sim = start(&demo::Machine {});
    sim.reset(1).unwrap();
    set(&mut sim, &[("limit_i", 2), ("start_i", 1)]);
    check(&sim, &[("busy_o", 0), ("done_o", 0), ("next_busy_o", 1)]);
    let step = |sim: &mut Sim, inputs: &[(&str, i64)], busy, done| {
        set(sim, inputs);
        sim.tick().unwrap();
        check(sim, &[("busy_o", busy), ("done_o", done)]);
    };
    step(&mut sim, &[], 1, 0);
    step(&mut sim, &[("start_i", 0)], 1, 0);
    step(&mut sim, &[], 1, 0);
    step(&mut sim, &[], 0, 1);
    step(&mut sim, &[], 0, 0);
    // Stop has priority over the end, and over the start.
    step(&mut sim, &[("start_i", 1), ("limit_i", 0)], 1, 0);
    step(&mut sim, &[("stop_i", 1)], 0, 0);
    step(&mut sim, &[], 0, 0);
}

#[test]
fn a_state_that_is_never_left() {
    let mut sim = start(&demo::Ends {});
    sim.reset(1).unwrap();
    for (go, done) in [(0, 0), (1, 0), (1, 0), (0, 1), (1, 1), (0, 1)] {
        set(&mut sim, &[("go_i", go)]);
        check(&sim, &[("done_o", done)]);
        sim.tick().unwrap();
    }
}

#[test]
fn wide_masks() {
    let mut sim = start(&demo::Masks {});
    sim.reset(1).unwrap();
    let (mask, lowest) = (sim.output("mask_o").unwrap(), sim.output("lowest_o").unwrap());
    check(&sim, &[("empty_o", 1)]);
    assert_eq!(sim.peek(lowest), Bits::zero(4096));
    let mut expected = Bits::zero(4096);
    for (index, low) in [(4095, 4095), (64, 64), (2000, 64), (63, 63), (0, 0)] {
        set(&mut sim, &[("set_i", 1), ("index_i", index)]);
        check(&sim, &[("set_o", 0)]);
        sim.tick().unwrap();
        expected.set_bit(index as u32, true);
        assert_eq!(sim.peek(mask), expected);
        let mut one = Bits::zero(4096);
        one.set_bit(low, true);
        assert_eq!(sim.peek(lowest), one);
        check(&sim, &[("set_o", 1), ("empty_o", 0)]);
        assert_eq!(sim.peek_u64(sim.output("top_o").unwrap()), 1 << 63);
    }
    set(&mut sim, &[("set_i", 0), ("index_i", 5)]);
    sim.tick().unwrap();
    assert_eq!(sim.peek(mask), expected);
}

#[test]
fn memories_read_first_and_write_bytes() {
    let mut sim = start(&demo::Memories {});
    let write = |sim: &mut Sim, enable, address, data, read| {
        let inputs = [("write_i", enable), ("write_address_i", address), ("data_i", data), ("read_i", read)];
        set(sim, &inputs);
        set(sim, &[("address_i", address)]);
        sim.tick().unwrap();
    };
    write(&mut sim, 0b1111, 9, 0x1122_3344, 0);
    write(&mut sim, 0b1111, 31, 0x5566_7788, 0);
    // The old word in the cycle of a write; the new bytes in the next.
    write(&mut sim, 0b0101, 9, 0xaabb_ccdd, 1);
    check(&sim, &[("data_o", 0x1122_3344)]);
    write(&mut sim, 0, 9, 0, 1);
    check(&sim, &[("data_o", 0x11bb_33dd)]);
    // Without a read the last word stays.
    write(&mut sim, 0, 31, 0, 0);
    check(&sim, &[("data_o", 0x11bb_33dd)]);
    write(&mut sim, 0, 31, 0, 1);
    check(&sim, &[("data_o", 0x5566_7788)]);
    // The register file: two reads within the cycle, places 0 to 5.
    for place in 0..6 {
        set(&mut sim, &[("file_write_i", 1), ("file_address_i", place), ("data_i", 60 - 7 * place)]);
        sim.tick().unwrap();
    }
    set(&mut sim, &[("file_write_i", 0), ("data_i", 0)]);
    for place in 0..5 {
        set(&mut sim, &[("file_address_i", place)]);
        check(&sim, &[("file_a_o", 60 - 7 * place), ("file_b_o", 53 - 7 * place)]);
    }
}

#[test]
fn modules_from_outside() {
    let mut sim = start(&demo::Outside {});
    for (k, value) in [3, 9, 14, 0, 5].into_iter().enumerate() {
        set(&mut sim, &[("d_i", value)]);
        sim.tick().unwrap();
        if k > 0 {
            check(&sim, &[("q_o", [3, 9, 14, 0, 5][k - 1])]);
        }
    }
}

#[test]
fn registers() {
    let mut sim = start(&demo::Registers {});
    sim.reset(1).unwrap();
    // The reset values; `low_q` and `high_q` swap once out of reset.
    check(&sim, &[("reset_o", -128), ("both_o", 5), ("pair_o", 0b10)]);
    set(&mut sim, &[("d_i", -7), ("en_i", 0)]);
    sim.tick().unwrap();
    check(&sim, &[("free_o", -7), ("reset_o", -7), ("both_o", 5), ("pair_o", 0b01)]);
    set(&mut sim, &[("d_i", 100), ("en_i", 1)]);
    sim.tick().unwrap();
    check(&sim, &[("free_o", 100), ("reset_o", 100), ("enabled_o", 100), ("both_o", 100), ("pair_o", 0b10)]);
    check(&sim, &[("less_o", 1)]);
    set(&mut sim, &[("d_i", 1), ("en_i", 0)]);
    sim.tick().unwrap();
    check(&sim, &[("free_o", 1), ("reset_o", 1), ("enabled_o", 100), ("both_o", 100)]);
    // Reset is asynchronous.
    set(&mut sim, &[("rst_ni", 0)]);
    check(&sim, &[("reset_o", -128), ("both_o", 5), ("pair_o", 0b10), ("free_o", 1), ("enabled_o", 100)]);
}

#[test]
fn requantizer_of_the_design_document() {
    let mut sim = start(&demo::Requant { acc_width: 24, scale_width: 16, shift: 12, out_width: 8 });
    sim.reset(1).unwrap();
    // 1000 * 410 / 4096 = 100.097; 1000 * 412 / 4096 = 100.586; ties round up.
    for (acc, scale, data) in [
        (1000, 410, 100),
        (1000, 412, 101),
        (-1000, 412, -101),
        (2048, 1, 1),
        (-2048, 1, 0),
        (8_388_607, 32_767, 127),
        (-8_388_608, 32_767, -128),
        (-8_388_608, -32_768, 127),
    ] {
        set(&mut sim, &[("acc_i", acc), ("scale_i", scale), ("valid_i", 1)]);
        sim.tick().unwrap();
        check(&sim, &[("valid_o", 1), ("data_o", data)]);
    }
    set(&mut sim, &[("acc_i", 0), ("valid_i", 0)]);
    sim.tick().unwrap();
    check(&sim, &[("valid_o", 0), ("data_o", 127)]);
}

#[test]
fn shared_expressions_and_instances() {
    let mut sim = start(&demo::Shared {});
    sim.reset(1).unwrap();
    set(&mut sim, &[("a_i", 3), ("b_i", 3), ("spare_i", 0b010010)]);
    check(&sim, &[("sum_o", 3), ("top_o", 1), ("equal_o", 1), ("spare_o", 0b11)]);
    sim.tick().unwrap();
    check(&sim, &[("peak_o", 6)]);
    for (a, b, sum, top, peak) in [(127, 126, 126, 1, 6), (60, 67, 63, 0, 127), (0, 0, 0, 0, 127), (1, 1, 1, 1, 2)] {
        set(&mut sim, &[("a_i", a), ("b_i", b), ("spare_i", 0b101101)]);
        check(&sim, &[("sum_o", sum), ("top_o", top), ("equal_o", i64::from(a == b && a != 0)), ("spare_o", 0)]);
        sim.tick().unwrap();
        check(&sim, &[("peak_o", peak)]);
    }
}

#[test]
fn streams_hold_data_until_taken() {
    let mut sim = start(&demo::Streams {});
    sim.reset(1).unwrap();
    let beat = |k: i64| (k % 8, 0x0403_0201 * k);
    let (mut sent, mut received) = (0, 0);
    for cycle in 0..200 {
        let (tag, data) = beat(sent + 1);
        let offer = i64::from(sent < 30 && cycle % 7 != 3);
        let take = i64::from(cycle % 5 < 3);
        set(&mut sim, &[("load_valid_i", offer), ("load_tag_i", tag), ("load_data_i", data), ("store_ready_i", take)]);
        let moved = offer == 1 && get(&sim, "load_ready_o") == 1;
        if get(&sim, "store_valid_o") == 1 {
            let (tag, data) = beat(received + 1);
            check(&sim, &[("store_tag_o", tag), ("store_data_o", data)]);
            received += take;
        }
        sent += i64::from(moved);
        sim.tick().unwrap();
    }
    assert_eq!((sent, received), (30, 30));
}

#[test]
fn tables_in_loops() {
    let mut sim = start(&demo::Rows {});
    let value = sim.input("value_i").unwrap();
    let values: Vec<u64> = (0..32).map(|k| k * 11 % 32).collect();
    sim.poke(value, &Bits::pack(5, values.iter().copied()));
    let (row_o, all, flags) =
        (sim.output("row_o").unwrap(), sim.output("all_o").unwrap(), sim.output("flags_o").unwrap());
    for row in 0..8 {
        set(&mut sim, &[("row_i", row as i64)]);
        assert_eq!(sim.peek(row_o).unpack(5), values[4 * row..4 * row + 4]);
    }
    let odd: Vec<u64> = values.iter().skip(1).step_by(2).rev().copied().collect();
    assert_eq!(sim.peek(all).unpack(5), odd);
    let nonzero: u64 = (0..32).map(|k| u64::from(values[k] != 0) << (31 - k)).sum();
    assert_eq!(sim.peek_u64(flags), nonzero);
}

#[test]
fn elements_chosen_at_run_time() {
    let mut sim = start(&demo::Tables {});
    sim.reset(1).unwrap();
    let grid = sim.input("grid_i").unwrap();
    let bytes: Vec<u64> = (0..16).map(|k| 15 * k + 3).collect();
    sim.poke(grid, &Bits::pack(8, bytes.iter().copied()));
    let mut scores = [0; 5];
    for step in 0..64_usize {
        let (row, column, add) = (step * 5 % 8, step * 3 % 4, step % 3 != 0);
        let amounts: Vec<u64> = (0..5).map(|r| (step as u64 + r) % 4).collect();
        let packed = Bits::pack(2, amounts.iter().copied()).to_u64().unwrap();
        let inputs = [("row_i", row as i64), ("column_i", column as i64), ("add_i", add.into())];
        set(&mut sim, &inputs);
        set(&mut sim, &[("amounts_i", packed as i64)]);
        // Past the end, the last one.
        check(&sim, &[("score_o", scores[row.min(4)] as i64), ("byte_o", bytes[4 * (row % 4) + column] as i64)]);
        assert_eq!(sim.peek(sim.output("scores_o").unwrap()).unpack(6), scores);
        let columns: Vec<u64> = (0..4).map(|r| bytes[4 * r + column]).collect();
        assert_eq!(sim.peek(sim.output("bytes_o").unwrap()).unpack(8), columns);
        sim.tick().unwrap();
        if add && row < 5 {
            scores[row] = (scores[row] + amounts[row]) % 64;
        }
    }
    let flipped: Vec<u64> = bytes.iter().map(|b| !b & 255).collect();
    assert_eq!(sim.peek(sim.output("flipped_o").unwrap()).unpack(8), flipped);
}

#[test]
fn one_group_does_what_several_do() {
    for groups in [1, 3] {
        let mut sim = start(&demo::Groups { groups });
        let count = groups as usize;
        let [x, key] = ["x_i", "key_i"].map(|name| sim.input(name).unwrap());
        let names = ["hit_o", "above_o", "held_o", "table_o", "stored_o", "sum_o", "y_o"];
        let ports = names.map(|name| sim.output(name).unwrap());
        sim.reset(1).unwrap();
        let mut held = vec![0; count];
        let mut store = vec![[None; 4]; count];
        let mut stored = vec![None; count];
        let mut largest = vec![[None; 4]; count];
        for cycle in 0..60_u64 {
            let now = cycle * 7 % 5;
            let lanes = (0..4 * u64::from(groups)).map(|lane| (cycle * 37 + lane * 11) % 256);
            let lanes: Vec<u64> = lanes.collect();
            sim.poke_u64(key, now);
            sim.poke(x, &Bits::pack(8, lanes.iter().copied()));
            sim.settle().unwrap();
            let read = |port: usize, width| sim.peek(ports[port]).unpack(width);
            for g in 0..count {
                let table = [now, held[g], 9][g];
                let expected = [u64::from(now == g as u64), u64::from(now > g as u64), held[g], table];
                let found = [read(0, 1)[g], read(1, 1)[g], read(2, 4)[g], read(3, 4)[g]];
                assert_eq!(found, expected, "group {g} of {groups} in cycle {cycle}");
                assert!(stored[g].is_none_or(|word| word == read(4, 4)[g]));
                let sums = [2 * g, 2 * g + 1].map(|place| read(5, 4)[place]);
                assert_eq!(sums, [0, 1].map(|half| (now + half + g as u64) % 16));
                for (lane, &peak) in largest[g].iter().enumerate() {
                    let peak: Option<i8> = peak;
                    assert!(peak.is_none_or(|peak| peak == read(6, 8)[4 * g + lane] as i8));
                }
            }
            for g in 0..count {
                let hit = now == g as u64;
                let place = (now % 4) as usize;
                for (largest, &lane) in largest[g].iter_mut().zip(&lanes[4 * g..]).filter(|_| hit) {
                    *largest = Some(lane as i8);
                }
                if hit {
                    store[g][place] = Some(held[g]);
                    held[g] = now;
                } else {
                    stored[g] = store[g][place];
                }
            }
            sim.tick().unwrap();
        }
    }
}

#[test]
fn products_in_sums() {
    let mut sim = start(&demo::Products {});
    let corners = |bits: u32| [0, 1, -1, 3, -(1 << (bits - 1)), (1 << (bits - 1)) - 1, -(1 << (bits - 1)) + 5];
    let wrap = |value: i64, bits: u32| value << (64 - bits) >> (64 - bits);
    for a in corners(8) {
        for b in corners(8) {
            for (c, sum) in corners(5).into_iter().zip(corners(24)).chain([(7, -40_000), (-3, 40_000)]) {
                set(&mut sim, &[("a_i", a), ("b_i", b), ("c_i", c), ("sum_i", sum)]);
                let (p, u) = (a * b, (a & 255) * (b & 255));
                let wrapped = wrap(sum + p, 24);
                check(&sim, &[("wide_o", p), ("cut_o", wrap(a * c, 9)), ("named_o", wrapped), ("unnamed_o", wrapped)]);
                check(&sim, &[("extended_o", wrapped), ("less_o", wrap(sum - p, 24)), ("grown_o", sum - p)]);
                check(&sim, &[("dot_o", p + a * c), ("negative_o", i64::from(wrapped < 0))]);
                check(&sim, &[("shared_o", if c == 0 { p } else { wrapped }), ("rounded_o", p + 8)]);
                check(&sim, &[("masked_o", wrap((a & b) * c, 12)), ("unsigned_wide_o", u)]);
                check(&sim, &[("unsigned_sum_o", (sum + u) & 0xff_ffff)]);
            }
        }
    }
}
