../modules/row_adder_w40.v
../modules/row_product_a19_b17.v
../modules/row_normaliser_w36.v
../modules/round_half_w36_e10.v
../modules/share_lane.v
