//! The wrappers, and `rustc_apfloat` itself, against exact integer arithmetic and known results.

use super::*;

#[test]
fn worked_examples() {
    let f = Float::ieee(FloatFormat::Fp16);
    // 1 + 2^-11 is half way: to even. The fused form sees what the rounded product loses.
    assert_eq!(f.add(0x3c00, 0x1000).bits, 0x3c00);
    assert_eq!(f.add(0x3c01, 0x1000).bits, 0x3c02);
    assert_eq!(f.mul(0x3c01, 0x3c01).bits, 0x3c02);
    assert_eq!(f.fma(0x3c01, 0x3c01, 0xbc02).bits, 0x0010);
    assert_eq!(f.mul_then_add(0x3c01, 0x3c01, 0xbc02).bits, 0x0000);
    assert_eq!(f.from_int(65519).bits, 0x7bff);
    let over = f.from_int(65520);
    assert_eq!((over.bits, over.flags.overflow), (0x7c00, true));
    assert_eq!(f.from_int(-2049).bits, 0xe800);
    assert_eq!(f.convert(0x0001, FloatFormat::Fp32).bits, 0x3380_0000);
    assert_eq!(f.compare(0x8000, 0), Some(Ordering::Equal));
    assert_eq!(f.compare(0x7e00, 0), None);
}
