../modules/mac_pe_w8_a32.v
../modules/mac_mesh_16x16_w8_a32.v
