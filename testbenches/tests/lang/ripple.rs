//! Arrays of nets in which a value ripples from element to element within the cycle, in all possible ways. There is no
//! loop, and Verilator must not see one.

use hdl::lang::*;
use sim::lint::verilator_lint;
use sim::{BuildOptions, Model};

parameters! {
    /// A pointer that is followed through a table four times in one cycle.
    struct Follow {}
}

ports! {
    struct FollowPorts(p: &Follow) {
        write_i: In = bit(),
        address_i: In = uint(3),
        data_i: In = uint(3),
        start_i: In = uint(3),
        end_o: Out = uint(3),
    }
}

impl Block for Follow {
    type Ports = FollowPorts;
    const ABOUT: About = About { name: "follow", summary: "", contract: "", reference: "" };
    fn build(&self, m: &mut Module, io: &FollowPorts) {
        let links = m.memory("links", 8, 3, 3);
        links.write(io.write_i, io.address_i, io.data_i);
        let at = m.nets("at", uint(3), 5);
        m.connect(at.at(0), io.start_i);
        for k in 0..4 {
            let next = links.read_async(&format!("next_{k}"), at.at(k));
            m.connect(at.at(k + 1), next);
        }
        m.connect(io.end_o, at.at(4));
    }
}

#[test]
fn through_a_memory() {
    let design = sim::Design::from(&elaborate(&Follow {}).unwrap());
    let report = verilator_lint(&design.files, &design.top).unwrap();
    assert!(report.is_clean(), "{report}\n{}", design.files[0].text);
    let mut sim = Model::build(&design, &BuildOptions::default()).unwrap().instance().unwrap();
    let next = [3, 0, 7, 5, 1, 2, 4, 6];
    let poke = |sim: &mut sim::Sim, port: &str, value: u64| {
        let input = sim.input(port).unwrap();
        sim.poke_u64(input, value);
    };
    poke(&mut sim, "write_i", 1);
    for (address, &data) in next.iter().enumerate() {
        poke(&mut sim, "address_i", address as u64);
        poke(&mut sim, "data_i", data);
        sim.tick().unwrap();
    }
    poke(&mut sim, "write_i", 0);
    for start in 0..8 {
        poke(&mut sim, "start_i", start);
        sim.settle().unwrap();
        let end = (0..4).fold(start, |at, _| next[at as usize]);
        assert_eq!(sim.peek_u64(sim.output("end_o").unwrap()), end, "from {start}");
    }
}
