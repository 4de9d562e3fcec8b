//! The facts about the hardware in the crate `host` are the facts of the hardware.

use std::fs;
use std::path::Path;

use hdl::accelerators::kelle::KelleTop;
use hdl::accelerators::kllm::KllmTop;
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::titanus::TitanusCore;
use hdl::accelerators::vector::VectorTop;
use hdl::blocks::common::ShellRegisters;
use hdl::blocks::common::shell::job_error;
use hdl::blocks::common::shell::shell_registers::{ID, OWN_REGISTERS, VERSION};
use hdl::lang::operation::HEADER_BYTES;
use host::{ErrorCode, layout, registers, vector};
use senbazuru::accelerators::reduce::ReduceTop;
use senbazuru::output::{Bundle, Earlier, Layout};

/// The committed registers equal the registers that the generator writes for the blocks now.
#[test]
fn registers_are_generated() {
    generated("common", "shell_registers", &hdl::lang::elaborate(&ShellRegisters::default()).unwrap(), "registers.rs");
    generated("accelerators", "vector_top", &hdl::lang::elaborate(&VectorTop::default()).unwrap(), "vector.rs");
    generated("accelerators", "tender_top", &hdl::lang::elaborate(&TenderTop::default()).unwrap(), "tender.rs");
    generated("accelerators", "kllm_top", &hdl::lang::elaborate(&KllmTop::default()).unwrap(), "kllm.rs");
    generated("accelerators", "kelle_top", &hdl::lang::elaborate(&KelleTop::default()).unwrap(), "kelle.rs");
    generated("accelerators", "titanus_core", &hdl::lang::elaborate(&TitanusCore::default()).unwrap(), "titanus.rs");
    let reduce = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/accelerators/reduce/registers.rs");
    let text = written("accelerators", "reduce_top", &hdl::lang::elaborate(&ReduceTop::default()).unwrap());
    assert!(fs::read_to_string(reduce).unwrap() == text, "reduce_top has changed: run `senbazuru gen --all`");
    assert_eq!(u64::from(registers::shell::ID_ID_VALUE), ID);
    const { assert!(vector::registers::VECTOR_CAPS >= OWN_REGISTERS, "the shell's registers are below") };
    const { assert!(vector::registers::DESCRIPTORS == registers::shell::DESCRIPTORS, "and are the shell's") };
}

/// The Rust file that the generator writes of `design`.
fn written(group: &str, name: &str, design: &hdl::lang::Design) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut bundle = Bundle::new(Layout::Flat);
    bundle.add(group, name, design).unwrap();
    bundle.write(folder.path(), &Earlier::default()).unwrap();
    fs::read_to_string(folder.path().join(format!("{}.rs", design.top_name()))).unwrap()
}

/// The file that `user`, a file of the crate, takes as its module is the one that the generator writes of `design`.
fn generated(group: &str, name: &str, design: &hdl::lang::Design, user: &str) {
    let generated = written(group, name, design);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/host/src");
    let used = fs::read_to_string(source.join(user)).unwrap();
    let path = used.split('"').nth(1).unwrap();
    let committed = fs::read_to_string(source.join(path)).unwrap();
    assert!(committed == generated, "{path} is not what the block is now: run `senbazuru gen --all`");
}

#[test]
fn descriptors_begin_as_the_controller_reads_them() {
    assert_eq!(layout::header::BYTES, HEADER_BYTES as usize);
    assert_eq!(u64::from(layout::header::MAGIC_VALUE), ID);
    assert_eq!(u64::from(layout::header::VERSION_VALUE), VERSION);
}

#[test]
fn errors_have_the_numbers_of_the_controller() {
    let pairs = [
        (ErrorCode::Descriptor, job_error::DESCRIPTOR),
        (ErrorCode::Magic, job_error::MAGIC),
        (ErrorCode::Version, job_error::VERSION),
        (ErrorCode::Opcode, job_error::OPCODE),
        (ErrorCode::Reserved, job_error::RESERVED),
        (ErrorCode::Tag, job_error::TAG),
        (ErrorCode::Chain, job_error::CHAIN),
        (ErrorCode::Alignment, job_error::ALIGNMENT),
        (ErrorCode::Size, job_error::SIZE),
        (ErrorCode::Window, job_error::WINDOW),
        (ErrorCode::Slverr, job_error::SLVERR),
        (ErrorCode::Decerr, job_error::DECERR),
        (ErrorCode::Timeout, job_error::TIMEOUT),
        (ErrorCode::Overflow, job_error::OVERFLOW),
        (ErrorCode::Field, job_error::FIELD),
    ];
    assert_eq!(pairs.map(|(code, _)| code), ErrorCode::ALL);
    for (code, number) in pairs {
        assert_eq!(code.number(), number, "{code}");
    }
}
