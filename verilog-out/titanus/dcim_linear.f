../modules/stream_fifo_w13_d4_registers.v
../modules/dcim_256x32_w8.v
../modules/dcim_cells_i256_o32_w8_black_box.v
../modules/dcim_macro_x8_i256_o32_w8_black_box.v
../modules/dcim_linear_x8_i256_o32_w8_black_box_r3_c18_l16_d8.v
