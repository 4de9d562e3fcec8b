../modules/job_link_w24_o6_t16_p32.v
