../modules/axi_arbiter_a64_d128_i1_n2_o8.v
