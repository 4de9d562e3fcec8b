../modules/row_adder_w24.v
../modules/row_product_a11_b11_square.v
../modules/square_lane.v
