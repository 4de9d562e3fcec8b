//! The accelerator through its registers.

use super::*;

fn device(descriptor: Descriptor) -> Device<SparseMemory> {
    let mut device = Device::new(top().clone(), 7, 16, memory(&[(0x1000, descriptor)]));
    for (offset, value) in [(0x28, 0x1000), (0x30, 0x1000), (0x38, 0xffff), (0x3c, 0)] {
        device.write(offset, value).unwrap();
    }
    device
}

const STATUS: u32 = 0x0c;

#[test]
fn constants() {
    let mut device = device(Descriptor::new(0));
    let read: Vec<u32> = [0, 4, 0x18, 0x100, 0x104].map(|at| device.read(at).unwrap()).to_vec();
    assert_eq!(read, [u32::from_le_bytes(*b"SNBZ"), 0x7_0001, 16, 0x8_0004, 0x702]);
    for (units, function) in [
        (Units::default(), 0x002),
        (Units { softmax: true, ..Units::default() }, 0x102),
        (Units { layer_norm: true, ..Units::default() }, 0x202),
        (Units { rotary: true, ..Units::default() }, 0x402),
    ] {
        let top = VectorTop::new(Shape { steps: units.steps(), ..SHAPE });
        assert_eq!(Device::new(top, 7, 16, SparseMemory::new()).read(0x104), Ok(function), "{units:?}");
    }
    assert!(device.read(0x110).is_err() && device.write(0x0, 1).is_err());
}

#[test]
fn a_good_and_a_bad_job() {
    let mut device = device(Descriptor::new(0x103).word(16, 0xabc));
    device.write(0x10, 2).unwrap();
    assert!(!device.irq());
    device.write(0x08, 1).unwrap();
    assert_eq!((device.read(STATUS).unwrap(), device.irq()), (2, true));
    assert_eq!((device.read(0x40).unwrap(), device.read(0x44).unwrap()), (0xabc, 1));
    assert_eq!(device.memory.bytes(0x3000, 2), [10, 12]);
    device.write(STATUS, 2).unwrap();
    assert_eq!((device.read(STATUS).unwrap(), device.irq()), (0, false));
    // The same job with overflows, then with an error.
    device.memory.store(0x1000, &Descriptor::new(0x203).0);
    device.write(0x08, 1).unwrap();
    assert_eq!((device.read(0x108).unwrap(), device.read(0x10c).unwrap()), (6, 0));
    device.write(STATUS, 0xe).unwrap();
    device.memory.store(0x1000, &Descriptor::new(0x300).0);
    device.write(0x08, 1).unwrap();
    assert_eq!((device.read(STATUS).unwrap(), device.irq()), (4, false));
    assert_eq!([0x1c, 0x20, 0x24, 0x40, 0x44].map(|at| device.read(at).unwrap()), [15, 0x1000, 0, 0, 0]);
}

#[test]
fn starts_and_resets_while_busy() {
    let mut device = device(Descriptor::new(0x103));
    device.delays = Delays { job: Some(4), reset: Some(3) };
    device.write(0x08, 1).unwrap();
    assert_eq!(device.read(STATUS).unwrap(), 1);
    device.write(0x08, 1).unwrap();
    assert_eq!(device.read(STATUS).unwrap(), 9, "busy, and refused a start");
    assert_eq!(device.read(STATUS).unwrap(), 10, "done, and the job was untouched");
    device.write(STATUS, 0xe).unwrap();
    device.memory.store(0x3000, &[0; 2]);
    device.write(0x08, 1).unwrap();
    device.write(0x08, 2).unwrap();
    assert_eq!([8, 8, 8].map(|at| device.read(at).unwrap()), [2, 2, 0]);
    assert_eq!((device.read(STATUS).unwrap(), device.memory.bytes(0x3000, 2)), (0, vec![0, 0]), "dropped");
    // Start and reset at once: the reset counts.
    device.write(0x08, 3).unwrap();
    assert_eq!((device.read(STATUS).unwrap(), device.read(8).unwrap()), (8, 2));
    device.finish();
    assert_eq!(device.read(8).unwrap(), 0);
}

#[test]
fn a_job_that_never_ends() {
    let mut device = device(Descriptor::new(0));
    device.delays = Delays { job: None, reset: None };
    device.write(0x08, 1).unwrap();
    device.finish();
    assert!((0..100).all(|_| device.read(STATUS).unwrap() == 1));
    device.write(0x08, 2).unwrap();
    assert!((0..100).all(|_| device.read(8).unwrap() == 2));
}
