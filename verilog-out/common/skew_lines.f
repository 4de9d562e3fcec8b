../modules/skew_lines_n16_w8_skew.v
