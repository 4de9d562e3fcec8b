../modules/float_fma_fp16_s0.v
../modules/fp16_mac_fp16_fused_s2.v
