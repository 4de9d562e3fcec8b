//! The accelerator through its registers.

use super::*;

#[test]
fn shape_and_counts() {
    let mut device = Device::new(top().clone(), 3, 16, memory(&Descriptor::product()));
    let words = [0x100, 0x104, 0x108, 0x10c, 0x110, 0x114].map(|at| device.read(at).unwrap());
    assert_eq!(words, [2 | 2 << 8 | 4 << 20, 8 | 1 << 8 | 2 << 16, 24, 16 | 3 << 16, 4 | 8 << 16, 0x702]);
    for (offset, value) in [(0x28, 0x1000), (0x30, 0x1000), (0x38, 0xffff), (0x3c, 0), (0x08, 1)] {
        device.write(offset, value).unwrap();
    }
    assert_eq!(
        [0x0c, 0x118, 0x11c, 0x120, 0x124, 0x128, 0x12c].map(|at| device.read(at).unwrap()),
        [2, 0, 0, 10, 0, 2, 0]
    );
    assert_eq!(floats(&device.memory, 0x6000, 1), [782.0]);
    // A token whose scale is no number affects all of its 5 results.
    device.memory.store(0x2000, &halves(&[f64::NAN]));
    device.write(0x08, 1).unwrap();
    assert_eq!([0x118, 0x120, 0x128].map(|at| device.read(at).unwrap()), [5, 10, 2]);
    assert!(device.read(0x130).is_err());
}
