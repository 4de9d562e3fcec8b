../modules/stream_width_converter_i32_o128_g32.v
../modules/ram_d64_w32_g32_inferred.v
../modules/stream_fifo_w32_d64_memory.v
../modules/token_packer_a64_d128_i1_z4096_o32_k4096_l4.v
