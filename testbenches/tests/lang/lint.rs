//! Every construct of the language prints Verilog that Verilator, Icarus and Yosys accept without a word.

use sim::Design;
use sim::lint::{iverilog_check, verilator_lint, yosys};

use crate::demo;

/// The designs, without designs whose sources are somebody else's.
fn designs() -> Vec<Design> {
    demo::all().iter().map(Design::from).collect()
}

#[test]
fn verilator_has_nothing_to_say() {
    let reports = designs().into_iter().map(|d| verilator_lint(&d.files, &d.top).unwrap());
    let bad: Vec<String> = reports.filter(|r| !r.is_clean()).map(|r| r.to_string()).collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn icarus_has_nothing_to_say() {
    let reports = designs().into_iter().map(|d| iverilog_check(&d.files, &d.top).unwrap());
    let bad: Vec<String> = reports.filter(|r| !r.is_clean()).map(|r| r.to_string()).collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Latches, loops, undriven and multiply driven wires, and any warning; with the formal sections too.
#[test]
fn yosys_has_nothing_to_say() {
    let mut bad = String::new();
    for design in designs() {
        for formal in ["", " -formal"] {
            let files: String = design.files.iter().map(|f| format!("read_verilog{formal} {}\n", f.name)).collect();
            let script = format!(
                "{files}hierarchy -check -top {}\nproc\nopt\ncheck -assert\nselect -assert-none t:$dlatch\n",
                design.top
            );
            match yosys(&script, &design.files) {
                Ok(log) => log
                    .lines()
                    .filter(|l| l.contains("Warning"))
                    .for_each(|l| bad += &format!("{}{formal}: {l}\n", design.top)),
                Err(error) => bad += &format!("{}{formal}: {error}\n", design.top),
            }
        }
    }
    assert!(bad.is_empty(), "{bad}");
}

/// See `docs/decisions/0002-signed-products.md`.
#[test]
fn yosys_draws_no_signed_product_into_a_sum() {
    let design = Design::from(&hdl::lang::elaborate(&demo::Products {}).unwrap());
    let script = "read_verilog products.v\nhierarchy -top products\nproc\nopt\nwreduce\nopt_clean\nalumacc\n";
    let log = yosys(script, &design.files).unwrap();
    let text: Vec<&str> = design.files[0].text.lines().collect();
    // `merging $macc model for $mul$products.v:44$8 into $add$products.v:45$9.`
    let sum = |line: &str| -> Option<usize> {
        let (_, sum) = line.trim().strip_prefix("merging $macc model for $mul$")?.split_once(" into ")?;
        sum.split_once(".v:")?.1.split('$').next()?.parse().ok()
    };
    let merged: Vec<&str> = log.lines().filter_map(sum).map(|line| text[line - 1].trim()).collect();
    let allowed = ["assign unsigned_sum_o"];
    assert!(merged.iter().all(|m| allowed.iter().any(|a| m.starts_with(a))), "{merged:#?}");
    assert_eq!(merged.len(), allowed.len(), "Yosys merges no more, or says it otherwise: {merged:#?}");
}

#[test]
fn a_warning_would_be_seen() {
    let mut design = designs().into_iter().find(|d| d.top == "rows").unwrap();
    let file = design.files.last_mut().unwrap();
    let end = file.text.rfind("endmodule").unwrap();
    file.text.insert_str(end, "wire [3:0] narrow = chosen_value;\n");
    assert!(!verilator_lint(&design.files, &design.top).unwrap().is_clean());
}
