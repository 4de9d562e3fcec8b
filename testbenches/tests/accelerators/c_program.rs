//! The C program on a device of software, and next to the driver in Rust.

use golden::accelerators::memory::{BusError, SparseMemory};
use golden::accelerators::vector::device::{Delays, Device as Model};
use golden::accelerators::vector::{STEP_BITS, Shape, VectorTop};
use golden::common::float::Function;
use host::vector::{Caps, Operand, Units, VectorJob};
use host::{Bus, Chain, Descriptor, Device, DeviceError, Link, Settings, Window};
use jobs::software::{Software, SoftwareError};
use testbenches::accelerators::c_program::{CEnd, CError, CProgram, DEMO_BYTES};

const CAPS: Caps = Caps {
    opcode: 1,
    lanes: 8,
    max_beats: 64,
    function: 2,
    units: Units { softmax: true, layer_norm: true, rotary: true },
};
const WINDOW: Window = Window { base: 0x1000, limit: 0xffff, address_width: 48 };
const SETTINGS: Settings = Settings { window: WINDOW, timeout: 0, max_descriptors: 8 };

fn software() -> Software<SparseMemory> {
    let shape = Shape {
        lanes: CAPS.lanes,
        max_beats: CAPS.max_beats,
        function: Function::Silu,
        address_width: WINDOW.address_width,
        steps: STEP_BITS,
    };
    Software(Model::new(VectorTop::new(shape), 1, 65_536, SparseMemory::new()))
}

fn program() -> &'static CProgram {
    static PROGRAM: std::sync::LazyLock<CProgram> = std::sync::LazyLock::new(|| CProgram::build().unwrap());
    &PROGRAM
}

#[test]
fn a_whole_session() {
    let mut bus = software();
    for (job, memory) in [(0, 0x2000), (9, 0x1_0000_0000), (30, 0)] {
        bus.0.delays.job = Some(job);
        let end = program().demo(&mut bus, memory, 50).unwrap();
        assert_eq!(end, CEnd { tag: 0x600d_7a61, descriptors: 2, ..CEnd::default() });
    }
    // Nothing outside of its memory was touched.
    assert_eq!(bus.0.memory.bytes(0x2000 - 64, 64), [0; 64]);
    assert_eq!(bus.0.memory.bytes(0x2000 + DEMO_BYTES, 64), [0; 64]);
    assert_eq!(bus.0.memory.bytes(0x2300, 6), [214, 190, 166, 142, 128, 0x5a], "-42, -66, -90, -114, saturated");
}

/// A bus that changes the data that is read from one address of memory.
struct Spoilt {
    bus: Software<SparseMemory>,
    at: u64,
}

impl Bus for Spoilt {
    type Error = SoftwareError;

    fn read32(&mut self, offset: u32) -> Result<u32, SoftwareError> {
        self.bus.read32(offset)
    }

    fn write32(&mut self, offset: u32, value: u32) -> Result<(), SoftwareError> {
        self.bus.write32(offset, value)
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), SoftwareError> {
        self.bus.read_memory(address, bytes)?;
        if let Some(byte) = self.at.checked_sub(address).and_then(|k| bytes.get_mut(k as usize)) {
            *byte ^= 1;
        }
        Ok(())
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), SoftwareError> {
        self.bus.write_memory(address, bytes)
    }
}

#[test]
fn every_byte_of_the_results_counts() {
    let results = (0..3).flat_map(|row| [0x300 + 64 * row, 0x400 + 64 * row]);
    for at in results.flat_map(|row| row..row + 64).chain(0x500..0x504) {
        let wrong = program().demo(&mut Spoilt { bus: software_once(), at: 0x2000 + at }, 0x2000, 5);
        assert!(matches!(wrong, Err(CError::Wrong(_))), "{at:#x}");
    }
    let unread = program().demo(&mut Spoilt { bus: software_once(), at: 0x2100 }, 0x2000, 5);
    assert!(unread.is_ok(), "operands are not read back");
}

/// A copy of a device that is made once: its tables take a while.
fn software_once() -> Software<SparseMemory> {
    static NEW: std::sync::LazyLock<Software<SparseMemory>> = std::sync::LazyLock::new(software);
    NEW.clone()
}

/// The same chains by the C program and by the driver in Rust, each on its own device: the same end, the same memory.
#[test]
fn both_drivers_do_the_same() {
    let (x, out) = (Operand { address: 0x2000, stride: 64 }, Operand { address: 0x3000, stride: 64 });
    let good = VectorJob::new(2, 7, x, out).activate().build(&CAPS, &WINDOW).unwrap();
    let chain = Chain::new()
        .then(Link::from(good.clone()).tag_at(7, 0x4000))
        .then(Link::from(good).tag(8))
        .place(0x1000, &WINDOW, 8)
        .unwrap();
    let mut codes = std::collections::BTreeSet::new();
    // Each byte of the second descriptor wrong in two ways.
    let spoilt = (0..Descriptor::BYTES).flat_map(|at| [0x01, 0x80].map(|bit| Some((Descriptor::BYTES + at, bit))));
    for change in [None].into_iter().chain(spoilt) {
        let mut image = chain.clone();
        if let Some((at, bit)) = change {
            image.bytes[at] ^= bit;
        }
        let mut rust = Device::new(software_once());
        rust.configure(&SETTINGS).unwrap();
        let by_rust = match rust.run(&image, 10) {
            Ok(done) => CEnd { tag: done.tag, descriptors: done.descriptors, ..CEnd::default() },
            Err(DeviceError::Job(failure)) => CEnd {
                code: failure.number,
                tag: failure.before.tag,
                descriptors: failure.before.descriptors,
                reserved: 0,
                place: failure.place,
            },
            Err(error) => panic!("{error}"),
        };
        let mut bus = software_once();
        bus.write32(0x18, SETTINGS.max_descriptors).unwrap();
        program().identify(&mut bus).unwrap();
        program().configure(&mut bus, WINDOW.base, WINDOW.limit, 0).unwrap();
        image.store(&mut bus).unwrap();
        let by_c = match program().run(&mut bus, image.address, 10) {
            Ok(end) | Err(CError::Failed(end)) => end,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(by_c, by_rust, "{change:?}");
        let memory = |bus: &Software<SparseMemory>| bus.0.memory.bytes(0x1000, 0xf000);
        assert!(memory(&bus) == memory(rust.bus()), "{change:?}");
        codes.insert(by_c.code);
    }
    assert_eq!(codes.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]);
}

#[test]
fn what_goes_wrong_is_told() {
    let mut bus = software();
    program().configure(&mut bus, WINDOW.base, WINDOW.limit, 0).unwrap();
    bus.0.delays = Delays { job: None, reset: Some(4) };
    assert_eq!(program().run(&mut bus, 0x1000, 10), Err(CError::TooLong));
    assert_eq!(program().run(&mut bus, 0x1000, 10), Err(CError::Busy));
    assert_eq!(program().configure(&mut bus, 0, 0, 0), Err(CError::Busy));
    assert_eq!(program().demo(&mut bus, 0x1000, 10), Err(CError::Busy));
    assert_eq!(program().reset(&mut bus, 10), Ok(()));
    bus.0.delays = Delays { job: Some(0), reset: None };
    assert_eq!(program().reset(&mut bus, 10), Err(CError::TooLong));
    assert_eq!(program().run(&mut bus, 0x1000, 10), Err(CError::Refused));
    // The bus itself.
    let mut bus = software();
    bus.0.memory.fail(0x2102..=0x2102, BusError::Decode);
    assert_eq!(program().demo(&mut bus, 0x2000, 5), Err(CError::Bus(SoftwareError::Memory(0x2100, BusError::Decode))));
}

/// A watchdog resets the device while the program waits: that is no good end.
#[test]
fn a_dropped_job_is_told() {
    struct Watched(Software<SparseMemory>, u32);
    impl Bus for Watched {
        type Error = SoftwareError;
        fn read32(&mut self, offset: u32) -> Result<u32, SoftwareError> {
            if offset == 0x0c {
                self.1 += 1;
                if self.1 == 4 {
                    self.0.write32(0x08, 2)?;
                }
            }
            self.0.read32(offset)
        }
        fn write32(&mut self, offset: u32, value: u32) -> Result<(), SoftwareError> {
            self.0.write32(offset, value)
        }
        fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), SoftwareError> {
            self.0.read_memory(address, bytes)
        }
        fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), SoftwareError> {
            self.0.write_memory(address, bytes)
        }
    }
    let mut bus = software();
    program().configure(&mut bus, WINDOW.base, WINDOW.limit, 0).unwrap();
    bus.0.delays = Delays { job: None, reset: Some(0) };
    assert_eq!(program().run(&mut Watched(bus, 0), 0x1000, 10), Err(CError::Dropped));
}

/// Every access fails once; a panic comes through.
#[test]
fn no_failure_of_the_bus_is_lost() {
    /// Fails, or panics, at an access.
    struct Fails {
        bus: Software<SparseMemory>,
        left: u32,
        panics: bool,
    }
    impl Fails {
        fn access(&mut self) -> Result<(), SoftwareError> {
            assert!(!self.panics || self.left > 0, "the bus panics");
            self.left = self.left.checked_sub(1).ok_or(SoftwareError::Register(u32::MAX))?;
            Ok(())
        }
    }
    impl Bus for Fails {
        type Error = SoftwareError;
        fn read32(&mut self, offset: u32) -> Result<u32, SoftwareError> {
            self.access()?;
            self.bus.read32(offset)
        }
        fn write32(&mut self, offset: u32, value: u32) -> Result<(), SoftwareError> {
            self.access()?;
            self.bus.write32(offset, value)
        }
        fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), SoftwareError> {
            self.access()?;
            self.bus.read_memory(address, bytes)
        }
        fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), SoftwareError> {
            self.access()?;
            self.bus.write_memory(address, bytes)
        }
    }
    let demo = |left, panics| {
        let mut bus = Fails { bus: software_once(), left, panics };
        (program().demo(&mut bus, 0x2000, 5), bus.left)
    };
    let (whole, left) = demo(10_000, false);
    assert!(whole.is_ok());
    for access in 0..10_000 - left {
        assert_eq!(demo(access, false).0, Err(CError::Bus(SoftwareError::Register(u32::MAX))), "access {access}");
    }
    let panic = std::panic::catch_unwind(|| demo(3, true)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the bus panics"));
}

#[test]
fn another_device_is_refused() {
    struct Other(u32);
    impl Bus for Other {
        type Error = SoftwareError;
        fn read32(&mut self, offset: u32) -> Result<u32, SoftwareError> {
            Ok(if offset == 0 { u32::from_le_bytes(*b"SNBZ") } else { self.0 })
        }
        fn write32(&mut self, offset: u32, _: u32) -> Result<(), SoftwareError> {
            Err(SoftwareError::Register(offset))
        }
        fn read_memory(&mut self, _: u64, _: &mut [u8]) -> Result<(), SoftwareError> {
            Ok(())
        }
        fn write_memory(&mut self, _: u64, _: &[u8]) -> Result<(), SoftwareError> {
            Ok(())
        }
    }
    // The right ID, and version 2; then version 1 of another accelerator.
    for version in [0x1_0002, 0x3_0001] {
        assert_eq!(program().demo(&mut Other(version), 0, 5), Err(CError::NoDevice));
    }
}
