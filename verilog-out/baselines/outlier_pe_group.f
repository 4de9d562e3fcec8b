../modules/outlier_pe_group_l16_x4_w4_a32.v
