//! Join: beats of several streams become one.

use super::Word;
use crate::lang::{
    About, Block, CatalogBlock, InArray, Module, OutArray, OutStream, Proof, Timing, bit, parameters, ports, reduce,
    uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct StreamJoin {
        /// Bits of a beat of each stream.
        width: u32 = 32, in 1..=65536, tag "w";
        /// Streams.
        inputs: u32 = 2, in 2..=256, tag "n";
    }
    rules = |p, rules| {
        let most = (1 << 20) / p.inputs;
        rules.demand(p.width <= most, "width", p.width, format!("1 to {most} with inputs = {}", p.inputs));
    };
}

ports! {
    /// Ports of [`StreamJoin`].
    pub struct StreamJoinPorts(p: &StreamJoin) {
        /// Per stream: a beat is offered.
        input_valid_i: InArray = bit().array(p.inputs),
        /// Per stream: its beat is taken, together with the beats of all others.
        input_ready_o: OutArray = bit().array(p.inputs),
        /// Per stream: the beat.
        input_data_i: InArray = uint(p.width).array(p.inputs),
        /// One beat of each stream side by side, stream 0 in the low bits.
        output: OutStream<Word> = p.inputs * p.width,
    }
}

impl Block for StreamJoin {
    type Ports = StreamJoinPorts;
    const ABOUT: About = About {
        name: "stream_join",
        summary: "several streams become one, beat by beat",
        contract: "A beat comes out when all streams offer one, and all are taken in that cycle. No state: a stream that offers waits for the\n\
            others. input_ready_o of a stream depends on the valid of all others and on output_ready_i.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &StreamJoinPorts) {
        let all = reduce(&io.input_valid_i.elements(), |a, b| a & b).unwrap_or_else(|| bit().lit(1));
        let all = m.wire("all", all);
        m.connect(io.output.valid, all);
        let goes = m.wire("goes", all & io.output.ready);
        m.connect(io.input_ready_o.packed(), goes.repeat(self.inputs));
        m.connect(io.output.data.data, io.input_data_i.packed());
        m.formal(|m| {
            let waits = io.input_valid_i.at(0) & !io.input_valid_i.at(1);
            m.assert_always("together", !waits | !io.input_ready_o.at(0));
            m.assert_always("moves_when_all_can", goes.eq(io.output.fire()));
            m.cover("waits", waits);
            m.cover("moves", goes);
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(0)
    }
}

impl CatalogBlock for StreamJoin {
    fn configurations() -> Vec<Self> {
        vec![Self { width: 1, inputs: 2 }, Self { width: 9, inputs: 5 }]
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { width: 2, inputs: 3 }, depth: 4, cover_depth: 4, induction: true }]
    }
}
