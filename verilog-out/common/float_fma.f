../modules/float_fma_fp16_fused_s0_ieee.v
