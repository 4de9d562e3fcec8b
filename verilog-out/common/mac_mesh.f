../modules/mac_pe_w8_a32.v
../modules/mac_mesh_r16_c16_w8_a32.v
