//! How a host has jobs done: the ports that `job_controller` and all blocks around it, up to the registers, have in
//! common.

use crate::lang::{In, Module, Out, bit, connect_all, ports, uint};

ports! {
    /// Requests of a host, and the answers to it.
    pub struct JobHostPorts(_p: &()) {
        /// Starts a job; refused, with refused_o, while one runs or the bus is not idle.
        start_i: In = bit(),
        /// Drops the job at any time.
        soft_reset_i: In = bit(),
        /// A soft reset is not done: the bus is not idle.
        soft_reset_busy_o: Out = bit(),
        /// Address of the first descriptor; read with start_i.
        job_i: In = uint(64),
        /// First byte that may be touched; steady while busy.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while busy.
        window_limit_i: In = uint(64),
        /// Cycles that a port of the bus may wait without an answer, 0 for any. A wait that has begun keeps its limit.
        timeout_i: In = uint(32),
        /// Descriptors of a job at most.
        max_descriptors_i: In = uint(32),
        /// For one cycle: a job begins.
        began_o: Out = bit(),
        /// A job runs.
        busy_o: Out = bit(),
        /// For one cycle: the job is done, and all its results are in memory.
        done_o: Out = bit(),
        /// For one cycle: the job ended with an error.
        error_o: Out = bit(),
        /// For one cycle: a start was refused.
        refused_o: Out = bit(),
        /// The first error of the job; valid from error_o up to the next job.
        error_code_o: Out = uint(8),
        /// Address of the descriptor with the error; valid as error_code_o.
        error_where_o: Out = uint(64),
        /// Tag of the descriptor that was completed last, 0 from the start on.
        tag_o: Out = uint(32),
        /// Descriptors that are completed.
        descriptors_o: Out = uint(32),
    }
}

impl JobHostPorts {
    /// Connects the ports of a block to the ports of the part that does its jobs.
    #[track_caller]
    pub fn connect(&self, m: &mut Module, part: &Self) {
        connect_all!(m, part, self, [start_i, soft_reset_i, job_i, window_base_i, window_limit_i]);
        connect_all!(m, part, self, [timeout_i, max_descriptors_i]);
        connect_all!(m, self, part, [soft_reset_busy_o, began_o, busy_o, done_o, error_o, refused_o]);
        connect_all!(m, self, part, [error_code_o, error_where_o, tag_o, descriptors_o]);
    }
}
