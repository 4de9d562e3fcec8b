../modules/float_convert_fp32_fp16_s0_ieee.v
