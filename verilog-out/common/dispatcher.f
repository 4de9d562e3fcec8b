../modules/dispatcher_e2_w24_k96.v
