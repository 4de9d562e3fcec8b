//! The emitted Verilog of every construct, as snapshots; and that it is the same each time.

mod demo;

fn text(design: &hdl::lang::Design) -> String {
    design.verilog().into_iter().map(|f| format!("// ==== {}\n{}", f.name, f.text)).collect()
}

#[test]
fn every_construct() {
    for design in demo::all() {
        insta::assert_snapshot!(design.top_name(), text(&design));
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
