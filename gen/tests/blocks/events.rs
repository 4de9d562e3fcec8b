//! Events that the golden recurrences count are those of the RTL. Random chains run on each accelerator, and a waveform
//! shows each access to each memory. Beats of the bus are compared chain by chain, where cycles are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::sync::{Arc, Mutex};

use golden::accelerators::cycles::{Course, Recurrence, Shell, Spent, Turns};
use golden::accelerators::events::Events;
use golden::accelerators::job::Accelerator;
use golden::accelerators::memory::Memory;
use golden::common::shell::job_controller::Limits;
use hdl::accelerators::kelle::{AttentionSpec, KelleTop};
use hdl::accelerators::kllm::KllmTop;
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::titanus::TitanusCore;
use hdl::accelerators::top;
use hdl::accelerators::vector::VectorTop;
use hdl::lang::CatalogBlock;
use jobs::draft::Operations;
use jobs::program::Program;
use jobs::timing::{self, Waits};
use senbazuru::waveform::{Step, Value, Vcd};
use sim::stimulus::StimulusRng;
use sim::{Design, RunOptions, Trace};
use test_tag::tag;
use testbenches::accelerators::{kelle, kllm, tender, titanus, vector};

/// A recurrence whose events are added up.
pub(crate) struct Tallied<R>(pub R, pub Arc<Mutex<Events>>);

impl<A: Accelerator, R: Recurrence<A>> Recurrence<A> for Tallied<R> {
    fn shell(&self) -> &Shell {
        self.0.shell()
    }

    fn course(
        &self,
        accelerator: &A,
        operation: &A::Checked,
        now: u64,
        state: (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8> {
        self.0.course(accelerator, operation, now, state)
    }

    fn job(
        &self,
        accelerator: &A,
        limits: Limits,
        job: u64,
        state: (&mut dyn Memory, &mut Turns),
    ) -> Result<Vec<Spent<A::Checked>>, u8> {
        let spent = self.0.job(accelerator, limits, job, state)?;
        let mut tally = self.1.lock().unwrap();
        spent.iter().for_each(|spent| *tally += spent.events.clone());
        Ok(spent)
    }
}

/// Ports of the RTL: the end of the path of their instances, and the name. An access is an event.
struct Ports {
    event: &'static str,
    path: &'static str,
    port: &'static str,
}

const fn ports(event: &'static str, path: &'static str, port: &'static str) -> Ports {
    Ports { event, path, port }
}

/// Memories of all accelerators.
const SHARED: [Ports; 10] = [
    ports("read buffer write", "u_read.u_buffer.u_ram", "write_i"),
    ports("read buffer write", "u_fetch.u_buffer.u_ram", "write_i"),
    ports("read buffer read", "u_read.u_buffer.u_ram", "read_i"),
    ports("read buffer read", "u_fetch.u_buffer.u_ram", "read_i"),
    ports("write buffer write", "u_write.u_buffer.u_ram", "write_i"),
    ports("write buffer write", "u_tag.u_buffer.u_ram", "write_i"),
    ports("write buffer read", "u_write.u_buffer.u_ram", "read_i"),
    ports("write buffer read", "u_tag.u_buffer.u_ram", "read_i"),
    ports("norm buffer write", "u_norm.*.u_frame.u_kept.u_ram", "write_i"),
    ports("norm buffer read", "u_norm.*.u_frame.u_kept.u_ram", "read_i"),
];
const OUTPUTS: [Ports; 2] = [
    ports("norm output write", "u_norm.*.u_frame.u_output.u_ram", "write_i"),
    ports("norm output read", "u_norm.*.u_frame.u_output.u_ram", "read_i"),
];

/// Whether a path ends with these names; `*` is any name.
fn has(path: &[String], names: &str) -> bool {
    let names: Vec<&str> = names.split('.').collect();
    let Some(first) = path.len().checked_sub(names.len()) else { return false };
    path[first..].iter().zip(&names).all(|(scope, name)| *name == "*" || scope.split('[').next() == Some(name))
}

/// Rising edges of the clock at which each port is not 0, added up over the instances; none: there is no instance.
fn counted(vcd: &std::path::Path, wanted: &[&Ports]) -> Vec<Option<u64>> {
    let mut vcd = Vcd::open(BufReader::new(File::open(vcd).unwrap())).unwrap();
    let mut clock = None;
    let mut of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut instances = vec![0; wanted.len()];
    for variable in vcd.variables() {
        if variable.name == "clk_i" && clock.is_none() {
            clock = Some(variable.code);
        }
        for (number, ports) in wanted.iter().enumerate() {
            if variable.name == ports.port && has(&variable.path, ports.path) {
                of.entry(variable.code).or_default().push(number);
                instances[number] += 1;
            }
        }
    }
    let clock = clock.expect("a clock");
    let (mut high, mut rises) = (false, false);
    // Values before this moment, and changes in it.
    let mut active: BTreeMap<usize, bool> = BTreeMap::new();
    let mut changes: Vec<(usize, bool)> = Vec::new();
    let mut counts = vec![0; wanted.len()];
    let mut pass = |rises: bool, changes: &mut Vec<(usize, bool)>| {
        if rises {
            for code in active.iter().filter(|(_, active)| **active).map(|(code, _)| code) {
                of[code].iter().for_each(|&number| counts[number] += 1);
            }
        }
        active.extend(changes.drain(..));
    };
    while let Some(step) = vcd.step().unwrap() {
        match step {
            Step::Time(_) => pass(std::mem::take(&mut rises), &mut changes),
            Step::Change(code, Value::Bits(bits)) => {
                let any = bits.contains('1');
                if code == clock {
                    (rises, high) = (any && !high, any);
                }
                if of.contains_key(&code) {
                    changes.push((code, any));
                }
            }
            Step::Change(..) => {}
        }
    }
    pass(rises, &mut changes);
    // A small FIFO is made of registers, so it has no memory.
    counts.into_iter().zip(instances).map(|(count, instances)| (instances > 0).then_some(count)).collect()
}

/// Compares all events of memories on the chip that random chains make with accesses in a waveform.
fn compare<B, A, R>(
    block: &B,
    golden: A,
    draw: impl Fn(&mut StimulusRng, (&Operations, &A), u32) -> Program + 'static,
    timing_of: impl Fn(&B, u32) -> R + 'static,
    (own, vectors): (&[Ports], u64),
) where
    B: top::Accelerator + CatalogBlock + Clone + 'static,
    A: Accelerator + Clone + 'static,
    R: Recurrence<A>,
{
    let tally = Arc::new(Mutex::new(Events::default()));
    let of = tally.clone();
    let timed = move |block: &B, latency: u32| Tallied(timing_of(block, latency), of.clone());
    let bench = timing::bench(block, (golden, Waits::default()), 4, draw, timed).unwrap();
    let design = Design::from(&hdl::lang::elaborate(block).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let options = RunOptions { vectors, trace: Trace::Vcd, waves: Some(folder.path().into()), ..RunOptions::default() };
    let report = sim::run(&*bench, &design, &options).unwrap_or_else(|e| panic!("{e:#}"));
    let tally = tally.lock().unwrap().clone();
    let wanted: Vec<&Ports> = SHARED.iter().chain(&OUTPUTS).chain(own).collect();
    let counts = counted(&report.waveform.expect("a waveform"), &wanted);
    let (mut found, mut registers) = (BTreeMap::<&str, u64>::new(), BTreeSet::new());
    for (number, (ports, count)) in wanted.iter().zip(counts).enumerate() {
        let shared = SHARED.len() + OUTPUTS.len();
        assert!(count.is_some() || number < shared, "no port {} of {}", ports.port, ports.path);
        let Some(count) = count else {
            registers.insert(ports.event);
            continue;
        };
        *found.entry(ports.event).or_default() += count;
    }
    let is_access = |kind: &str| kind.starts_with("sram ") || kind.starts_with("edram ");
    let of_memories = tally.iter().filter(|(event, _)| is_access(&event.kind));
    let mut expected: BTreeMap<&str, u64> = of_memories.map(|(event, count)| (&*event.name, count)).collect();
    expected.retain(|event, _| !registers.contains(event));
    println!("{}: {expected:#?}", B::ABOUT.name);
    found.retain(|event, count| *count > 0 && !registers.contains(event));
    assert_eq!(expected, found, "{}", B::ABOUT.name);
}

fn rows(block: &VectorTop, vectors: u64) {
    compare(block, vector::golden_of(block), vector::program::draw, vector::timing, (&[], vectors));
}

fn products(block: &TenderTop, vectors: u64) {
    let own = [
        ports("table write", "u_index.u_banks.*.u_ram", "write_i"),
        ports("table read", "u_index.u_banks.*.u_ram", "read_i"),
        ports("scratchpad A write", "u_scratchpad_a.u_banks.*.u_ram", "write_i"),
        ports("scratchpad A read", "u_scratchpad_a.u_banks.*.u_ram", "read_i"),
        ports("scratchpad B write", "u_panels.u_banks.*.u_ram", "write_i"),
        ports("scratchpad B read", "u_panels.u_banks.*.u_ram", "read_i"),
        ports("sum write", "u_sums.*.u_ram", "write_i"),
        ports("sum read", "u_sums.*.u_ram", "read_i"),
        ports("turn buffer write", "u_turn.*.u_ram", "write_i"),
        ports("turn buffer read", "u_turn.*.u_ram", "read_i"),
    ];
    let golden = tender::golden_of(block).unwrap();
    compare(block, golden, tender::program::draw, tender::timing::timing, (&own, vectors));
}

fn indices(block: &KllmTop, vectors: u64) {
    let own = [
        ports("weight buffer write", "u_weights.u_banks.*.u_ram", "write_i"),
        ports("weight buffer read", "u_weights.u_banks.*.u_ram", "read_i"),
        ports("factor write", "u_factors.u_ring.u_ram", "write_i"),
        ports("factor read", "u_factors.u_ring.u_ram", "read_i"),
    ];
    compare(block, kllm::golden_of(block).unwrap(), kllm::program::draw, kllm::timing::timing, (&own, vectors));
}

fn heads(block: &KelleTop, vectors: u64) {
    // With refreshes so far apart that none comes.
    let attention = AttentionSpec { interval_width: 31, interval: i32::MAX as u32, ..block.attention.clone() };
    let block = kelle::timing::patient(KelleTop { attention, ..block.clone() });
    let own = [
        ports("cache write", "u_key_high", "write_i"),
        ports("cache write", "u_key_low", "write_i"),
        ports("cache write", "u_value_high", "write_i"),
        ports("cache write", "u_value_low", "write_i"),
        ports("cache read", "u_key_high", "read_i"),
        ports("cache read", "u_key_low", "read_i"),
        ports("cache read", "u_value_high", "read_i"),
        ports("cache read", "u_value_low", "read_i"),
        ports("weight buffer write", "u_linear.u_weights.u_ram", "write_i"),
        ports("weight buffer read", "u_linear.u_weights.u_ram", "read_i"),
        ports("softmax buffer write", "u_sums.u_softmax.u_frame.u_kept.u_ram", "write_i"),
        ports("softmax buffer read", "u_sums.u_softmax.u_frame.u_kept.u_ram", "read_i"),
        ports("softmax output write", "u_sums.u_softmax.u_frame.u_output.u_ram", "write_i"),
        ports("softmax output read", "u_sums.u_softmax.u_frame.u_output.u_ram", "read_i"),
    ];
    compare(&block, kelle::golden_of(&block).unwrap(), kelle::program::draw, kelle::timing::timing, (&own, vectors));
}

fn context(block: &TitanusCore, vectors: u64) {
    let own = [
        ports("context write", "u_cache.u_context", "write_k_i"),
        ports("context write", "u_cache.u_context", "write_v_i"),
        ports("context read", "u_cache.u_context", "read_i"),
        ports("constant write", "u_linear.u_table", "write_i"),
        ports("constants read", "u_linear.u_table", "read_i"),
        ports("macro row write", "u_cells", "write_i"),
    ];
    let golden = titanus::golden_of(block).unwrap();
    compare(block, golden, titanus::program::draw, titanus::timing::timing, (&own, vectors));
}

#[test]
fn events_of_vector_top() {
    rows(&VectorTop::configurations()[1], 12);
    // With buffers in memories.
    rows(&VectorTop::default(), 4);
}

#[test]
fn events_of_tender_top() {
    products(&TenderTop::configurations()[0], 12);
}

#[test]
fn events_of_kllm_top() {
    indices(&KllmTop::configurations()[0], 12);
}

#[test]
fn events_of_kelle_top() {
    heads(KelleTop::configurations().last().unwrap(), 8);
}

#[test]
fn events_of_titanus_core() {
    context(&TitanusCore::configurations()[0], 12);
}

/// The same for all configurations of an accelerator.
#[tag(full)]
#[test]
#[ignore = "models of minutes"]
fn events_of_each_vector_top() {
    VectorTop::configurations().iter().for_each(|block| rows(block, 12));
}

#[tag(full)]
#[test]
#[ignore = "models of minutes"]
fn events_of_each_tender_top() {
    TenderTop::configurations().iter().for_each(|block| products(block, 12));
}

#[tag(full)]
#[test]
#[ignore = "models of minutes"]
fn events_of_each_kllm_top() {
    KllmTop::configurations().iter().for_each(|block| indices(block, 12));
}

#[tag(full)]
#[test]
#[ignore = "models of minutes"]
fn events_of_each_kelle_top() {
    KelleTop::configurations().iter().for_each(|block| heads(block, 8));
}

#[tag(full)]
#[test]
#[ignore = "models of minutes"]
fn events_of_each_titanus_core() {
    TitanusCore::configurations().iter().for_each(|block| context(block, 12));
}
