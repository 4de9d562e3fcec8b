//! The array with two users.

use crate::accelerators::engine::{fork_all, merge_all};
use crate::blocks::kelle::{ArrayResult, ArrayRow, ArrayStep, ReconfigurableArray};
use crate::lang::{About, Block, In, InStream, Module, OutArray, OutStream, bit, parameters, ports, sint};

parameters! {
    /// Elaboration parameters.
    pub struct SharedArray {
        /// The array.
        array: ReconfigurableArray = ReconfigurableArray::default();
    }
}

ports! {
    /// Ports of [`SharedArray`].
    pub struct SharedArrayPorts(p: &SharedArray) {
        /// Drops all that is in the array.
        clear_i: In = bit(),
        /// The array is the first user's; changes only while nothing is in it.
        first_i: In = bit(),
        /// Rows of weights of the first user.
        first_load: InStream<ArrayRow> = p.array.clone(),
        /// Rows of weights of the second user.
        second_load: InStream<ArrayRow> = p.array.clone(),
        /// Steps of the first user.
        first_step: InStream<ArrayStep> = p.array.clone(),
        /// Steps of the second user.
        second_step: InStream<ArrayStep> = p.array.clone(),
        /// Results of the first user.
        first_result: OutStream<ArrayResult> = p.array.clone(),
        /// Results of the second user.
        second_result: OutStream<ArrayResult> = p.array.clone(),
        /// A row of the array has a sum.
        row_valid_o: OutArray = bit().array(p.array.rows),
        /// The sum.
        row_sum_o: OutArray = sint(p.array.accumulator_width).array(p.array.rows),
    }
}

impl Block for SharedArray {
    type Ports = SharedArrayPorts;
    const ABOUT: About = About {
        name: "shared_array",
        summary: "the reconfigurable array, for one of two users at a time",
        contract: "As reconfigurable_array, of the user that first_i names.",
        reference: "Kelle, section 5.2",
    };

    fn build(&self, m: &mut Module, io: &SharedArrayPorts) {
        let array = m.instance("u_array", self.array.clone());
        m.connect(array.clear_i, io.clear_i);
        let first = [io.first_i];
        let loads = [io.first_load.clone(), io.second_load.clone()];
        merge_all(m, ("load_word", &self.array), &first, &array.load, &loads);
        let steps = [io.first_step.clone(), io.second_step.clone()];
        merge_all(m, ("step_word", &self.array), &first, &array.step, &steps);
        let results = [io.first_result.clone(), io.second_result.clone()];
        fork_all(m, "result_word", &first, &array.result, &results);
        m.connect_each("row_valid", io.row_valid_o, array.row_valid_o);
        m.connect_each("row_sum", io.row_sum_o, array.row_sum_o);
    }
}
