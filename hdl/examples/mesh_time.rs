//! Timing.
use hdl::blocks::common::MacMesh;
fn main() {
    for side in [16, 64, 256, 1024] {
        let block = MacMesh { rows: side, columns: side, operand_width: 16, accumulator_width: 32 };
        let mut best = (1e9_f64, 1e9_f64);
        let mut bytes = 0;
        for _ in 0..if side > 256 { 1 } else { 10 } {
            let t = std::time::Instant::now();
            let design = hdl::lang::elaborate(&block).unwrap_or_else(|e| panic!("{e}"));
            let e = t.elapsed().as_secs_f64() * 1e3;
            bytes = design.verilog().iter().map(|f| f.text.len()).sum();
            let p = t.elapsed().as_secs_f64() * 1e3 - e;
            best = (best.0.min(e), best.1.min(p));
        }
        println!("{side}: elaborate {:.2} ms, print {:.2} ms, {bytes} bytes", best.0, best.1);
    }
}
