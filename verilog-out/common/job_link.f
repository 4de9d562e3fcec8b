../modules/link_operation_w24_t16_p32.v
../modules/job_link_w24_o6_t16_p32.v
