//! The emitted Verilog of every construct, as snapshots (`SNAPSHOTS=overwrite` renews them); and that it is the same each time.

mod demo;

fn text(design: &hdl::lang::Design) -> String {
    design.verilog().into_iter().map(|f| format!("// ==== {}\n{}", f.name, f.text)).collect()
}

#[test]
fn every_construct() {
    for design in demo::all() {
        let file = format!("{}/tests/snapshots/{}.v", env!("CARGO_MANIFEST_DIR"), design.top_name());
        snapbox::assert_data_eq!(text(&design), snapbox::Data::read_from(file.as_ref(), None).raw());
    }
}

#[test]
fn the_same_bytes_each_time_and_in_every_thread() {
    let print = || demo::all().iter().map(text).collect::<String>();
    let here = print();
    assert_eq!(here, print());
    let there: Vec<String> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..2).map(|_| s.spawn(print)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(there.iter().all(|t| *t == here));
}

#[test]
fn manifests_agree_with_the_ports() {
    for design in demo::all() {
        let (manifest, verilog) = (design.manifest(), design.verilog());
        let top = &verilog.last().unwrap().text;
        for port in &manifest.ports {
            assert!(top.contains(&format!(" {}", port.name)), "{} has no port {}", manifest.top, port.name);
        }
        assert_eq!(manifest.clock.is_some(), top.contains("clk_i"), "{}", manifest.top);
        assert_eq!(verilog.len(), manifest.modules.len());
    }
}

/// Registers and memories that no reset reaches, by module; those with a reset value are not among them.
#[test]
fn state_without_a_reset_is_listed() {
    let listed = |top: &str| {
        let all = demo::all();
        let design = all.iter().find(|design| design.top_name() == top).unwrap();
        let of = |r: hdl::lang::UnresetRegister| (r.name, r.width, r.depth);
        design.unreset_registers().into_iter().map(of).collect::<Vec<_>>()
    };
    let register = |name: &str, width| (name.to_owned(), width, None);
    let memory = |name: &str, width, depth| (name.to_owned(), width, Some(depth));
    assert_eq!(listed("registers"), [register("free_q", 8), register("enabled_q", 8), register("less_q", 1)]);
    // Read data that come within the cycle are no state.
    assert_eq!(listed("memories"), [register("ram_data", 32), memory("ram", 32, 32), memory("file", 6, 6)]);
}
