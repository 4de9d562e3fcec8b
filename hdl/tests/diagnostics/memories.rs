//! Memories: combinational loops through them (an asynchronous read passes its address on within the cycle, nothing else does), and
//! addresses that they do not have.

use hdl::lang::*;

use crate::{expect, report};

refuses!(loop_through_an_asynchronous_read { a_i: In = uint(4), y_o: Out = uint(4) } |m, io| {
    let ram = m.memory("ram", 16, 4, 4);
    ram.write(bit().lit(1), io.a_i, io.a_i);
    let address = m.net("address", uint(4));
    let data = ram.read_async("data", address);
    m.connect(address, data ^ io.a_i);
    m.connect(io.y_o, data);
} r#"
    error: combinational loop: address -> data -> address
      --> let data = ram.read_async("data", address);, in module bad
"#);

refuses!(loop_through_a_register_file_in_an_instance { y_o: Out = uint(4) } |m, io| {
    let file = m.instance("u_file", RegisterFile {});
    m.connect(file.write_i, 1);
    m.connect(file.write_address_i, file.later_o);
    m.connect(file.read_address_i, file.now_o);
    m.connect(io.y_o, file.now_o);
} r#"
    error: combinational loop: file_read_address_in -> file_now -> file_read_address_in
      --> let file = m.instance("u_file", RegisterFile {});, in module bad
"#);

refuses!(no_loop_through_a_clock_edge { a_i: In = bit(), y_o: Out = uint(4), z_o: Out = uint(4) } |m, io| {
    let ram = m.memory("ram", 16, 4, 4);
    let address = m.net("address", uint(4));
    let data = ram.read("data_q", io.a_i, address);
    m.connect(address, data.wrapping_add(1));
    // What is read now is written where it says: that takes effect with the clock.
    let now = ram.read_async("now", data);
    ram.write(now.bit(0), now, now);
    m.connect(io.y_o, now);
    let file = m.instance("u_file", RegisterFile {});
    m.connect(file.write_i, file.now_o.bit(0));
    m.connect(file.write_address_i, file.now_o);
    m.connect(file.read_address_i, file.later_o);
    m.connect(io.z_o, file.now_o);
} "no error");

refuses!(a_constant_address_past_the_end { a_i: In = bit(), y_o: Out = uint(4) } |m, io| {
    let ram = m.memory("ram", 5, 4, 4);
    ram.write(io.a_i, uint(3).lit(4), uint(4).lit(1));
    let data = ram.read_async("data", uint(3).lit(5));
    m.connect(io.y_o, data);
} r#"
    error: the read address 5 is outside of memory `ram`; its words are 0 to 4
      --> let data = ram.read_async("data", uint(3).lit(5));, in module bad
"#);

parameters! {
    /// A memory that is read both ways.
    struct RegisterFile {}
}

ports! {
    struct RegisterFilePorts(p: &RegisterFile) {
        write_i: In = bit(),
        write_address_i: In = uint(4),
        read_address_i: In = uint(4),
        now_o: Out = uint(4),
        later_o: Out = uint(4),
    }
}

impl Block for RegisterFile {
    type Ports = RegisterFilePorts;
    const ABOUT: About = About { name: "register_file", summary: "", contract: "", reference: "" };
    fn build(&self, m: &mut Module, io: &RegisterFilePorts) {
        let ram = m.memory("ram", 16, 4, 4);
        ram.write(io.write_i, io.write_address_i, io.write_address_i);
        let now = ram.read_async("now", io.read_address_i);
        let later = ram.read("later_q", bit().lit(1), io.read_address_i);
        m.connect(io.now_o, now);
        m.connect(io.later_o, later);
    }
}

/// The manifest says which inputs reach which outputs within a cycle.
#[test]
fn an_asynchronous_read_is_a_path() {
    let manifest = elaborate(&RegisterFile {}).unwrap().manifest();
    let paths: Vec<_> = manifest.ports.iter().map(|p| (p.name.as_str(), p.depends_on.join(" "))).collect();
    let expected = [("write_i", ""), ("write_address_i", ""), ("read_address_i", ""), ("now_o", "read_address_i")];
    assert_eq!(paths[..4], expected.map(|(port, inputs)| (port, inputs.to_owned())));
    assert_eq!(paths[4], ("later_o", String::new()));
}
