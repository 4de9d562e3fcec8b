//! Heads that leave the accelerator and come back.

use half::f16;
use hdl::accelerators::kelle::KelleTop;
use hdl::lang::CatalogBlock;
use host::kelle::{Attention, AttentionJob, Caps, ClearJob, Policy, Quantizers, RestoreJob, Rows, SaveJob};
use host::vector::Operand;
use host::{Bus, Chain, Descriptor, Device, DeviceError, ErrorCode, Settings, Window};
use jobs::hardware::{Hardware, on_hardware};
use rand::RngExt;
use sim::bus::{Access, AxiConfig, BusError, Place, Response};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::stimulus::{Stall, rng_for};
use test_tag::tag;
use testbenches::accelerators::kelle::bench;

const WINDOW: Window = Window { base: 0x1_0000, limit: 0xf_ffff, address_width: 40 };
const STRIDE: u32 = 256;
/// Sequences, operations of each, and tokens of an operation.
const SEQUENCES: u64 = 3;
const ROUNDS: u64 = 4;
const TOKENS: u64 = 5;
const POLICY: Policy = Policy { budget: 12, sink: 1, window: 5, shift: 9 };

type Driver<'a, 'b> = Device<&'a mut Hardware<'b>>;

/// Tokens in memory, and places of results and of heads; and what the accelerator can do.
struct Places {
    caps: Caps,
}

impl Places {
    /// A place for the rows of an operation.
    fn at(page: u64) -> Operand {
        Operand { address: WINDOW.base + 0x1000 + u64::from(STRIDE) * TOKENS * page, stride: STRIDE }
    }

    /// The place of a kind of rows, 0 to 2 for operands, 3 for results.
    fn rows(kind: u64, sequence: u64, round: u64) -> Operand {
        Self::at((kind * SEQUENCES + sequence) * ROUNDS + round)
    }

    /// The place where a sequence is saved.
    fn saved(sequence: u64) -> Operand {
        Self::at(4 * SEQUENCES * ROUNDS + 4 * sequence)
    }

    fn new(device: &mut Driver<'_, '_>) -> Self {
        let mut rng = rng_for(1, "tokens");
        let count = 3 * SEQUENCES * ROUNDS * TOKENS * u64::from(STRIDE) / 2;
        let floats = (0..count).flat_map(|_| f16::from_f32(rng.random_range(-1.0..1.0)).to_le_bytes());
        device.bus().write_memory(Self::at(0).address, &floats.collect::<Vec<_>>()).unwrap();
        Self { caps: Caps::read(device).unwrap() }
    }

    fn attend(&self, head: u32, sequence: u64, round: u64) -> Descriptor {
        let [queries, keys, values, out] = [0, 1, 2, 3].map(|kind| Self::rows(kind, sequence, round));
        let entering = Attention {
            head,
            tokens: TOKENS as u32,
            group: self.caps.group,
            elements: self.caps.width,
            policy: POLICY,
            quantizers: Quantizers { queries: 100.0, keys: 100.0, values: 100.0 },
            scale: 0.2,
            rows: Rows { queries, keys, values, out },
        };
        AttentionJob::new(entering).build(&self.caps, &WINDOW).unwrap()
    }

    fn clear(&self, head: u32) -> Descriptor {
        ClearJob { first: head, heads: 1 }.build(&self.caps, &WINDOW).unwrap()
    }

    fn save(&self, head: u32, sequence: u64, tokens: u32) -> Descriptor {
        let out = Self::saved(sequence);
        SaveJob { head, first: 0, tokens, elements: self.caps.width, out }.build(&self.caps, &WINDOW).unwrap()
    }

    fn restore(&self, head: u32, sequence: u64, tokens: u32) -> Descriptor {
        let saved = Self::saved(sequence);
        RestoreJob { head, first: 0, tokens, elements: self.caps.width, saved }.build(&self.caps, &WINDOW).unwrap()
    }
}

/// Tokens of a head after so many operations.
fn held(rounds: u64) -> u32 {
    u32::from(POLICY.budget).min((TOKENS * rounds) as u32)
}

fn bytes(device: &mut Driver<'_, '_>, at: Operand, rows: u32) -> Vec<u8> {
    let mut bytes = vec![0; (STRIDE * rows) as usize];
    device.bus().read_memory(at.address, &mut bytes).unwrap();
    bytes
}

/// From now on all ports answer with these errors.
fn answer(device: &mut Driver<'_, '_>, errors: Vec<BusError>) {
    for port in device.bus().ports.clone() {
        device.bus().memory.behaviour(&port).errors.clone_from(&errors);
    }
}

/// The number of the error with which a chain ends, 0 for none.
fn ends(device: &mut Driver<'_, '_>, descriptors: Vec<Descriptor>) -> u32 {
    let chain = descriptors.into_iter().fold(Chain::new(), Chain::then);
    let chain = chain.place(WINDOW.base, &WINDOW, 8).unwrap();
    match device.run(&chain, 100_000) {
        Ok(_) => 0,
        Err(DeviceError::Job(failure)) => failure.number,
        Err(other) => panic!("{other}"),
    }
}

fn with_device(config: &AxiConfig, work: impl Fn(&mut Driver<'_, '_>)) {
    let block = KelleTop::configurations().pop().unwrap();
    on_hardware(&block, config, |hardware| {
        let mut device = Device::new(hardware);
        device.configure(&Settings { window: WINDOW, timeout: 0, max_descriptors: 8 }).unwrap();
        work(&mut device);
    });
}

/// Three sequences take turns in one head: each is saved before the next one comes, and goes on later. All results, and
/// the heads at the end, are as if each sequence had had a head of its own. Memory pauses.
#[test]
fn sequences_share_a_head() {
    with_device(&AxiConfig::rough(Stall::Random { num: 1, den: 8 }), |device| {
        let places = Places::new(device);
        let mut alone = Vec::new();
        for sequence in 0..SEQUENCES {
            assert_eq!(ends(device, vec![places.clear(1)]), 0);
            for round in 0..ROUNDS {
                assert_eq!(ends(device, vec![places.attend(1, sequence, round)]), 0);
                alone.push(bytes(device, Places::rows(3, sequence, round), TOKENS as u32));
            }
            assert_eq!(ends(device, vec![places.save(1, sequence, held(ROUNDS))]), 0);
            alone.push(bytes(device, Places::saved(sequence), held(ROUNDS)));
        }
        let scores = |saved: &Vec<u8>| saved.chunks(STRIDE as usize).filter(|row| row[0] > 0).count();
        assert!(alone.iter().skip(4).step_by(5).all(|saved| scores(saved) > 5), "tokens have scores");
        let mut shared = vec![Vec::new(); alone.len()];
        for round in 0..ROUNDS {
            for sequence in 0..SEQUENCES {
                let mut chain = vec![places.clear(0)];
                if round > 0 {
                    chain.push(places.restore(0, sequence, held(round)));
                }
                chain.extend([places.attend(0, sequence, round), places.save(0, sequence, held(round + 1))]);
                assert_eq!(ends(device, chain), 0, "round {round} of sequence {sequence}");
                let first = (sequence * (ROUNDS + 1)) as usize;
                shared[first + round as usize] = bytes(device, Places::rows(3, sequence, round), TOKENS as u32);
                shared[first + ROUNDS as usize] = bytes(device, Places::saved(sequence), held(round + 1));
            }
        }
        for (k, (alone, shared)) in alone.iter().zip(&shared).enumerate() {
            assert!(alone == shared, "result {k} differs");
        }
    });
}

/// A restore that fails or is dropped leaves its head empty, whatever it had; other heads keep their tokens.
#[test]
fn a_head_that_does_not_come_back_is_empty() {
    with_device(&AxiConfig::ideal(3), |device| {
        let places = Places::new(device);
        let tokens = held(2);
        assert_eq!(ends(device, vec![places.attend(1, 0, 0), places.attend(1, 0, 1), places.save(1, 0, tokens)]), 0);
        let saved = bytes(device, Places::saved(0), tokens);
        let is_empty = |device: &mut Driver<'_, '_>| ends(device, vec![places.save(0, 1, 1)]) == 9;
        // An error of the bus in any row; a front that nobody saves.
        for row in 0..tokens {
            let address = Places::saved(0).address + u64::from(STRIDE * row);
            for at in [0, 64, 128] {
                let place = Place::Addresses(address + at..address + at + 1);
                let error = BusError { access: Access::Read, place, response: Response::SlvErr };
                answer(device, vec![error]);
                assert_eq!(ends(device, vec![places.restore(0, 0, tokens)]), ErrorCode::Slverr.number());
                answer(device, Vec::new());
                assert!(is_empty(device), "row {row}");
            }
            device.bus().write_memory(address + 17, &[1]).unwrap();
            assert_eq!(ends(device, vec![places.restore(0, 0, tokens)]), ErrorCode::Field.number());
            device.bus().write_memory(address + 17, &[0]).unwrap();
            assert!(is_empty(device), "row {row}");
        }
        // More tokens, or fewer, than the head has.
        assert_eq!(ends(device, vec![places.restore(0, 0, tokens)]), 0);
        assert_eq!(ends(device, vec![places.restore(0, 0, tokens)]), ErrorCode::Size.number());
        assert_eq!(ends(device, vec![places.save(0, 1, tokens)]), 0);
        assert_eq!(bytes(device, Places::saved(1), tokens), saved, "refused, so as it was");
        assert_eq!(ends(device, vec![places.save(1, 1, tokens)]), 0);
        assert_eq!(bytes(device, Places::saved(1), tokens), saved, "the other head");
        // A soft reset at any moment.
        for cycles in (0..400).step_by(7) {
            assert_eq!(ends(device, vec![places.clear(0)]), 0);
            let chain = Chain::new().then(places.restore(0, 0, tokens)).place(WINDOW.base, &WINDOW, 8).unwrap();
            chain.store(device.bus()).unwrap();
            device.start(chain.address).unwrap();
            for _ in 0..cycles {
                device.bus().cycle().unwrap();
            }
            device.soft_reset(10_000).unwrap();
            assert!(is_empty(device), "after {cycles} cycles");
            assert_eq!(ends(device, vec![places.restore(0, 0, tokens), places.save(0, 1, tokens)]), 0);
            assert_eq!(bytes(device, Places::saved(1), tokens), saved, "after {cycles} cycles");
        }
    });
}

/// The random jobs notice what may go wrong with tokens that are saved and come back.
#[tag(full)]
#[test]
#[ignore = "a minute: ten faults of an accelerator"]
fn faults_are_found() {
    let of = |module: &str, net: &str, value: &str| Fault::net(net, value).module(module);
    let block = KelleTop::configurations().into_iter().find(|block| block.overlaps).unwrap();
    must_be_noticed(
        &block,
        bench,
        1200,
        &[
            ("any front is right", of("token_restorer", "front_is_wrong", "1'b0")),
            ("what must be 0 in a front may be anything", of("token_restorer", "strange_q", "1'b0")),
            ("a slot that is in use is given again", of("token_restorer", "held_i", "2'd0")),
            ("a token comes back without its slot", of("token_restorer", "has_slot", "1'b0")),
            ("a token comes back with another number", of("token_restorer", "number_o", "16'd0")),
            ("values come back as keys", of("token_restorer", "vector_value_o", "1'b0")),
            ("a score does not come back", of("attention_engine", "new_score", "8'd0")),
            ("tokens that are back are not counted", of("attention_engine", "token_is_back", "1'b0")),
            ("a head may have any tokens before", of("attention_engine", "other_tokens", "1'b0")),
            ("a head that fails to come back keeps tokens", of("attention_engine", "loses", "right & attends")),
        ],
    );
}
