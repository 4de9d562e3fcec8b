../modules/float_fma_fp16_fused_s0_ieee.v
../modules/fp16_mac_fp16_fused_s2.v
