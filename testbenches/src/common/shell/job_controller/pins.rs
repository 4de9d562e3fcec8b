//! The ports of the controller.

use sim::{In, Out, Sim};

macro_rules! pins {
    ($($name:ident: $kind:ident),* $(,)?) => {
        #[derive(Clone, Copy)]
        pub(super) struct Pins { $(pub $name: $kind),* }
        impl Pins {
            pub fn find(sim: &Sim) -> sim::Result<Self> {
                Ok(Self { $($name: pins!(@find sim $name $kind)),* })
            }
        }
    };
    (@find $sim:ident $name:ident In) => { $sim.input(stringify!($name))? };
    (@find $sim:ident $name:ident Out) => { $sim.output(stringify!($name))? };
}
pins! {
    opcodes_i: In, start_i: In, soft_reset_i: In, soft_reset_busy_o: Out, job_i: In, window_base_i: In, window_limit_i: In,
    timeout_i: In, max_descriptors_i: In, waiting_i: In, answered_i: In, idle_i: In, abort_o: Out, busy_o: Out,
    began_o: Out, done_o: Out, error_o: Out, refused_o: Out, error_code_o: Out, error_where_o: Out, tag_o: Out,
    descriptors_o: Out, fetch_valid_o: Out, fetch_ready_i: In, fetch_address_o: Out, fetch_row_bytes_o: Out,
    fetch_rows_o: Out, fetched_valid_i: In, fetched_ready_o: Out, fetched_data_i: In, fetched_bytes_i: In,
    fetched_row_last_i: In, fetched_last_i: In, fetch_end_valid_i: In, fetch_end_error_i: In, fetch_end_address_i: In,
    write_valid_o: Out, write_ready_i: In, write_address_o: Out, write_row_bytes_o: Out, write_rows_o: Out,
    written_valid_o: Out, written_ready_i: In, written_data_o: Out, write_end_valid_i: In, write_end_error_i: In,
    write_end_address_i: In, operation_valid_o: Out, operation_ready_i: In, operation_opcode_o: Out,
    operation_words_o: Out, operation_end_valid_i: In, operation_end_ready_o: Out,
    operation_end_error_i: In,
}
