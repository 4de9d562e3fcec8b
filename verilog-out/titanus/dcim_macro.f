../modules/dcim_cells_i256_o32_w8_registers.v
../modules/dcim_macro_x8_i256_o32_w8_registers.v
