//! The vector accelerator in all configurations, and broken.

use golden::common::row::vector_unit::{Elements, Output, Scalars, Steps, VectorUnit};
use half::f16;
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::accelerators::vector::VectorTop;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use host::vector::{Caps, Epsilon, Integer, Operand, VectorJob};
use host::{Allocator, Bus, Chain, Device, Format, Link, Rows, Settings, Window};
use jobs::hardware::{Hardware, on_hardware};
use sim::bus::AxiConfig;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run, run_some};
use sim::stimulus::{Stall, Tensor, data_folder, real_rows};
use test_tag::tag;
use testbenches::accelerators::c_program::{CEnd, CProgram};
use testbenches::accelerators::vector::{Job, bench, shape_of};

/// 10^-5 in units of 2^-48.
const EPSILON: u64 = 2_814_749_767;

fn rows(name: &str) -> Vec<Vec<u16>> {
    let rows = real_rows(name).unwrap_or_else(|e| panic!("{e}"));
    rows.iter().map(|row| row.iter().map(|&x| x as u16).collect()).collect()
}

fn gains(name: &str) -> Vec<u16> {
    let path = data_folder().join(format!("{name}.npy"));
    let tensor: Tensor<f32> = Tensor::read(&path).unwrap_or_else(|e| panic!("{e}"));
    tensor.data.iter().map(|&x| f16::from_f32(x).to_bits()).collect()
}

/// As small as can be: two lanes, rows of up to 8 elements.
fn small() -> VectorTop {
    VectorTop {
        bus: TopParameters {
            axi: AxiSpec { address_width: 32, data_width: 32, id_width: 1 },
            dma: DmaSpec { burst_beats: 4, ..DmaSpec::default() },
            ..TopParameters::default()
        },
        vector: VectorParameters { max_beats: 4, ..VectorParameters::default() },
    }
}

#[test]
fn all_configurations() {
    run_some::<VectorTop>(2, bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Right and wrong descriptors, soft resets, silence: it never hangs and never writes elsewhere.
#[tag(full)]
#[test]
#[ignore = "minutes: ten thousand times five jobs"]
fn ten_thousand_jobs() {
    run(&small(), bench, &options(10_000)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[tag(release)]
#[test]
#[ignore = "half an hour: a hundred thousand times five jobs"]
fn a_hundred_thousand_jobs() {
    run(&small(), bench, &options(100_000)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[tag(full)]
#[test]
#[ignore = "minutes: a model of the whole accelerator for each fault"]
fn faults_are_found() {
    let faults = [
        ("sizes are not checked", Fault::net("rows_is_out", "1'b0").module("vector_operation")),
        ("columns are not checked", Fault::net("columns_is_out", "1'b0").module("vector_operation")),
        ("what must be 0 is not checked", Fault::net("reserved_o", "1'b0").module("vector_operation")),
        ("the window is not checked", Fault::net("outside", "1'b0").module("operand_check")),
        ("an error of the bus is forgotten", Fault::net("dma_failed", "1'b0").module("operation_controller")),
        ("an overflow is forgotten", Fault::net("overflow", "1'b0").module("vector_engine")),
        ("an operation ends with its reads", Fault::net("all_over", "over[0]").module("command_list")),
        ("the lanes keep work after an abort", Fault::net("clear_i", "1'b0").module("row_packer")),
        ("nobody watches the bus", Fault::net("waiting_o", "1'b0").module("axi_watch")),
        ("the bus is idle at once", Fault::net("idle_o", "1'b1").module("dma_bank")),
        ("nibbles of two rows are packed into one beat", Fault::net("ends", "full").module("row_packer")),
    ];
    must_be_noticed(&small(), bench, 400, &faults);
}

#[test]
fn the_c_program_runs_on_the_hardware() {
    let program = CProgram::build().unwrap();
    on_hardware(&VectorTop::default(), &AxiConfig::rough(Stall::Random { num: 1, den: 4 }), |hardware| {
        for memory in [0x2000, 0x1_0000_0000] {
            let end = program.demo(hardware, memory, 2000).unwrap();
            assert_eq!(end, CEnd { tag: 0x600d_7a61, descriptors: 2, ..CEnd::default() });
        }
    });
}

/// Hidden states of a real model through SiLU, gate, norm with the model's gains, to integers of 8 bits, by the driver.
#[test]
fn real_rows_through_the_driver() {
    let block =
        VectorTop { vector: VectorParameters { max_beats: 72, ..VectorParameters::default() }, ..VectorTop::default() };
    let (x, factors) = (rows("l02_ffn_in"), rows("l14_attn_out"));
    let (x, factors) = (&x[..16], &factors[..16]);
    let gains = gains("l14_attn_norm");
    let (scale, quantizer) = (f16::from_f32(0.5), f16::from_f32(24.0));
    let epsilon = Epsilon::units(EPSILON).unwrap();
    let golden = VectorUnit::new(shape_of(&block.engine(), &block.bus.axi).unit());
    let steps = Steps {
        scale: true,
        activate: true,
        multiply: true,
        norm: true,
        gain: true,
        output: Output::Int8,
        ..Steps::default()
    };
    let scalars = Scalars { scale: scale.to_bits(), quantizer: quantizer.to_bits(), epsilon: EPSILON };

    on_hardware(&block, &AxiConfig::rough(Stall::Random { num: 1, den: 8 }), |hardware| {
        let window = Window { base: 0x10_0000, limit: 0x1f_ffff, address_width: 64 };
        let mut memory = Allocator::new(&window);
        let mut device = Device::new(hardware);
        device.identify().unwrap();
        let caps = Caps::read(&mut device).unwrap();
        device.configure(&Settings { window, timeout: 0, max_descriptors: 4 }).unwrap();
        let wide = Rows::dense(Format::Fp16, 16, 576).unwrap();
        let narrow = Rows::dense(Format::Int8, 16, 576).unwrap();
        let mut put = |device: &mut Device<&mut Hardware<'_>>, rows: &Rows, values: Vec<u16>| {
            let address = memory.take(rows.bytes() as u64).unwrap();
            let values: Vec<f16> = values.into_iter().map(f16::from_bits).collect();
            device.bus().write_memory(address, &rows.pack_floats(&values).unwrap()).unwrap();
            Operand { address, stride: rows.stride() as u32 }
        };
        let at_x = put(&mut device, &wide, x.concat());
        let at_factors = put(&mut device, &wide, factors.concat());
        let at_gains = put(&mut device, &Rows::dense(Format::Fp16, 1, 576).unwrap(), gains.clone());
        let out = Operand { address: memory.take(narrow.bytes() as u64).unwrap(), stride: narrow.stride() as u32 };
        let job = VectorJob::new(16, 576, at_x, out)
            .scale(scale)
            .activate()
            .multiply_rows(at_factors)
            .norm_with_gains(epsilon, at_gains.address)
            .quantize(Integer::Int8, quantizer);
        let descriptor = job.build(&caps, &window).unwrap();
        let chain = Chain::new().then(Link::from(descriptor).tag(7));
        let image = chain.place(memory.take(chain.bytes()).unwrap(), &window, 4).unwrap();
        let end = device.run(&image, 100_000).unwrap();
        assert_eq!((end.tag, end.descriptors), (7, 1));

        let mut bytes = vec![0; narrow.bytes()];
        device.bus().read_memory(out.address, &mut bytes).unwrap();
        let got = narrow.unpack_integers(&bytes).unwrap();
        let mut expected = Vec::new();
        for (x, factors) in x.iter().zip(factors) {
            let done = golden.row(steps, scalars, Elements { x, factors, gains: &gains, ..Elements::default() });
            expected.extend(done.values.iter().map(|&value| value as u8 as i8));
        }
        assert_eq!(got, expected);
        assert!(got.iter().filter(|&&value| value != 0).count() > 4000, "rows that mean something");
    });
}

/// The cycles of one operation without gains, whose rows begin with a burst, are a formula.
#[test]
fn cycles_are_those_of_the_formula() {
    // On two ports elements and factors share one, on three each operand has its own.
    let cases = [(1, 7), (1, 1), (1, 24), (2, 1), (2, 24), (3, 1), (3, 24)];
    for &(ports, latency) in seeds::some(&cases, 2) {
        let block = VectorTop { bus: TopParameters { ports, ..TopParameters::default() }, ..VectorTop::default() };
        on_hardware(&block, &AxiConfig::ideal(latency), |hardware| {
            let window = Window { base: 0x10_0000, limit: 0x1f_ffff, address_width: 64 };
            let mut device = Device::new(hardware);
            let caps = Caps::read(&mut device).unwrap();
            device.configure(&Settings { window, timeout: 0, max_descriptors: 4 }).unwrap();
            let shapes = [(1, 1), (1, 9), (1, 64), (1, 200), (1, 512), (2, 8), (3, 100), (5, 64), (16, 128), (7, 512)];
            for (number, (rows, columns)) in shapes.into_iter().enumerate() {
                let [add, multiply, norm] = [0, 1, 2].map(|bit| (number * 5 + latency as usize) >> bit & 1 == 1);
                let bits = [16, 8, 4][number % 3];
                let job = Job { rows, columns, add, multiply, norm, bits };
                let stride = (2u32 * columns).next_multiple_of(64);
                let operand = |address| Operand { address, stride };
                let out = Operand { address: 0x18_0000, stride: (columns * bits).div_ceil(8).next_multiple_of(64) };
                let mut steps = VectorJob::new(rows, columns, operand(0x11_0000), out);
                if add {
                    steps = steps.add_rows(operand(0x12_0000));
                }
                if multiply {
                    steps = steps.multiply_rows(operand(0x14_0000));
                }
                if norm {
                    steps = steps.norm(Epsilon::units(EPSILON).unwrap());
                }
                match bits {
                    8 => steps = steps.quantize(Integer::Int8, f16::ONE),
                    4 => steps = steps.quantize(Integer::Int4, f16::ONE),
                    _ => {}
                }
                let chain = Chain::new().then(Link::from(steps.build(&caps, &window).unwrap()));
                let image = chain.place(0x10_0000, &window, 4).unwrap();
                device.run(&image, 100_000).unwrap();
                let counters = device.counters().unwrap();
                assert_eq!(
                    counters.cycles,
                    u64::from(job.cycles(&block, latency)),
                    "{job:?}, {ports} ports, {latency}"
                );
                assert_eq!(counters.compute_cycles, u64::from(rows * columns.div_ceil(8)));
            }
        });
    }
}
