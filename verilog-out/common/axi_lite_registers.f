../modules/axi_lite_registers_c4_s4_e8_n0.v
