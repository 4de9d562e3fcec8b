//! The accelerator through its registers.

use super::*;

#[test]
fn shape_and_counts() {
    let descriptor = Descriptor::attention().words(&[(52, 1), (56, 0)]);
    let mut device = Device::new(top(), 5, 16, attention_memory(&descriptor));
    let words = [0x100, 0x104, 0x108, 0x10c, 0x110, 0x114, 0x118, 0x11c].map(|at| device.read(at).unwrap());
    let caps = [4 | 4 << 16, 4 | 24 << 16, 3 | 5 << 16, 8 | 2 << 16 | 4 << 24, 8 | 9 << 8 | 12 << 16 | 1 << 24, 18];
    assert_eq!(words[..6], caps);
    assert_eq!(words[6..], [4 | 8 << 16, 0x702]);
    for (offset, value) in [(0x28, 0x1000), (0x30, 0x1000), (0x38, 0xffff), (0x3c, 0), (0x08, 1)] {
        device.write(offset, value).unwrap();
    }
    let counts = |device: &mut Device<SparseMemory>| [0x0c, 0x120, 0x128, 0x130].map(|at| device.read(at).unwrap());
    // Two tokens, one place.
    assert_eq!(counts(&mut device), [2, 0, 0, 1]);
    device.memory.store(0x4002, &halves(&[f64::NAN]));
    device.write(0x08, 1).unwrap();
    assert_eq!(counts(&mut device), [2, 0, 1, 2]);
    // A soft reset empties the heads.
    device.write(0x08, 2).unwrap();
    device.write(0x08, 1).unwrap();
    assert_eq!(counts(&mut device), [2, 0, 1, 1]);
    assert_eq!([0x138, 0x140, 0x124, 0x134].map(|at| device.read(at).unwrap()), [0; 4]);
    assert!(device.read(0x148).is_err());
}
