../modules/axi_bursts_a64_d128_i1_b16_o8_c4.v
../modules/axi_slots_a64_d128_i1_b16_o8_c4.v
../modules/ram_d128_w129_g129_inferred.v
../modules/axi_buffer_w129_d128_inferred.v
../modules/axi_read_dma_a64_d128_i1_b16_o8_c4_k128_inferred.v
