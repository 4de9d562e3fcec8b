//! Tokens that are put into panels: what the host crate refuses, and what the golden model does.

use std::sync::LazyLock;

use golden::accelerators::kllm::{KllmTop, Shape};
use host::kllm::{AppendJob, Caps, check};
use host::vector::{self, Operand};
use host::{Descriptor, Refusal};
use proptest::prelude::*;
use proptest::sample::select;

use super::cases::{Raw, address, code, every, golden, operand};
use super::kllm::Checks;
use super::support::{CAPS as VECTOR_CAPS, SHAPE as VECTOR_SHAPE, WINDOW};

/// Two groups of lanes: a panel in memory has 32 channels, a beat of it 128 bytes.
const CAPS: Caps = Caps {
    lanes: 4,
    columns: 16,
    groups: 2,
    inputs: 8,
    centroid_bits: 12,
    buffer: 4,
    inner: 240,
    segment: 16,
    outliers: 7,
    vector: vector::Caps { opcode: 3, ..VECTOR_CAPS },
};

static CHECKS: LazyLock<Checks> = LazyLock::new(|| {
    let shape = Shape {
        lanes: CAPS.lanes,
        columns: CAPS.columns,
        groups: CAPS.groups,
        inputs: CAPS.inputs,
        centroid_bits: CAPS.centroid_bits,
        buffer: CAPS.buffer,
        depth: CAPS.inner / CAPS.inputs,
        orizuru: CAPS.segment,
        kmax: CAPS.outliers,
        vector: VECTOR_SHAPE,
    };
    Checks(KllmTop::new(shape).unwrap())
});

/// A token in a cache.
#[derive(Clone, Copy, Debug)]
struct Job {
    position: bool,
    number: usize,
    elements: u32,
    token: u64,
    panels: Operand,
    scales: u64,
    factors: [f32; 2],
}

fn job() -> impl Strategy<Value = Job> {
    let number = prop_oneof![20 => 0..240usize, 1 => select(vec![240, 1 << 20, usize::MAX])];
    let elements = prop_oneof![20 => 1..241u32, 1 => select(vec![0, 241, u32::MAX])];
    let factors = (any::<f32>(), any::<f32>()).prop_map(|(dense, outliers)| [dense, outliers]);
    let all = (any::<bool>(), number, elements, address(), operand(), address(), factors);
    all.prop_map(|(position, number, elements, token, panels, scales, factors)| Job {
        position,
        number,
        elements,
        token,
        panels,
        scales,
        factors,
    })
}

fn built(job: &Job) -> Result<Descriptor, Refusal> {
    let Job { number, elements, token, panels, scales, factors, .. } = *job;
    let built = if job.position {
        AppendJob::position((number, elements), token, panels, scales)
    } else {
        AppendJob::channel((number, elements), token, panels, scales, factors)
    };
    built.build(&CAPS, &WINDOW)
}

/// The descriptor as the contract's table says.
fn raw(job: &Job) -> Raw {
    let mut raw = Raw::of(5);
    let panel = job.number as u64 / 32;
    // No window is beyond all addresses.
    let step = |at: u64, bytes: u64| at.saturating_add(bytes.saturating_mul(panel));
    let (number, panels, scales) = match job.position {
        true => (job.number.min(u32::MAX as usize) as u32, job.panels.address, job.scales),
        false => (job.number as u32 % 32, step(job.panels.address, job.panels.stride.into()), step(job.scales, 8 * 32)),
    };
    for (at, word) in [(32, number), (36, job.elements), (40, job.position.into())] {
        raw.put(at, &word.to_le_bytes());
    }
    raw.put(64, &job.token.to_le_bytes());
    raw.put(72, &panels.to_le_bytes());
    raw.put(80, &scales.to_le_bytes());
    if job.position {
        raw.put(48, &job.panels.stride.to_le_bytes());
    } else {
        raw.put(56, &job.factors[0].to_le_bytes());
        raw.put(60, &job.factors[1].to_le_bytes());
    }
    raw
}

#[test]
fn builder_and_hardware() {
    every(job(), &[0, 8, 9, 10], |job| {
        let (built, raw) = (built(&job), raw(&job));
        let expected = golden(&*CHECKS, 0x1000, &raw.0);
        prop_assert_eq!(code(&built), expected, "{:?}", built);
        if let Ok(descriptor) = built {
            prop_assert_eq!(descriptor.bytes().to_vec(), raw.0);
        }
        Ok(expected)
    });
}

/// Every bit of good descriptors, alone.
#[test]
fn every_bit() {
    let panels = Operand { address: 0x3000, stride: 0x1000 };
    let channel = AppendJob::channel((37, 50), 0x2000, panels, 0x8000, [1.5, 0.25]).build(&CAPS, &WINDOW);
    let position = AppendJob::position((37, 50), 0x2000, panels, 0x8000).build(&CAPS, &WINDOW);
    // Options but for one, two words and the end; the stride of a channel, both factors of a position.
    for (good, reserved) in [(channel, 31 + 64 + 320 + 32), (position, 31 + 64 + 320 + 64)] {
        let good = good.unwrap();
        let mut reserved_bits = 0;
        for bit in (8 * 32)..8 * Descriptor::BYTES {
            let mut bytes = *good.bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let descriptor = Descriptor::from_bytes(bytes);
            let verdict = descriptor.check_header(&WINDOW, 5).and_then(|()| check(&descriptor, &CAPS, &WINDOW));
            assert_eq!(code(&verdict), golden(&*CHECKS, 0x1000, &bytes), "bit {bit}: {verdict:?}");
            // With the other mode, the word of this one is.
            reserved_bits += usize::from(code(&verdict) == 5 && bit != 8 * 40);
        }
        assert_eq!(reserved_bits, reserved);
    }
}
