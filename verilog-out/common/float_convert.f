../modules/float_convert_fp32_fp16_s0.v
