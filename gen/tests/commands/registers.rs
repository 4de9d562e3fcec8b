//! The files that describe registers, read by others: a C compiler, rustc, a SystemRDL compiler.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hdl::lang::registers::{Access, Register, RegisterMap};
use senbazuru::catalogue::Catalogue;
use senbazuru::output::{Bundle, Earlier, Layout};
use serde_json::{Value, json};
use sim::process::Tool;

/// Every block with registers: its map, and its files by extension, in a folder.
fn described() -> Vec<(String, RegisterMap, tempfile::TempDir)> {
    let mut found = Vec::new();
    for entry in Catalogue::standard().all().to_vec() {
        let design = entry.elaborate(&entry.defaults()).unwrap();
        let Some(map) = design.manifest().registers else { continue };
        let folder = tempfile::tempdir().unwrap();
        let mut bundle = Bundle::new(Layout::Flat);
        bundle.add(entry.family(), entry.about().name, &design).unwrap();
        bundle.write(folder.path(), &Earlier::default()).unwrap();
        found.push((design.top_name().to_owned(), map, folder));
    }
    assert!(found.len() >= 2, "{}", found.len());
    found
}

fn run(tool: Tool) -> String {
    let command = tool.command_line();
    let output = tool.run().unwrap_or_else(|e| panic!("{e}"));
    assert!(output.success(), "{command}\n{}", output.log());
    output.stdout
}

/// The map as the SystemRDL compiler should see it.
fn expected(map: &RegisterMap) -> Value {
    let mut registers: Vec<&Register> = map.registers.iter().collect();
    registers.sort_by_key(|r| r.offset);
    let field = |f: &hdl::lang::registers::RegisterField| {
        let (sw, onwrite, reset) = match f.access {
            Access::Constant(value) => ("r", None, Some(value)),
            Access::ReadWrite(value) => ("rw", None, Some(value)),
            Access::ReadOnly => ("r", None, None),
            Access::Sticky => ("rw", Some("woclr"), Some(0)),
            Access::Pulse => ("w", None, Some(0)),
            Access::Command => ("rw", None, Some(0)),
        };
        // A pulse that stayed would start job after job.
        let pulse = f.access == Access::Pulse;
        json!({ "name": f.name, "low": f.low, "width": f.width, "reset": reset, "sw": sw, "onwrite": onwrite, "singlepulse": pulse })
    };
    let register = |r: &&Register| {
        let fields: Vec<_> = r.fields.iter().map(field).collect();
        json!({ "name": r.name, "offset": r.offset, "bytes": 4 * r.words(), "fields": fields })
    };
    registers.iter().map(register).collect()
}

#[test]
fn a_systemrdl_compiler_reads_the_map() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/python/bin/python");
    assert!(python.exists(), "there is no SystemRDL compiler: run `scripts/setup tests`");
    let reader = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/registers.py");
    for (top, map, folder) in described() {
        let file = folder.path().join(format!("{top}.rdl"));
        let text = run(Tool::new(python.display().to_string()).args([&reader, &file]));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected(&map), "{top}");
    }
}

#[test]
fn the_c_header_says_what_the_map_does() {
    for (top, map, folder) in described() {
        let header = fs::read_to_string(folder.path().join(format!("{top}.h"))).unwrap();
        let mut values = BTreeMap::new();
        for line in header.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            if let ["#define", name, value] = words[..] {
                assert!(values.insert(name, value).is_none(), "{top}: {name} twice");
            }
        }
        let prefix = header.lines().find_map(|l| l.strip_prefix("#ifndef ")?.strip_suffix("_REGISTERS_H")).unwrap();
        let number = |name: String| {
            let text = values.get(&name[..]).unwrap_or_else(|| panic!("{top}: no {name}"));
            let digits = text.trim_end_matches(['u', 'l']);
            match digits.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
                None => digits.parse().unwrap(),
            }
        };
        for r in &map.registers {
            assert_eq!(number(format!("{prefix}_{}", r.name)), u64::from(r.offset));
            if r.words() == 2 {
                assert_eq!(number(format!("{prefix}_{}_HIGH", r.name)), u64::from(r.offset) + 4);
            }
            for f in r.fields.iter().filter(|f| r.words() == 1 && f.width < 32) {
                let name = format!("{prefix}_{}_{}", r.name, f.name.to_uppercase());
                assert_eq!(number(format!("{name}_SHIFT")), u64::from(f.low));
                assert_eq!(number(format!("{name}_MASK")), ((1 << f.width) - 1) << f.low);
            }
        }
        // Each value is a constant expression, and the header stands alone, twice.
        let mut program = format!("#include \"{top}.h\"\n#include \"{top}.h\"\nunsigned long long all[] = {{\n");
        values.keys().for_each(|name| program += &format!("  {name},\n"));
        fs::write(folder.path().join("all.c"), program + "};\n").unwrap();
        let options = ["-x", "c", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "all.c"];
        run(Tool::new("g++").args(options).dir(folder.path()));
    }
}

#[test]
fn the_rust_constants_compile_without_a_warning() {
    for (top, map, folder) in described() {
        let file = format!("{top}.rs");
        let text = fs::read_to_string(folder.path().join(&file)).unwrap();
        for r in &map.registers {
            assert!(text.contains(&format!("pub const {}: u32 = {:#05x};", r.name, r.offset)), "{top}: {}", r.name);
        }
        // The tables of operations name types of the crate `host`, which compiles them.
        let alone = text.split("\n/// Descriptors of operations").next().unwrap();
        fs::write(folder.path().join(&file), alone).unwrap();
        let options = ["--edition", "2021", "--crate-type", "lib", "--crate-name", "registers", "-D", "warnings"];
        run(Tool::new("rustc")
            .args(options)
            .args(["-D", "missing-docs", "--emit", "metadata", &file])
            .dir(folder.path()));
    }
}

#[test]
fn the_table_has_every_field() {
    for (top, map, folder) in described() {
        let text = fs::read_to_string(folder.path().join(format!("{top}.md"))).unwrap();
        // A line after a table belongs to it where no empty line is between them.
        let outside = text.split("\n\n").nth(3).is_some_and(|legend| legend.contains(": ") && !legend.contains('|'));
        assert!(outside, "{top}: the legend is in the table");
        for r in &map.registers {
            assert!(text.contains(&format!("| `{:#05x}` | `{}` |", r.offset, r.name)), "{top}: {}", r.name);
            for f in &r.fields {
                assert!(text.contains(&format!("`{}` |", f.name)) && text.contains(&f.meaning), "{top}: {}", f.name);
            }
        }
    }
}
