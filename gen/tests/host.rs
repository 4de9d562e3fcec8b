//! What the crate `host` knows of the hardware is what the hardware is made of.

use std::fs;
use std::path::Path;

use hdl::blocks::common::ShellRegisters;
use hdl::blocks::common::shell::job_controller::{HEADER_BYTES, job_error};
use hdl::blocks::common::shell::shell_registers::{ID, OWN_REGISTERS, VERSION};
use host::{ErrorCode, layout, registers, vector};
use senbazuru::output::{Bundle, Earlier, Layout};

/// `registers::shell` is a committed file of the generator: that of the block as it is now.
#[test]
fn registers_are_generated() {
    let design = hdl::lang::elaborate(&ShellRegisters::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut bundle = Bundle::new(Layout::Flat);
    bundle.add("common", "shell_registers", &design).unwrap();
    bundle.write(folder.path(), &Earlier::default()).unwrap();
    let generated = fs::read_to_string(folder.path().join(format!("{}.rs", design.top_name()))).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let used = fs::read_to_string(root.join("sim/host/src/registers.rs")).unwrap();
    let path = used.split('"').nth(1).unwrap();
    let committed = fs::read_to_string(root.join("sim/host/src").join(path)).unwrap();
    assert!(committed == generated, "{path} is not what the block is now: run `senbazuru gen --all`");
    assert_eq!(u64::from(registers::shell::ID_ID_VALUE), ID);
    const { assert!(vector::registers::CAPS >= OWN_REGISTERS, "those of the shell are below") };
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
