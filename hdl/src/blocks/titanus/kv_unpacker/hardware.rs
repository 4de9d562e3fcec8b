//! The unpacker put together.

use super::control::Control;
use super::{KvUnpacker, KvUnpackerPorts};
use crate::lang::{About, Block, Module, Timing};

impl Block for KvUnpacker {
    type Ports = KvUnpackerPorts;
    const ABOUT: About = About {
        name: "kv_unpacker",
        summary: "cuts blocks of bytes into quantized tiles, and flags damaged streams",
        contract: "The tiles of the stream of docs/blocks/titanus-format.md, in order; values from lane 0 on and 0\n\
            above, all else in its lane, range and zero 0 where open is 0. The format's page lists the ways in\n\
            which a stream can be damaged. A reader sees some of them without levels and sizes of tokens. A stream\n\
            with such damage gives the tiles before the damage, then one beat with error. So each stream, whatever\n\
            its bytes, gives one beat with last. The block after block_last is in step again. A tile takes 1 cycle,\n\
            one more when it opens levels, and one more when it opens more than half of its lanes (rounded up). A\n\
            stream takes one more for its header and one for each window of padding begun (2 + 10 lanes or lanes +\n\
            18 ceil(lanes / 2) bits). Latency 3 cycles from the block that holds the two bits after a tile. Reset\n\
            drops the stream: the next block begins a new one.",
        reference: "Titanus, section 4.4 (DQU reconstruction); this project's byte format",
    };

    fn build(&self, m: &mut Module, io: &KvUnpackerPorts) {
        let fsm = m.fsm("state", &["Header", "Token", "Levels", "MoreLevels", "Padding", "Skip"]);
        let window = self.window(m, io);
        let chunk = self.parse(m, &fsm, &window);
        let control = Control::new(m, &fsm, &window, &chunk);
        self.assemble(m, io, &fsm, &window, &chunk, &control);
        m.formal(|m| self.properties(m, io, &fsm, &window, &control));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(3)
            .phase("opening_tile", 3, "from a tile that opens more than half of its lanes to the next tile")
            .phase("header", 1, "from the first block of a stream to its first tile")
    }
}
