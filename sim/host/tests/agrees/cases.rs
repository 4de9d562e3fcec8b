//! Random descriptors, and how they end in a golden model.

use std::cell::RefCell;
use std::collections::BTreeMap;

use golden::accelerators::job::{Accelerator, run};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use host::vector::Operand;
use host::{ErrorCode, Refusal};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

use super::support::WINDOW;

/// How a job of this one descriptor ends in the golden model; overflows, which only data can cause, count as well.
pub fn golden(accelerator: &impl Accelerator, at: u64, descriptor: &[u8]) -> u32 {
    let mut memory = SparseMemory::new();
    memory.store(at, descriptor);
    let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 1 };
    let code = run(accelerator, limits, at, &mut memory).end.code.into();
    if code == ErrorCode::Overflow.number() { 0 } else { code }
}

pub fn code<T>(result: &Result<T, Refusal>) -> u32 {
    result.as_ref().err().map_or(0, |refusal| refusal.code.number())
}

/// Addresses about the edges of the window, and any.
pub fn address() -> impl Strategy<Value = u64> {
    prop_oneof![
        30 => (0x1000..0xf000u64).prop_map(|at| at & !63),
        1 => select(vec![0, 0xfc0, 0x1000, 0x1020, 0xff40, 0xff80, 0xffc0, 0xffff, 0x1_0000, 1 << 40, u64::MAX - 63]),
        1 => any::<u64>(),
    ]
}

/// As often outside of the window as not.
pub fn place() -> impl Strategy<Value = u64> {
    prop_oneof![address(), any::<u64>(), select(vec![0, 0xf80, 0xff80, 0xffc0, 0x1010])]
}

pub fn stride() -> impl Strategy<Value = u32> {
    prop_oneof![30 => select(vec![0, 64, 128]), 1 => select(vec![1, 32, 0x4000, 0xffff_ffc0]), 1 => any::<u32>()]
}

pub fn operand() -> impl Strategy<Value = Operand> {
    (address(), stride()).prop_map(|(address, stride)| Operand { address, stride })
}

/// The fields of a descriptor as its table says, written here a second time.
#[derive(Debug, Default, Clone)]
pub struct Raw(pub Vec<u8>);

impl Raw {
    pub fn of(opcode: u8) -> Self {
        let mut bytes = vec![0; 128];
        bytes[..5].copy_from_slice(b"SNBZ\x01");
        bytes[5] = opcode;
        Self(bytes)
    }

    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub fn operand(&mut self, address: usize, stride: usize, operand: Operand) {
        self.put(address, &operand.address.to_le_bytes());
        self.put(stride, &operand.stride.to_le_bytes());
    }
}

/// Runs a property that returns a code on many cases; each of `codes`, and no other one, must come up.
pub fn every<T: std::fmt::Debug>(
    strategy: impl Strategy<Value = T>,
    codes: &[u32],
    property: impl Fn(T) -> Result<u32, TestCaseError>,
) {
    let seen = RefCell::new(BTreeMap::new());
    let outcome = TestRunner::new(seeds::proptest(2000)).run(&strategy, |case| {
        *seen.borrow_mut().entry(property(case)?).or_insert(0) += 1;
        Ok(())
    });
    outcome.unwrap();
    let seen = seen.into_inner();
    println!("{seen:?}");
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), codes, "{seen:?}");
    assert!(seen[&0] > 200, "too few that are right: {seen:?}");
}
