//! Files of sweeps that are refused before anything runs, each with the allowed form.

use crate::support::{SMALL_MESHES as MESH, in_folder, senbazuru};
use snapbox::str;

#[test]
fn mistakes_in_the_file() {
    let message = |text: &str| {
        let folder = in_folder(&[("s.toml", text)]);
        let output =
            senbazuru(&["sweep", "s.toml"]).current_dir(folder.path()).assert().code(2).get_output().stderr.clone();
        assert!(!folder.path().join("target").exists());
        String::from_utf8(output).unwrap()
    };
    let change = |from: &str, to: &str| {
        assert!(MESH.contains(from));
        message(&MESH.replace(from, to))
    };
    for (text, part) in [
        (change("\"mac_mesh\"", "\"mac_mash\""), "s.toml:3: unknown block `mac_mash`; did you mean mac_mesh?"),
        (change("rows = {", "row = {"), "s.toml:9: mac_mesh has no parameter `row`; did you mean rows?"),
        (change("[1, 2]", "['a']"), "s.toml:10: parameter `columns` is a, allowed: 1 to 1024"),
        (change("from = 1", "form = 1"), "s.toml:9: axis `rows`: `form` is unknown; write"),
        (change("\"synth\"", "\"synthesis\""), "unknown variant `synthesis`, expected one of `gen`, `lint`"),
        (change("\"synth\"", "\"gen\""), "stage `gen` is listed twice"),
        (change("<= 3", "<= 3 3"), "s.toml:5: `rows * columns <= 3 3`"),
        (change("rows * columns <= 3", "rows * lines <= 3"), "`rows * lines <= 3`"),
        (change("rows * columns <= 3", "rows"), "wanted true or false"),
        (change("[fixed]", "[fixed]\nrows = 1"), "`rows` is in [fixed] and in [axes]"),
        (
            change("[derived]", "[small]\noperand_width = [3, 4]\n[derived]"),
            "s.toml:12: `operand_width` is in [small], but not in [axes]",
        ),
        (change("[derived]", "[[plot]]\nx = 'rows'\ny = 'area'\nwhere = ['lines == 1']\n[derived]"), "`lines == 1`"),
        (
            change("[derived]", "[[plot]]\nx = 'rows'\ny = 'gates'\n[[plot]]\nx = 'row'\ny = 'gates'\n[derived]"),
            "s.toml: plot 2: x = \"row\" is no parameter of mac_mesh, nor a number of gen, synth with these options; did you mean rows?",
        ),
        // There is no library, so there is no area.
        (
            change("[derived]", "[[plot]]\nx = 'rows'\ny = 'area'\n[derived]"),
            "plot 1: y = \"area\" is no parameter of mac_mesh, nor a number of gen, synth with these options; to have it, set `liberty`",
        ),
        (
            change("[derived]", "[[plot]]\nx = 'rows'\ny = 'slack_ns'\n[derived]"),
            "to have it, set `liberty` and `period`",
        ),
        (
            change("[derived]", "[[plot]]\nx = 'fpga_luts'\ny = 'gates'\n[derived]"),
            "to have it, add `fpga` to `stages`",
        ),
        (
            change("[derived]", "[options]\nhierarchical = true\n[[plot]]\nx = 'rows'\ny = 'levels'\n[derived]"),
            "to have it, leave out `hierarchical`",
        ),
        (
            change("[derived]", "[[plot]]\nx = 'rows'\ny = 'gates'\nseries = 'colums'\n[derived]"),
            "series = \"colums\" is no parameter of mac_mesh, nor a number of gen, synth with these options; did you mean columns?",
        ),
        (
            change("[derived]", "[[plot]]\nx = 'rows'\ny = 'gates'\nwhere = ['rows > 7']\n[derived]"),
            "plot 1: its `where` leaves no point",
        ),
        (
            change("rows * columns <= 3\"", "rows < 3\", \"rows * columns > 100\""),
            "s.toml: `where` leaves none of the 6 combinations: `rows < 3` holds for 4, `rows * columns > 100` holds for 0",
        ),
        (change("title", "titel"), "unknown field `titel`"),
        (change("stages", "options = { vector = 3 }\nstages"), "unknown field `vector`"),
        (change("stages", "options = { depth = 0 }\nstages"), "line 4, column 21"),
        (change("stages", "options = { depth = 0 }\nstages"), "0 is not from 1 to 100000"),
        (change("stages", "options = { cover_depth = 100001 }\nstages"), "100001 is not from 1 to 100000"),
        (change("stages", "options = { vectors = 0 }\nstages"), "0 is too small, allowed: from 1"),
        (
            change("\"synth\"]", "\"energy\"]\noptions = { liberty = 'none' }"),
            "s.toml: the stage energy needs a cell library, not `none`",
        ),
        (
            change("\"synth\"]", "\"fpga\"]\noptions = { device = 'ice40-hx8k', out_of_context = true }"),
            "s.toml: nextpnr-ice40 places no block out of context",
        ),
    ] {
        assert!(text.contains(part), "wanted: {part}\ngot: {text}");
    }
    senbazuru(&["sweep", "no/such.toml"]).assert().code(2).stderr_eq(str![[r#"
error: cannot read no/such.toml: No such file or directory (os error 2)

"#]]);
}
