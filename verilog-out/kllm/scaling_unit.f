../modules/stream_fifo_w18_d23_registers.v
../modules/float_convert_fp16_fp32_s2_ieee.v
../modules/float_mul_fp32_s4_ieee.v
../modules/float_from_int_fp32_w40_signed_s2.v
../modules/float_from_int_fp32_w58_signed_s2.v
../modules/float_add_fp32_s4_ieee.v
../modules/float_convert_fp32_fp16_s2_ieee.v
../modules/scaling_unit_c1_d40_o58_v2_m4_a4_apart.v
