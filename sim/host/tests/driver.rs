//! The driver on a device of software.

#[path = "support/software.rs"]
mod software;
mod support;

use golden::accelerators::memory::BusError;
use golden::accelerators::vector::device::Delays;
use half::f16;
use host::vector::{Caps, Epsilon, Function, Integer, Operand, VectorJob, overflows};
use host::{
    Allocator, Bus, BusCaps, Chain, Completion, Descriptor, Device, DeviceError, ErrorCode, Format, Identity, Image,
    Link, Rows, Settings, Window,
};
use software::Software;
use support::{CAPS, WINDOW};

const SETTINGS: Settings = Settings { window: WINDOW, timeout: 1000, max_descriptors: 4 };

fn device() -> Device<Software> {
    let mut device = Device::new(Software::new());
    assert_eq!(device.identify().unwrap(), Identity { version: 1, accelerator: 1 });
    device.configure(&SETTINGS).unwrap();
    device
}

/// Rows of small numbers, doubled and made int8: where the job is, and where the results are.
fn doubled(device: &mut Device<Software>) -> (Image, u64, Rows) {
    let mut memory = Allocator::new(&WINDOW);
    let rows = Rows::dense(Format::Fp16, 3, 5).unwrap();
    let results = Rows::dense(Format::Int8, 3, 5).unwrap();
    let (x, out) = (memory.take(rows.bytes() as u64).unwrap(), memory.take(results.bytes() as u64).unwrap());
    let floats: Vec<f16> = (0..15).map(|k| f16::from_f32(k as f32 - 7.0)).collect();
    device.bus().write_memory(x, &rows.pack_floats(&floats).unwrap()).unwrap();
    let operand = |address, rows: &Rows| Operand { address, stride: rows.stride() as u32 };
    let job = VectorJob::new(3, 5, operand(x, &rows), operand(out, &results))
        .scale(f16::from_f32(2.0))
        .quantize(Integer::Int8, f16::ONE);
    let chain = Chain::new().then(Link::from(job.build(&CAPS, &WINDOW).unwrap()).tag(42));
    let place = memory.take(chain.bytes()).unwrap();
    (chain.place(place, &WINDOW, SETTINGS.max_descriptors).unwrap(), out, results)
}

fn read(device: &mut Device<Software>, at: u64, rows: &Rows) -> Vec<i8> {
    let mut bytes = vec![0; rows.bytes()];
    device.bus().read_memory(at, &mut bytes).unwrap();
    rows.unpack_integers(&bytes).unwrap()
}

#[test]
fn a_job_from_rows_to_rows() {
    let mut device = device();
    let caps = Caps::read(&mut device).unwrap();
    assert_eq!((caps, caps.max_columns(), caps.activation()), (CAPS, 32, Some(Function::Silu)));
    let (chain, out, results) = doubled(&mut device);
    device.bus().0.delays.job = Some(6);
    assert_eq!(device.run(&chain, 10).unwrap(), Completion { tag: 42, descriptors: 1 });
    assert_eq!(read(&mut device, out, &results), (0..15).map(|k| 2 * k - 14).collect::<Vec<i8>>());
    assert_eq!((overflows(&mut device).unwrap(), device.counters().unwrap().cycles), (0, 0));
    // Told until it is acknowledged.
    assert!(device.poll().unwrap().is_some());
    device.acknowledge().unwrap();
    assert!(matches!(device.poll(), Err(DeviceError::NoJob)));
}

/// Rotate, softmax and layer norm from rows to rows, by hand.
#[test]
fn steps_of_whole_rows() {
    let mut device = device();
    let rows = Rows::dense(Format::Fp16, 3, 4).unwrap();
    let at = |address| Operand { address, stride: rows.stride() as u32 };
    let (x, angles, pairs, out, place) = (at(0x2000), at(0x3000), 0x4000, at(0x5000), 0x6000);
    let halves = |values: &[f32]| values.iter().map(|&v| f16::from_f32(v)).collect::<Vec<f16>>();
    let store = |device: &mut Device<Software>, at: u64, rows: &Rows, values: &[f32]| {
        device.bus().write_memory(at, &rows.pack_floats(&halves(values)).unwrap()).unwrap();
    };
    store(&mut device, x.address, &rows, &[1.0, 3.0, 1.0, 3.0, 2.0, 2.0, 2.0, 2.0, 5.0, 5.0, 7.0, 7.0]);
    // A quarter turn, and none, in each row.
    store(&mut device, angles.address, &rows, &[0.0, 1.0, 1.0, 0.0].repeat(3));
    let two = Rows::dense(Format::Fp16, 1, 8).unwrap();
    store(&mut device, pairs, &two, &[1.0, 0.0, 2.0, 0.5, -1.0, 0.0, 4.0, -8.0]);
    let mut run = |job: VectorJob| {
        let chain = Chain::new().then(Link::from(job.build(&CAPS, &WINDOW).unwrap()).tag(1));
        device.run(&chain.place(place, &WINDOW, 1).unwrap(), 10).unwrap();
        let mut bytes = vec![0; rows.bytes()];
        device.bus().read_memory(out.address, &mut bytes).unwrap();
        let numbers: Vec<f32> = rows.unpack_floats(&bytes).unwrap().into_iter().map(f32::from).collect();
        numbers
    };
    let job = || VectorJob::new(3, 4, x, out);
    assert_eq!(run(job().rotate(angles)), [-3.0, 1.0, 1.0, 3.0, -2.0, 2.0, 2.0, 2.0, -5.0, 5.0, 7.0, 7.0]);
    let first = [[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]];
    let rows_of = |numbers: Vec<f32>| numbers.chunks(4).map(<[f32]>::to_vec).collect::<Vec<_>>();
    let causal = rows_of(run(job().causal_softmax(1)));
    assert_eq!(causal[..2], first);
    assert!(causal[2][3] == 0.0 && causal[2][2] > 0.78 && causal[2][0] == causal[2][1], "{causal:?}");
    let same = rows_of(run(job().softmax(2)));
    assert_eq!(same[1..], [first[1], first[1]]);
    // Mean 2 and deviation 1; a constant row needs an epsilon.
    let epsilon = Epsilon::units(1).unwrap();
    let normed = rows_of(run(job().layer_norm(epsilon)));
    assert_eq!(normed, [[-1.0, 1.0, -1.0, 1.0], [0.0; 4], [-1.0, -1.0, 1.0, 1.0]]);
    let affine = rows_of(run(job().layer_norm_with_gains(epsilon, pairs)));
    assert_eq!(affine, [[-1.0, 2.5, 1.0, -4.0], [0.0, 0.5, 0.0, -8.0], [-1.0, -1.5, -1.0, -4.0]]);
}

#[test]
fn interrupts() {
    let mut device = device();
    let (chain, ..) = doubled(&mut device);
    chain.store(device.bus()).unwrap();
    device.bus().0.delays.job = Some(1000);
    device.start(chain.address).unwrap();
    let mut sleeps = 0;
    // The second one wakes by the interrupt.
    let done = device.wait_for_interrupt(5, |bus| {
        sleeps += 1;
        if sleeps == 2 {
            bus.0.finish();
        }
        assert_eq!(bus.0.irq(), sleeps == 2);
        Ok(())
    });
    assert_eq!((done.unwrap().tag, sleeps), (42, 2));
    assert!(!device.bus().0.irq(), "acknowledged");
    // It was there before anybody waited.
    device.bus().0.delays.job = Some(0);
    device.start(chain.address).unwrap();
    assert_eq!(device.wait_for_interrupt(0, |_| panic!("nobody has to sleep")).unwrap().tag, 42);
    // Without spurious wake-ups the end is seen after the true one.
    device.bus().0.delays.job = Some(1000);
    device.start(chain.address).unwrap();
    let done = device.wait_for_interrupt(0, |bus| {
        bus.0.finish();
        Ok(())
    });
    assert_eq!(done.unwrap().tag, 42);
    // It never comes.
    device.bus().0.delays.job = None;
    device.start(chain.address).unwrap();
    let mut sleeps = 0;
    let never = device.wait_for_interrupt(3, |_| {
        sleeps += 1;
        Ok(())
    });
    assert!(matches!(never, Err(DeviceError::TooLong { polls: 3 })) && sleeps == 4);
}

#[test]
fn errors_have_code_and_place() {
    let mut device = device();
    let (chain, ..) = doubled(&mut device);
    let mut wrong = chain.clone();
    wrong.bytes[0] = 0;
    let Err(DeviceError::Job(failure)) = device.run(&wrong, 10) else { panic!() };
    assert_eq!((failure.code(), failure.place), (Some(ErrorCode::Magic), chain.address));
    let message = format!(
        "the job ended at the descriptor at {:#x} with error 2, after 0 descriptors: The descriptor does not begin with the magic bytes.",
        chain.address
    );
    assert_eq!(failure.to_string(), message);
    // The next one is none the worse for it.
    assert_eq!(device.run(&chain, 10).unwrap().tag, 42);
    device.bus().0.memory.fail(chain.address..=chain.address, BusError::Decode);
    device.start(chain.address).unwrap();
    let Err(DeviceError::Job(failure)) = device.wait(10) else { panic!() };
    assert_eq!(failure.code(), Some(ErrorCode::Decerr));
    assert!(matches!(device.run(&chain, 10), Err(DeviceError::Bus(_))));
    assert!(matches!(device.read(0xffc), Err(DeviceError::Bus(_))));
}

#[test]
fn busy_devices_and_resets() {
    let mut device = device();
    let (chain, out, results) = doubled(&mut device);
    chain.store(device.bus()).unwrap();
    device.bus().0.delays = Delays { job: None, reset: Some(5) };
    device.start(chain.address).unwrap();
    assert!(matches!(device.wait(20), Err(DeviceError::TooLong { polls: 20 })));
    assert!(matches!(device.start(chain.address), Err(DeviceError::Busy)));
    assert!(matches!(device.run(&chain, 1), Err(DeviceError::Busy)));
    assert!(matches!(device.configure(&SETTINGS), Err(DeviceError::Busy)));
    device.soft_reset(10).unwrap();
    assert!(matches!(device.poll(), Err(DeviceError::NoJob)));
    assert_eq!(read(&mut device, out, &results), [0; 15], "dropped");
    // While a reset is under way, the device is not busy, and refuses.
    device.bus().0.delays = Delays { job: Some(0), reset: None };
    assert!(matches!(device.soft_reset(10), Err(DeviceError::ResetTooLong { polls: 10 })));
    assert!(matches!(device.start(chain.address), Err(DeviceError::Refused)));
    assert!(matches!(device.poll(), Err(DeviceError::NoJob)), "the refusal is cleared");
}

/// The window ends at the last address that the device can express.
#[test]
fn windows_are_the_devices() {
    let mut device = Device::new(Software::new());
    assert_eq!(device.bus_caps().unwrap(), BusCaps { address_width: 40, ports: 1, data_width: 64 });
    let window = device.window(0x1000, u64::MAX).unwrap();
    assert_eq!((window.address_width, window.last()), (40, (1 << 40) - 1));
    device.configure(&Settings { window, ..SETTINGS }).unwrap();
    let wide = Window { address_width: 41, ..window };
    let refused = device.configure(&Settings { window: wide, timeout: 7, max_descriptors: 1 }).unwrap_err();
    let said = "the window has addresses of 41 bits, the device 40: take what `Device::window` returns";
    assert_eq!(refused.to_string(), said);
    assert_eq!(device.read(host::registers::shell::TIMEOUT).unwrap(), 1000, "nothing was changed");
}

#[test]
fn something_else_is_there() {
    /// Registers that all read as the same.
    struct Other(u32);
    impl Bus for Other {
        type Error = std::convert::Infallible;
        fn read32(&mut self, _: u32) -> Result<u32, Self::Error> {
            Ok(self.0)
        }
        fn write32(&mut self, _: u32, _: u32) -> Result<(), Self::Error> {
            Ok(())
        }
        fn read_memory(&mut self, _: u64, _: &mut [u8]) -> Result<(), Self::Error> {
            Ok(())
        }
        fn write_memory(&mut self, _: u64, _: &[u8]) -> Result<(), Self::Error> {
            Ok(())
        }
    }
    let device = device().identify_as(4).unwrap_err().to_string();
    assert_eq!(device, "this is accelerator 1, must be 4: its registers and descriptors are other ones");
    assert!(matches!(
        host::kllm::Caps::read(&mut crate::device()),
        Err(DeviceError::WrongAccelerator { found: 1, expected: 3 })
    ));
    let said = |value| Device::new(Other(value)).identify().unwrap_err().to_string();
    assert_eq!(said(0xffff_ffff), "ID is 0xffffffff, must be 0x5a424e53: no accelerator of this kind is here");
    let said = said(u32::from_le_bytes(*b"SNBZ"));
    assert_eq!(said, "VERSION is 20051, must be 1: this driver knows no other one");
}

#[test]
fn a_chain_that_would_not_fit_is_not_placed() {
    let descriptor = Descriptor::new(1);
    let chain = (0..5).fold(Chain::new(), |chain, _| chain.then(descriptor.clone()));
    let refused = |at, most| chain.place(at, &WINDOW, most).unwrap_err().to_string();
    assert!(refused(0x1000, 4).starts_with("number of descriptors is 5, must be 1 to 4"));
    assert!(refused(0x1020, 5).starts_with("descriptor_address is 0x1020, must be a multiple of 64"));
    assert!(refused(0xff00, 5).starts_with("descriptor_address is 0x10000, its last byte at 0x1007f, must be such"));
}
