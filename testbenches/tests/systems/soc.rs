//! `vector_top` beside a CPU that nobody here wrote: PicoRV32 runs `vector_job.c` and takes the interrupts.

use std::fs;
use std::path::{Path, PathBuf};
use test_tag::tag;

use golden::common::shell::job_controller::Limits;
use golden::systems::memory::SparseMemory;
use hdl::accelerators::vector::VectorTop;
use sim::bus::{self, AxiConfig, AxiMemory};
use sim::kit::options;
use sim::process::Tool;
use sim::stimulus::Stall;
use sim::{Design, SourceFile};
use testbenches::systems::c_program::DEMO_BYTES;
use testbenches::systems::vector_top::golden_of;

/// Addresses of `link.ld`.
const VERDICT: u64 = 0x1_0000;
const VERDICT_BYTES: u64 = 20;
const DEMO: u64 = 0x2_0000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn here() -> PathBuf {
    root().join("testbenches/tests/systems/soc")
}

fn succeed(tool: &Tool) {
    let output = tool.run().unwrap_or_else(|e| panic!("{e}: run `scripts/setup full`"));
    assert!(output.success(), "{}\n{}", tool.command_line(), output.log());
}

/// The program as it lies in memory from address 0 on.
fn program() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let [elf, image] = ["program.elf", "program.bin"].map(|name| folder.path().join(name));
    let compiler = Tool::new("riscv64-unknown-elf-gcc")
        .args(["-march=rv32im", "-mabi=ilp32", "-ffreestanding", "-nostdlib", "-std=c11", "-O2"])
        .args(["-fno-tree-loop-distribute-patterns", "-Wall", "-Wextra", "-Wconversion", "-Werror"])
        .args(["verilog-out/systems", "sim/host/include", "testbenches/src/systems"].map(include))
        .arg("-T")
        .arg(here().join("link.ld"))
        .args([here().join("start.S"), here().join("main.c"), root().join("testbenches/src/systems/vector_job.c")])
        .arg("-o")
        .arg(&elf);
    succeed(&compiler);
    succeed(&Tool::new("riscv64-unknown-elf-objcopy").args(["-O", "binary"]).args([&elf, &image]));
    fs::read(image).unwrap()
}

fn include(folder: &str) -> String {
    format!("-I{}", root().join(folder).display())
}

/// The system on chip around an accelerator.
fn soc(block: &VectorTop) -> Design {
    let accelerator = Design::from(&hdl::lang::elaborate(block).unwrap());
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
        defines: vec![format!("VECTOR_TOP={}", accelerator.top)],
        native: None,
    }
}

/// A whole session of the C program: two good jobs and one with an error, each ended by an interrupt.
#[tag(full)]
#[test]
#[ignore = "minutes, and tools that nothing else needs"]
fn a_cpu_takes_the_interrupt() {
    let block = VectorTop::default();
    let image = program();
    let bench = sim::kit::bench(&block, |sim, run| {
        sim.reset(2)?;
        let mut memory = AxiMemory::new();
        for port in ["cpu", "mem"] {
            memory.serve(sim, port, &AxiConfig::rough(Stall::Random { num: 1, den: 4 }), run.seed())?;
        }
        memory.memory_mut().store(0, &image);
        let trap = sim.output("trap_o")?;
        while memory.memory().load_u32(VERDICT) == 0 {
            bus::cycle(sim, &mut [&mut memory])?;
            assert_eq!(sim.peek_u64(trap), 0, "the CPU gave up in cycle {}", sim.cycle_count());
            assert!(sim.cycle_count() < 20_000_000, "no verdict after {} cycles", sim.cycle_count());
        }
        let word = |number: u64| memory.memory().load_u32(VERDICT + 4 * number);
        run.expect_equal(sim, "verdict", "what vector_demo says", 0, word(1))?;
        run.expect_equal(sim, "verdict", "interrupts, one a job", 3, word(2))?;
        run.expect_equal(sim, "verdict", "the tag", 0x600d_7a61, word(3))?;
        run.expect_equal(sim, "verdict", "descriptors", 2, word(4))?;
        // The variables and the stack of the program lie after its code, below the verdict.
        let allowed =
            [(image.len() as u64, VERDICT - image.len() as u64), (VERDICT, VERDICT_BYTES), (DEMO, DEMO_BYTES)];
        assert_eq!(memory.memory().written_outside(&allowed), None);
        results(&block, &memory);
        println!("{} cycles: cpu {:?}, mem {:?}", sim.cycle_count(), memory.stats("cpu"), memory.stats("mem"));
        Ok(())
    });
    sim::run(&*bench.unwrap(), &soc(&block), &options(1)).unwrap_or_else(|e| panic!("{e}"));
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
