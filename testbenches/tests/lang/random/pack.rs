//! Many random modules in one model, and a memory whose granules are written one by one.

use hdl::lang::*;

use super::design::{Random, RandomPorts};

/// Many random modules side by side: one model for all of them. Each has inputs of its own.
#[derive(Clone, Debug)]
pub struct Pack {
    pub seeds: Vec<u64>,
}

#[derive(Debug)]
pub struct PackPorts(Vec<RandomPorts>);

impl Pack {
    fn parts(&self) -> impl Iterator<Item = (usize, Random)> {
        self.seeds.iter().enumerate().map(|(k, &seed)| (k, Random { seed, depth: [0, 0, 1, 2][(seed % 4) as usize] }))
    }
}

impl Ports<Pack> for PackPorts {
    fn declare(b: &mut PortBuilder, p: &Pack) -> Self {
        let part = |(k, part): (usize, Random)| RandomPorts::with_prefix(b, &part, &format!("r{k}_"));
        Self(p.parts().map(part).collect())
    }
}

impl Parameters for Pack {
    const SOURCE: &'static str = file!();

    fn values(&self) -> serde_json::Value {
        format!("{:?}", self.seeds).into()
    }
}

impl Block for Pack {
    type Ports = PackPorts;
    const ABOUT: About =
        About { name: "pack", summary: "random hardware", contract: "whatever the simulators agree on", reference: "" };

    fn module_name(&self) -> String {
        format!("pack_{:x}", self.seeds.first().copied().unwrap_or_default())
    }

    fn build(&self, m: &mut Module, io: &PackPorts) {
        for ((k, part), outside) in self.parts().zip(&io.0) {
            let inside = m.instance(&format!("u_p{k}"), part);
            inside.inputs.iter().zip(&outside.inputs).for_each(|(&to, &from)| m.connect(to, from));
            outside.outputs.iter().zip(&inside.outputs).for_each(|(&to, &from)| m.connect(to, from));
            m.connect(outside.seen, inside.seen);
            m.connect_each(&format!("v{k}"), inside.array, outside.array);
            m.connect_each(&format!("w{k}"), outside.row, inside.row);
        }
    }
}

parameters! {
    /// A memory of two words, written one bit after the other.
    pub struct Granules {
        /// Bits of a word.
        count: u32 = 20, in 2..=64, tag "n";
    }
}

ports! {
    /// Ports of [`Granules`].
    pub struct GranulesPorts(p: &Granules) {
        /// The bit.
        place_i: In = uint(8),
        /// The word.
        address_i: In = bit(),
        /// The bits that are written.
        data_i: In = bit(),
        /// The word.
        word_o: Out = uint(p.count),
    }
}

impl Block for Granules {
    type Ports = GranulesPorts;
    const ABOUT: About =
        About { name: "granules", summary: "a memory of bits", contract: "one bit is written", reference: "" };

    fn build(&self, m: &mut Module, io: &GranulesPorts) {
        let words = m.memory("words", 2, self.count, 1);
        words.write(uint(self.count).lit(1).shl_by(io.place_i), io.address_i, io.data_i.repeat(self.count));
        let word = words.read_async("word", io.address_i);
        m.connect(io.word_o, word);
    }
}
