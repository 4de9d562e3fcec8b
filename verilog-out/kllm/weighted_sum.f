../modules/float_from_int_fp16_w16_s0.v
../modules/float_fma_fp16_fused_s0_ieee.v
../modules/fp16_mac_fp16_fused_s2.v
../modules/weighted_sum_c61440_fp16_fused_s2.v
