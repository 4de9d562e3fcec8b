../modules/job_link_w24_o6.v
