//! Files of other simulators, damaged files, and hostile ones: each case is a small file of its own in `files`, or a run of a
//! simulator.

use std::fs;
use std::path::{Path, PathBuf};

use sim::process::Tool;
use snapbox::str;

use super::{FILE, draw, draw_file, texts};
use crate::support::senbazuru;

/// A file of `tests/commands/wave/files`.
fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/wave/files").join(name)
}

fn kept_texts(name: &str, more: &[&str]) -> Vec<String> {
    texts(&draw_file(&kept(name), more).unwrap())
}

#[test]
fn numbers_texts_and_events_are_drawn() {
    assert_eq!(kept_texts("realtime.vcd", &[]), ["clk_i", "at", "0", "12.5", "-1.25e-5"]);
    assert_eq!(kept_texts("real.vcd", &[]), ["clk_i", "load", "2.5", "-inf", "1.00e300"]);
    assert_eq!(kept_texts("string.vcd", &[]), ["clk_i", "state", "idle", "wait &lt;3&gt;", ""]);
    // In the second of three cycles.
    let svg = draw_file(&kept("event.vcd"), &["--signals", "ping"]).unwrap();
    assert_eq!(svg.matches("class=\"f-s1 tint\"").count(), 1);
    let refused = |name, signals| draw_file(&kept(name), &["--signals", signals]).unwrap_err();
    assert!(refused("real.vcd", "load:hex").contains("`load` is a real number, which has no bits and no format"));
    assert!(refused("string.vcd", "state[3:0]").contains("`state` is a text, which has no bits and no format"));
    assert!(refused("event.vcd", "ping:dec").contains("`ping` is an event, which has no bits and no format"));
    assert!(refused("string.vcd", "clk_i@state").contains("`state` is not a bit"));
    assert!(refused("declared.vcd", "clk_i@data_i").contains("`data_i` has 8 bits, not one"));
}

#[test]
fn bits_have_the_indices_of_their_declaration() {
    let names = ["--signals", "data_i,data_i[15:12],data_i[8]:bin,data_i[9:8]"];
    let expected = ["data_i[15:8]", "A5", "01", "x", "data_i[15:12]", "A", "0", "x", "data_i[8:8]", "data_i[9:8]"];
    assert_eq!(kept_texts("declared.vcd", &names), [&expected[..], &["1", "x"]].concat());
    // Bit 0 is the most significant one here.
    let names = ["--signals", "data_i,data_i[0:3],data_i[6:7]:dec"];
    let expected = ["data_i[0:7]", "A0", "01", "F0", "data_i[0:3]", "A", "0", "F", "data_i[6:7]", "0", "1", "0"];
    assert_eq!(kept_texts("rising.vcd", &names), expected);
    let refused = |name, signals| draw_file(&kept(name), &["--signals", signals]).unwrap_err();
    assert!(refused("declared.vcd", "data_i[7:0]").contains("bits 7 to 0 of `data_i`, which has bits 15 to 8"));
    assert!(refused("rising.vcd", "data_i[7:0]").contains("bits 7 to 0 of `data_i`, which has bits 0 to 7"));
    assert!(refused("rising.vcd", "data_i[0:8]").contains("bits 0 to 8 of `data_i`, which has bits 0 to 7"));
}

#[test]
fn what_simulators_add_is_understood_or_skipped() {
    assert_eq!(kept_texts("scopes.vcd", &["--signals", "gen[0].inner.rtl(two).go"]), ["gen[0].inner.rtl(two).go"]);
    assert_eq!(kept_texts("attributes.vcd", &[]), ["clk_i", "go"]);
    assert_eq!(kept_texts("order-mark.vcd", &[]), ["clk_i", "go"]);
    // All on one line, line ends of another system, a time that is said twice.
    let one_line = FILE.replace('\n', " ");
    assert_eq!(draw(&one_line, &[]), draw(FILE, &[]));
    assert_eq!(draw(&FILE.replace('\n', "\r\n"), &[]), draw(FILE, &[]));
    assert_eq!(draw(&FILE.replace("#20\n", "#20\n#20\n"), &[]), draw(FILE, &[]));
}

#[test]
fn a_damaged_file_is_refused_with_its_line() {
    let said = |name| draw_file(&kept(name), &[]).unwrap_err();
    snapbox::assert_data_eq!(
        said("backwards.vcd"),
        str![[r#"
error: backwards.vcd: line 19: time goes back from 25 to 24

"#]]
    );
    snapbox::assert_data_eq!(
        said("unknown.vcd"),
        str![[r#"
error: unknown.vcd: line 19: a value for `%`, which no `$var` declares

"#]]
    );
    snapbox::assert_data_eq!(
        said("width-0.vcd"),
        str![[r#"
error: width-0.vcd is no VCD file: line 4: `w` has a width of 0; a variable has at least one bit; `senbazuru sim BLOCK --trace FILE.vcd` makes VCD files

"#]]
    );
    let said = |from: &str, to: &str| draw(&FILE.replacen(from, to, 1), &[]).unwrap_err();
    for (from, to, part) in [
        ("wire 8 #", "wire many #", "line 5: the width of `sum_o` is many, which is no number of bits"),
        ("wire 8 #", "wire -8 #", "line 5: the width of `sum_o` is -8"),
        ("wire 8 # sum_o [7:0]", "wire 8 #", "line 5: `$var` needs a kind, a width, an identifier and a name"),
        ("wire 8 #", "wire 8 !", "`sum_o` shares the identifier `!` with a variable of another width or kind"),
        ("b00000111", "b100000111", "line 23: 9 bits for `TOP.sum_o`, which has 8"),
        ("b00000111", "b", "line 23: `` for `TOP.sum_o` is not made of bits"),
        ("b00000111", "r7", "line 23: a real number for `TOP.sum_o`, which is bits"),
        ("#20", "#2x", "line 21: `#2x` is no time"),
        ("#20", "20", "line 21: `20` is neither a time nor a value"),
        ("#20", "$dumpports", "line 21: `$dumpports` is no command that stands among values"),
        ("#50\n1!", "#50\nb1", "line 38: the file ends after a value, before its identifier"),
        ("#50\n1!", "$comment", "line 37: the file ends within `$comment`"),
    ] {
        let error = said(from, to);
        assert!(error.contains(part), "{from} -> {to}: {error}");
    }
    let real = fs::read_to_string(kept("real.vcd")).unwrap();
    assert!(draw(&real.replace("r2.5", "rtwo"), &[]).unwrap_err().contains("line 9: `two` is no number"));
    assert!(
        draw(&real.replace("r2.5", "b1"), &[]).unwrap_err().contains("bits for `TOP.load`, which is a real number")
    );
}

/// Neither the width nor the cycles that are asked for cost memory or time.
#[test]
fn hostile_numbers_end_at_once() {
    assert_eq!(
        kept_texts("wide.vcd", &["--signals", "w[3:0],w[4294967294:4294967291]"]),
        ["w[3:0]", "0", "A", "x", "w[4294967294:4294967291]", "0", "x"]
    );
    snapbox::assert_data_eq!(
        draw_file(&kept("wide.vcd"), &[]).unwrap_err(),
        str![[r#"
error: wide.vcd: `w` has 4294967295 bits, a drawing shows 4096; choose some, as in `w[4095:0]`

"#]]
    );
    snapbox::assert_data_eq!(
        draw(FILE, &["--to", "18446744073709551615"]).unwrap_err(),
        str![[r#"
error: a.vcd: 18446744073709551616 cycles do not fit into a drawing, 400 do; choose with --from and --to

"#]]
    );
    let late = draw(FILE, &["--from", "18446744073709551600", "--to", "18446744073709551615"]).unwrap_err();
    assert!(late.contains("it has the cycles 0 to 4, not 18446744073709551600"), "{late}");
    let end = FILE.replace("#45\n", "#18446744073709551614\n").replace("#50\n", "#18446744073709551615\n");
    assert_eq!(draw(&end, &[]).map(|svg| texts(&svg)), draw(FILE, &[]).map(|svg| texts(&svg)));
    assert!(draw(&FILE.replace("#50\n", "#18446744073709551616\n"), &[]).unwrap_err().contains("is no time"));
}

/// The same run of Icarus Verilog as VCD and as FST.
#[test]
fn vcd_and_fst_of_another_simulator_are_drawn_alike() {
    let folder = tempfile::tempdir().unwrap();
    let compile = Tool::new("iverilog").args(["-g2012", "-o", "model"]).arg(kept("simulator.v")).dir(folder.path());
    assert!(compile.run().unwrap().success());
    let names = "clk_i,load,at,total:signed,ping,data_i,data_i[9:8],flags_i[0:3],gen[1].part:dec";
    let drawings = ["-vcd", "-fst"].map(|format| {
        let run = Tool::new("vvp").args(["-n", "model", format]).dir(folder.path()).run().unwrap();
        assert!(run.success(), "{}", run.log());
        let file = folder.path().join(format.replace('-', "wave."));
        fs::rename(folder.path().join("out.vcd"), &file).unwrap();
        draw_file(&file, &["--clock", "clk_i", "--signals", names]).unwrap()
    });
    assert_eq!(drawings[0], drawings[1]);
    let expected: Vec<&str> = "clk_i load 0.5 -0.75 1.125 -1.688 2.531 at 0 5 15 25 35 total 0 -1 -2 -3 -4 ping \
         data_i[15:8] A5 A6 A7 A8 A9 data_i[9:8] 1 2 3 0 1 flags_i[0:3] 1 2 4 9 2 gen[1].part 1 2 3 4 5"
        .split(' ')
        .collect();
    assert_eq!(texts(&drawings[0]), expected);
}

#[test]
fn our_own_fst_is_drawn_as_our_own_vcd() {
    let folder = tempfile::tempdir().unwrap();
    let drawings = ["a.vcd", "a.fst"].map(|name| {
        let file = folder.path().join(name).display().to_string();
        let mesh = ["sim", "mac_mesh", "--set", "rows=2", "--set", "columns=2", "--vectors", "4", "--seed", "5"];
        senbazuru(&[&mesh[..], &["--trace", &file]].concat()).assert().code(0);
        let names = "clk_i,clear_i:bin,act_i[3:0]:signed,act[1],acc_o[7:0]:signed";
        draw_file(Path::new(&file), &["--from", "10", "--to", "30", "--signals", names]).unwrap()
    });
    assert_eq!(drawings[0], drawings[1]);
    assert!(drawings[0].contains("bus-value"));
}

/// GHDL 2.0 made `counter.ghw` from `counter.vhd`.
#[test]
fn ghw_is_drawn() {
    let expected: Vec<&str> =
        "clk_i go_i count_o 00 03 06 flags[0:3] 1 2 4 load 0 0.25 0.5 total 0 -1 -2 state idle busy"
            .split(' ')
            .collect();
    let names = "clk_i,go_i,count_o,flags,load,total:signed,state";
    assert_eq!(kept_texts("counter.ghw", &["--to", "2", "--signals", names]), expected);
}

#[test]
fn damaged_binaries_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read(kept("counter.ghw")).unwrap();
    let file = folder.path().join("a.ghw");
    // Cut off anywhere, and each byte changed.
    let cuts = (0..good.len()).step_by(97).map(|n| good[..n].to_vec());
    let changes = (0..good.len()).step_by(31).map(|n| {
        let mut bytes = good.clone();
        bytes[n] ^= 0x55;
        bytes
    });
    let mut refused = 0;
    for bytes in cuts.chain(changes) {
        fs::write(&file, bytes).unwrap();
        if let Err(message) = draw_file(&file, &[]) {
            assert!(message.starts_with("error: a.ghw") && message.lines().count() == 1, "{message}");
            refused += 1;
        }
    }
    assert!(refused > 8);
}
