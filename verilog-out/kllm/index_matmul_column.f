../modules/index_distribution_counter_a4_b4_n16_k4096.v
../modules/concat_unit_a4_b4.v
../modules/float_from_int_fp16_w16_s0.v
../modules/float_fma_fp16_fused_s0_ieee.v
../modules/fp16_mac_fp16_fused_s2.v
../modules/weighted_sum_c16_fp16_fused_s2.v
../modules/float_mul_fp16_s0_ieee.v
../modules/index_matmul_column_a4_b4_n16_k4096_fp16_fused_s2.v
