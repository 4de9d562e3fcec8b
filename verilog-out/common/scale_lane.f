../modules/row_adder_w32.v
../modules/row_product_a18_b11.v
../modules/row_adder_w48.v
../modules/row_product_a29_b11.v
../modules/row_normaliser_w40.v
../modules/round_half_w40_e11.v
../modules/scale_lane_gain.v
