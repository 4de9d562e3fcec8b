../modules/skew_lines_n16_w8.v
