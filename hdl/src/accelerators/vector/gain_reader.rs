//! Gains as they come from memory: numbers, or pairs of a gain and a bias, which take twice the beats.

use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::row::GainBeat;
use crate::lang::{About, Block, In, InStream, Module, OutStream, Timing, bit, cat, mux, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct GainReader {
        /// The bus as a DMA sees it.
        axi: AxiSpec = AxiSpec::default();
    }
}

impl GainReader {
    fn lanes(&self) -> u32 {
        self.axi.data_width / 16
    }
}

ports! {
    /// Ports of [`GainReader`].
    pub struct GainReaderPorts(p: &GainReader) {
        /// Drops all that is inside at the coming edge.
        clear_i: In = bit(),
        /// Pairs come; steady from the first beat of a row to its last one.
        pairs_i: In = bit(),
        /// Rows as they are in memory.
        input: InStream<RowBeat> = p.axi.clone(),
        /// Gains and biases, in the cycle of the last beat that holds some of them.
        output: OutStream<GainBeat> = (p.lanes(), true),
    }
}

impl Block for GainReader {
    type Ports = GainReaderPorts;
    const ABOUT: About = About {
        name: "gain_reader",
        summary: "gains, or gains and biases, from the beats of rows",
        contract: "Without pairs_i a beat is a beat of gains, and biases mean nothing. With it two beats are one:\n\
            element i has the numbers 2 i and 2 i + 1 of both together. Where a row ends with the first of the two,\n\
            its second half means nothing.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &GainReaderPorts) {
        let lanes = self.lanes();
        let (input, output) = (&io.input, &io.output);
        let second = m.reg_init("second_q", bit(), 0);
        let kept = m.reg("kept_q", uint(self.axi.data_width));
        let whole = m.wire("whole", !io.pairs_i | second.q | input.row_last);
        m.connect(output.valid, input.valid & whole);
        m.connect(input.ready, mux(whole, output.ready, !io.clear_i));
        let keeps = m.wire("keeps", input.fire() & !whole);
        kept.next_when(keeps, input.data.data);
        second.next(!io.clear_i & (keeps | (second.q & !input.fire())));
        m.unused(input.bytes);
        m.unused(input.last);
        let first = mux(second.q, kept.q, input.data.data);
        let both = m.wire("both", cat(&[input.data.data, first]));
        let numbers = m.split("numbers", both, uint(16).array(2 * lanes));
        let Some(biases) = output.data.biases else { return };
        m.for_each("gain", lanes, |m, i| {
            // Without pairs `first` is the beat that is here.
            m.connect(output.data.values.at(i), mux(io.pairs_i, numbers.at(i * 2), numbers.at(i)));
            m.connect(biases.at(i), numbers.at(i * 2 + 1));
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().beat(2)
    }
}
