../modules/stream_width_converter_i128_o512_g128.v
../modules/float_convert_fp16_fp32_s0_ieee.v
../modules/float_mul_fp32_s4_ieee.v
../modules/stream_width_converter_i512_o128_g128.v
../modules/line_merger_a64_d128_i1_l4_c16_n8_f12_d128_k512_o32_r4.v
../modules/token_appender_a64_d128_i1_l4_c16_n8_f12_d128_k512_o32_r4.v
