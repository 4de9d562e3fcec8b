../modules/bit_serial_pe_l4_e5_f10_a15_s8.v
