../modules/axi_bursts_a64_d128_i1_b16_o8_c4.v
../modules/axi_slots_a64_d128_i1_b16_o8_c4_at_once.v
../modules/ram_d32_w144_g144_inferred.v
../modules/axi_buffer_w144_d32_inferred.v
../modules/axi_write_dma_a64_d128_i1_b16_o8_c4_k32_inferred.v
