../modules/float_table_fp16_gelu_erf_s0_ieee.v
