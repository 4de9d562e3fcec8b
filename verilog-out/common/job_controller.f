../modules/job_controller_a64_d128_i1_b16_o8_c4_b128.v
