../modules/exponent_pe_w4_e4_a32_double.v
