//! A memory of several banks that several readers and writers share: word a lies in bank a modulo the number of banks.

use super::{Ram, RamImplementation};
use crate::blocks::common::memory::memory_bank::MemoryBank;
use crate::blocks::common::stream::Arbitration;
use crate::lang::{
    About, Block, CatalogBlock, InArray, Module, OutArray, Proof, Timing, Type, bit, index_width, mux, or_all,
    parameters, ports, power_of_two, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct BankedMemory {
        /// Banks.
        banks: u32 = 4, in power_of_two(2..=256), tag "b";
        /// Readers.
        readers: u32 = 4, in 1..=64, tag "r";
        /// Writers.
        writers: u32 = 1, in 1..=64, tag "w";
        /// Which reader and which writer come first if several want one bank.
        arbitration: Arbitration = Arbitration::RoundRobin;
        /// One bank.
        ram: Ram = Ram { depth: 256, ..Ram::default() };
    }
    rules = |p, rules| {
        let words = u64::from(p.banks) * u64::from(p.ram.depth);
        rules.demand(words <= 1 << 31, "banks", p.banks, "at most 2^31 words in all");
    };
}

impl BankedMemory {
    /// Type of an address: the bank in its low bits.
    #[must_use]
    pub fn address(&self) -> Type {
        uint(self.ram.address().width + self.bank().width)
    }

    fn bank(&self) -> Type {
        uint(index_width(self.banks.into()))
    }
}

ports! {
    /// Ports of [`BankedMemory`].
    pub struct BankedMemoryPorts(p: &BankedMemory) {
        /// Per reader: it wants a word; stays until it is taken.
        read_valid_i: InArray = bit().array(p.readers),
        /// Per reader: the read is made at the coming edge.
        read_ready_o: OutArray = bit().array(p.readers),
        /// Per reader: address of the word.
        read_address_i: InArray = p.address().array(p.readers),
        /// Per reader: the word that it read in the cycle before is there, in this cycle only.
        data_valid_o: OutArray = bit().array(p.readers),
        /// Per reader: the word.
        data_o: OutArray = uint(p.ram.width).array(p.readers),
        /// Per writer: it has a word; stays until it is taken.
        write_valid_i: InArray = bit().array(p.writers),
        /// Per writer: the write is made at the coming edge.
        write_ready_o: OutArray = bit().array(p.writers),
        /// Per writer: address of the word.
        write_address_i: InArray = p.address().array(p.writers),
        /// Per writer: bit per granule that is written.
        write_strobe_i: InArray = uint(p.ram.write_enables()).array(p.writers),
        /// Per writer: the word.
        write_data_i: InArray = uint(p.ram.width).array(p.writers),
    }
}

impl Block for BankedMemory {
    type Ports = BankedMemoryPorts;
    const ABOUT: About = About {
        name: "banked_memory",
        summary: "memory of several banks that several readers and writers share",
        contract: "Word a is word a / banks of bank a mod banks. In each cycle each bank serves one reader and one\n\
            writer. Readers of different banks do not wait for each other, and readers and writers do not wait for\n\
            each other. A read of the word that is written at the same edge gives the old word.\n\
            data_o is there one cycle after read_ready_o, for one cycle: a reader takes it then.\n\
            round_robin: a reader (writer) that wants a bank waits for at most readers - 1 (writers - 1)\n\
            others. fixed_priority: the lowest number wins; higher numbers may wait for ever. A request that is\n\
            withdrawn before it is taken is dropped.\n\
            Beyond the depth (where that is no power of two) a write is lost and a read unknown. Reset drops words\n\
            on their way; the contents stay, unknown until written.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &BankedMemoryPorts) {
        let (low, row) = (self.bank().width, self.ram.address().width);
        let words = m.nets("word", uint(self.ram.width), self.banks);
        let reads = m.grid("read_taken", bit(), self.readers, self.banks);
        let writes = m.grid("write_taken", bit(), self.writers, self.banks);
        let part = MemoryBank {
            readers: self.readers,
            writers: self.writers,
            arbitration: self.arbitration,
            ram: self.ram.clone(),
        };
        m.for_each("bank", self.banks, |m, b| {
            let bank = m.instance("u_bank", part.clone());
            m.for_each("reader", self.readers, |m, k| {
                let address = io.read_address_i.at(k);
                let here = address.slice(0..low).eq(b.value(low));
                m.connect(bank.read_wants_i.at(k), io.read_valid_i.at(k) & here);
                m.connect(bank.read_row_i.at(k), address.slice(low..low + row));
                m.connect(reads.at((k, b)), bank.read_taken_o.at(k));
            });
            m.for_each("writer", self.writers, |m, k| {
                let address = io.write_address_i.at(k);
                let here = address.slice(0..low).eq(b.value(low));
                m.connect(bank.write_wants_i.at(k), io.write_valid_i.at(k) & here);
                m.connect(bank.write_row_i.at(k), address.slice(low..low + row));
                m.connect(bank.write_strobe_i.at(k), io.write_strobe_i.at(k));
                m.connect(bank.write_data_i.at(k), io.write_data_i.at(k));
                m.connect(writes.at((k, b)), bank.write_taken_o.at(k));
            });
            m.connect(words.at(b), bank.data_o);
        });
        m.for_each("answer", self.readers, |m, k| {
            let bank = m.wire("read_bank", io.read_address_i.at(k).slice(0..low));
            let taken = m.wire("taken", reads.at((k, bank)));
            m.connect(io.read_ready_o.at(k), taken);
            let comes = m.reg_init("comes_q", bit(), 0);
            let from = m.reg("from_q", self.bank());
            comes.next(taken);
            from.next_when(taken, bank);
            m.connect(io.data_valid_o.at(k), comes.q);
            m.connect(io.data_o.at(k), words.at(from.q));
        });
        m.for_each("written", self.writers, |m, k| {
            let bank = m.wire("write_bank", io.write_address_i.at(k).slice(0..low));
            m.connect(io.write_ready_o.at(k), writes.at((k, bank)));
        });
        self.properties(m, io);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl BankedMemory {
    /// A word that the prover chooses, followed from the last write to each read; and the choice of each bank.
    fn properties(&self, m: &mut Module, io: &BankedMemoryPorts) {
        if self.ram.implementation != RamImplementation::Inferred {
            return;
        }
        m.formal(|m| {
            let followed = m.reg("formal_address_q", self.address());
            followed.next(followed.q);
            let (known, value) =
                (m.reg_init("formal_known_q", bit(), 0), m.reg("formal_value_q", uint(self.ram.width)));
            let here = |k: u32| io.write_ready_o.at(k) & io.write_address_i.at(k).eq(followed.q);
            let hits: Vec<_> = (0..self.writers).map(here).collect();
            let hit = m.wire("formal_hit", or_all(bit(), &hits));
            let first = io.write_data_i.at(0);
            let data = (1..self.writers).fold(first, |data, k| mux(here(k), io.write_data_i.at(k), data));
            value.next_when(hit, data);
            known.next(known.q | hit);
            for k in 0..self.writers {
                m.assume(&format!("whole_words_{k}"), io.write_strobe_i.at(k).all());
                for other in 0..k {
                    let both = io.write_ready_o.at(k) & io.write_ready_o.at(other);
                    let bank = |k: u32| io.write_address_i.at(k).slice(0..self.bank().width);
                    m.assert_always(&format!("one_write_a_bank_{k}_{other}"), !(both & bank(k).eq(bank(other))));
                }
            }
            for k in 0..self.readers {
                let expects = m.reg_init(&format!("formal_expects_{k}_q"), bit(), 0);
                let expected = m.reg(&format!("formal_expected_{k}_q"), uint(self.ram.width));
                let reads = io.read_ready_o.at(k) & io.read_address_i.at(k).eq(followed.q);
                expects.next(reads & known.q);
                expected.next(value.q);
                let answered = io.data_valid_o.at(k) & io.data_o.at(k).eq(expected.q);
                m.assert_always(&format!("the_word_last_written_{k}"), !expects.q | answered);
                m.assert_always(&format!("taken_if_wanted_{k}"), !io.read_ready_o.at(k) | io.read_valid_i.at(k));
            }
            let anybody = io.read_valid_i.at(0);
            let served = (0..self.readers).map(|k| io.read_ready_o.at(k)).collect::<Vec<_>>();
            m.assert_always("somebody_is_served", !anybody | or_all(bit(), &served));
            m.cover("all_served_at_once", io.read_ready_o.packed().all() & known.q);
            m.cover("one_waits", anybody & !io.read_ready_o.at(0));
        });
    }
}

impl CatalogBlock for BankedMemory {
    fn configurations() -> Vec<Self> {
        use Arbitration::{FixedPriority, RoundRobin};
        use RamImplementation::{BlackBox, Inferred};
        let set = |banks, readers, writers, arbitration, (depth, width, granule, implementation)| {
            let ram = Ram::parts(depth, width, granule, implementation);
            Self { banks, readers, writers, arbitration, ram }
        };
        vec![
            set(2, 1, 1, RoundRobin, (2, 1, 1, Inferred)),
            set(4, 3, 2, RoundRobin, (5, 16, 8, Inferred)),
            set(8, 2, 3, FixedPriority, (16, 9, 9, BlackBox)),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let ram = Ram::words(2, 1, RamImplementation::Inferred);
        let block = Self { banks: 2, readers: 2, writers: 1, arbitration: Arbitration::RoundRobin, ram };
        vec![Proof { block, depth: 8, cover_depth: 8, induction: true }]
    }
}
