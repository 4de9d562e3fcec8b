../modules/row_adder_w40.v
../modules/row_product_a27_b11_c96817625.v
../modules/row_adder_w24.v
../modules/row_product_a12_b10.v
../modules/power_lane.v
