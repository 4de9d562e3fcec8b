//! Verilog.
use hdl::blocks::common::MacMesh;
#[test]
fn mesh() {
    let p = MacMesh { rows: 16, columns: 16, operand_width: 8, accumulator_width: 32 };
    let t = std::time::Instant::now();
    let d = hdl::lang::elaborate(&p);
    let d = match d {
        Ok(d) => d,
        Err(e) => panic!("{e}"),
    };
    for f in d.verilog() {
        println!("{}", f.text);
        std::fs::write(format!("/tmp/exp/out/{}", f.name), &f.text).unwrap();
    }
    println!("{:?}", t.elapsed());
}
