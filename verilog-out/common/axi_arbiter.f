../modules/axi_slice_w85.v
../modules/axi_turns_a64_d128_i1_n2.v
../modules/axi_slice_w145.v
../modules/axi_slice_w4.v
../modules/axi_slice_w133.v
../modules/axi_arbiter_a64_d128_i1_n2_o8.v
