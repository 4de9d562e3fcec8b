//! Accelerators beside a CPU that nobody here wrote: PicoRV32 runs C programs and takes the interrupts.

use std::fs;
use std::path::{Path, PathBuf};
use test_tag::tag;

use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use hdl::accelerators::vector::VectorTop;
use hdl::lang::Block;
use host::kllm::Bits;
use host::{Image, Window};
use lower::files::{self, Contents};
use lower::learn::Learnt;
use lower::needs::Room;
use lower::pass::Rows;
use lower::whole::{self, Move, Recorder};
use models::calibration::Source;
use models::decoder::{Decoder, Precision};
use models::schemes::Learning;
use sim::bus::{self, AxiConfig, AxiMemory};
use sim::kit::options;
use sim::process::Tool;
use sim::stimulus::{Stall, rng_for};
use sim::{Design, SourceFile};
use testbenches::accelerators::c_program::DEMO_BYTES;
use testbenches::accelerators::decoding::{LayerAccelerator, WholeAccelerator};
use testbenches::accelerators::drawn_layer::{Shape, Sizes, drawn, drawn_rows};
use testbenches::accelerators::kelle::layer::decoding as kelle;
use testbenches::accelerators::kllm::layer::decoding::OnKllm;
use testbenches::accelerators::kllm::real::with_orizuru;
use testbenches::accelerators::tender::decoding::{for_decoding, whole};
use testbenches::accelerators::titanus::layer::decoding as titanus;
use testbenches::accelerators::titanus::small_layer_core;
use testbenches::accelerators::vector::golden_of;

/// Addresses of `link.ld`.
const VERDICT: u64 = 0x1_0000;
const VERDICT_BYTES: u64 = 20;
const DEMO: u64 = 0x2_0000;
const MEMORY_FILE: u64 = 0x100_0000;
const RESULTS_FILE: u64 = 0x200_0000;

/// What the chain of a layer may touch.
const WINDOW: Window = Window { base: 0x10_0000, limit: 0xff_ffff, address_width: 40 };
const SIZES: Sizes = Sizes { width: 32, heads: [2, 1], head: 64, inner: 32 };

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn here() -> PathBuf {
    root().join("testbenches/tests/accelerators/soc")
}

fn succeed(tool: &Tool) {
    let output = tool.run().unwrap_or_else(|e| panic!("{e}: run `scripts/setup full`"));
    assert!(output.success(), "{}\n{}", tool.command_line(), output.log());
}

/// A program of these sources as it lies in memory from address 0 on. `more` has further headers.
fn program(main: &str, drivers: &[&str], more: Option<&Path>) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let [elf, image] = ["program.elf", "program.bin"].map(|name| folder.path().join(name));
    let of_drivers = |name: &&str| root().join("testbenches/src/accelerators").join(name);
    let compiler = Tool::new("riscv64-unknown-elf-gcc")
        .args(["-march=rv32im", "-mabi=ilp32", "-ffreestanding", "-nostdlib", "-std=c11", "-O2"])
        .args(["-fno-tree-loop-distribute-patterns", "-Wall", "-Wextra", "-Wconversion", "-Werror"])
        .args(
            ["verilog-out/accelerators", "sim/host/include", "testbenches/src/accelerators"]
                .map(|of| include(&root().join(of))),
        )
        .args(more.map(include))
        .arg("-T")
        .arg(here().join("link.ld"))
        .args(["start.S", "cpu.c", main].map(|name| here().join(name)))
        .args(drivers.iter().map(of_drivers))
        .arg("-o")
        .arg(&elf);
    succeed(&compiler);
    succeed(&Tool::new("riscv64-unknown-elf-objcopy").args(["-O", "binary"]).args([&elf, &image]));
    fs::read(image).unwrap()
}

fn include(folder: &Path) -> String {
    format!("-I{}", folder.display())
}

/// The system on chip around an accelerator.
fn soc(accelerator: Design) -> Design {
    let width = |name: &str| accelerator.ports.iter().find(|port| port.name == name).expect("a port of its bus").width;
    let defines = vec![
        format!("ACCELERATOR={}", accelerator.top),
        format!("ADDRESS_WIDTH={}", width("mem_awaddr_o")),
        format!("DATA_WIDTH={}", width("mem_wdata_o")),
        format!("ID_WIDTH={}", width("mem_awid_o")),
    ];
    let mut files = accelerator.files;
    let cpu = root().join("target/picorv32/pythondata_cpu_picorv32/verilog/picorv32.v");
    let missing = "there is no PicoRV32: run `scripts/setup full`";
    for path in [cpu, here().join("soc.v")] {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{missing}: {}: {e}", path.display()));
        files.push(SourceFile { name: path.file_name().unwrap().to_string_lossy().into_owned(), text });
    }
    Design {
        top: "soc".into(),
        files,
        ports: Vec::new(),
        clock: Some("clk_i".into()),
        reset: Some("rst_ni".into()),
        defines,
        native: None,
    }
}

fn rough() -> AxiConfig {
    AxiConfig::rough(Stall::Random { num: 1, den: 4 })
}

/// Words of the verdict: a meaning, the right value, the number.
type Right<'a> = &'a [(&'a str, u32, u64)];

/// Runs a program, which lies at 0, beside an accelerator until its verdict, which is right. `before` is memory at the
/// start besides; the program and its accelerator may write to `areas`, an address and bytes each. `judge` sees memory at
/// the end. The CPU has a memory of its own kind.
fn session<B: Block>(
    (block, design): (&B, Design),
    (program, before, cpu): (&[u8], &[Image], &AxiConfig),
    (areas, right): (&[(u64, u64)], Right<'_>),
    judge: impl Fn(&AxiMemory),
) {
    let bench = sim::kit::bench(block, |sim, run| {
        sim.reset(2)?;
        let mut memory = AxiMemory::new();
        for (port, config) in [("cpu", cpu), ("mem", &rough())] {
            memory.serve(sim, port, config, run.seed())?;
        }
        memory.memory_mut().store(0, program);
        before.iter().for_each(|image| memory.memory_mut().store(image.address, &image.bytes));
        let trap = sim.output("trap_o")?;
        while memory.memory().load_u32(VERDICT) == 0 {
            bus::cycle(sim, &mut [&mut memory])?;
            assert_eq!(sim.peek_u64(trap), 0, "the CPU gave up in cycle {}", sim.cycle_count());
            assert!(sim.cycle_count() < 50_000_000, "no verdict after {} cycles", sim.cycle_count());
        }
        for &(what, right, number) in right {
            run.expect_equal(sim, "verdict", what, right, memory.memory().load_u32(VERDICT + 4 * number))?;
        }
        // The variables and the stack of the program lie after its code, below the verdict.
        let code = program.len() as u64;
        let own = [(code, VERDICT - code), (VERDICT, VERDICT_BYTES)];
        assert_eq!(memory.memory().written_outside(&[&own, areas].concat()), None);
        judge(&memory);
        println!("{} cycles: cpu {:?}, mem {:?}", sim.cycle_count(), memory.stats("cpu"), memory.stats("mem"));
        Ok(())
    });
    sim::run(&*bench.unwrap(), &soc(design), &options(1)).unwrap_or_else(|e| panic!("{e}"));
}

/// A whole session of the C program: two good jobs and one with an error, each ended by an interrupt.
#[tag(full)]
#[test]
#[ignore = "minutes, and tools that nothing else needs"]
fn a_cpu_takes_the_interrupt() {
    let block = VectorTop::default();
    let design = Design::from(&hdl::lang::elaborate(&block).unwrap());
    let image = program("demo.c", &["vector_job.c"], None);
    let right = [
        ("what vector_demo says", 0, 1),
        ("interrupts, one a job", 3, 2),
        ("the tag", 0x600d_7a61, 3),
        ("descriptors", 2, 4),
    ];
    session((&block, design), (&image, &[], &rough()), (&[(DEMO, DEMO_BYTES)], &right), |memory| {
        results(&block, memory);
    });
}

/// A layer of drawn weights, two tokens and one after them, as files; a program in C runs it on this accelerator.
fn a_cpu_runs_a_layer<B: Block>(block: &B, on: &dyn LayerAccelerator) {
    let mut rng = rng_for(7, "a layer beside a CPU");
    let layer = drawn(&mut rng, Shape::Llama, SIZES);
    let [rows, text] = [3, 12].map(|count| drawn_rows(&mut rng, SIZES.width, count));
    let mut layer = on.lowering().layer(&WINDOW, &layer, &[text], Room::for_one(3)).unwrap();
    let passes = [0..2, 2..3].map(|some| layer.pass(&[(0, rows[some].to_vec())]).unwrap());
    a_cpu_runs(block, on.design().unwrap(), &Contents::of_passes(&passes, 0));
}

/// The jobs of a layer as files; a program in C runs them on this accelerator.
fn a_cpu_runs<B: Block>(block: &B, design: Design, contents: &Contents) {
    let folder = tempfile::tempdir().unwrap();
    contents.write(folder.path(), &WINDOW, &["A layer beside a CPU.".to_owned()]).unwrap();
    let file = |address, name| Image { address, bytes: fs::read(folder.path().join(name)).unwrap() };
    let before = [file(MEMORY_FILE, files::MEMORY), file(RESULTS_FILE, files::RESULTS)];
    let image = program("layer.c", &["layer_job.c", "vector_job.c"], Some(folder.path()));
    let written = || contents.passes.iter().flat_map(|pass| &pass.written);
    let images = contents.jobs().flat_map(|job| &job.images).chain(written());
    let mut areas: Vec<_> = images.map(|image| (image.address, image.bytes.len() as u64)).collect();
    for Move { to: (place, step), count, .. } in contents.jobs().flat_map(|job| &job.moves) {
        areas.push((*place, u64::from(count * step)));
    }
    let jobs = contents.jobs().count() as u32;
    let descriptors = contents.jobs().last().unwrap().descriptors;
    let right = [
        ("what layer_run says", 0, 1),
        ("interrupts, one a job", jobs, 2),
        ("descriptors of the last", descriptors, 4),
    ];
    // The CPU moves the files byte by byte, so its memory answers soon.
    let cpu = AxiConfig::ideal(1);
    session((block, design), (&image, &before, &cpu), (&areas, &right), |memory| {
        for Image { address, bytes } in &contents.passes.last().unwrap().written {
            assert!(memory.memory().bytes(*address, bytes.len()) == *bytes, "results at {address:#x}");
        }
    });
}

/// Two jobs a pass: between them the CPU moves keys and values into their panels.
#[tag(full)]
#[test]
#[ignore = "minutes, and tools that nothing else needs"]
fn a_cpu_runs_a_layer_on_tender() {
    let block = for_decoding(8);
    let on = whole(block.clone()).unwrap();
    let folder = root().join("sim/models/tests/oracle/llama-tied");
    let model = Decoder::open(&folder, Precision::File).unwrap().model;
    let tokens: Vec<u32> = (3..15).collect();
    let rows: Rows = model.embed(&tokens[..3], 0).unwrap().iter().map(<[f64]>::to_vec).collect();
    let passes = [0..2, 2..3].map(|some| vec![(0, rows[some].to_vec())]);
    let (lowering, learning) = (on.lowering(), Learning { windows: vec![tokens] });
    let settings = lowering.defaults().unwrap();
    let from = Source { model: &model, learning: &learning };
    let arrays = lowering.learn(&from, &settings, &mut |_| ()).unwrap();
    let learnt = Learnt { settings: &settings, arrays: &arrays };
    let (window, sizes) = (Window { address_width: 32, ..WINDOW }, whole::Sizes { rows: 2, room: Room::for_one(3) });
    let load = |memory: &mut Recorder<'_>| {
        lowering.model_with(&window, whole::Source::layer(&model, 0)?, learnt, sizes, memory)
    };
    let contents = Contents::of_rows(on.golden(&window, None).unwrap().as_mut(), load, &passes).unwrap();
    assert_eq!(contents.jobs().count(), 4);
    a_cpu_runs(&block, on.design().unwrap(), &contents);
}

#[tag(full)]
#[test]
#[ignore = "minutes, and tools that nothing else needs"]
fn a_cpu_runs_a_layer_on_kelle() {
    let block = kelle::block(8, 1, 16);
    a_cpu_runs_a_layer(&block, &kelle::OnKelle::new(block.clone(), 8).unwrap());
}

#[tag(full)]
#[test]
#[ignore = "minutes, and tools that nothing else needs"]
fn a_cpu_runs_a_layer_on_kllm() {
    let block = with_orizuru();
    a_cpu_runs_a_layer(&block, &OnKllm::new(block.clone(), Bits::Four).unwrap());
}

#[tag(full)]
#[test]
#[ignore = "minutes, and tools that nothing else needs"]
fn a_cpu_runs_a_layer_on_titanus() {
    let mut block = small_layer_core();
    (block.spec.store.rows, block.spec.store.columns, block.spec.tiles) = (2, 16, 4);
    a_cpu_runs_a_layer(&block, &titanus::OnTitanus::new(block.clone(), titanus::COMPRESSION).unwrap());
}

/// The memory of the demo equals the golden model's results for the operands and the chain in it.
fn results(block: &VectorTop, memory: &AxiMemory) {
    let after = memory.memory().bytes(DEMO, DEMO_BYTES as usize);
    let mut expected = SparseMemory::new();
    expected.store(DEMO, &after);
    // As the program leaves rows of results and the tag for the accelerator.
    for row in 0..3 {
        for results in [0x300, 0x400] {
            expected.store(DEMO + results + 64 * row, &[0x5a; 64]);
        }
    }
    expected.store(DEMO + 0x500, &[0; 4]);
    let limits = Limits { base: DEMO, limit: DEMO + DEMO_BYTES - 1, max_descriptors: 0x1_0000 };
    let report = golden_of(block).run(limits, DEMO, &mut expected);
    assert_eq!((report.end.code, report.end.descriptors), (0, 2));
    assert!(expected.bytes(DEMO, after.len()) == after, "memory is not what the golden model makes of it");
}
