../modules/computing_engine_v4_u16_l4_w8_b16.v
