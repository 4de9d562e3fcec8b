../modules/row_normaliser_w40.v
../modules/row_adder_w24.v
../modules/row_product_a12_b10.v
../modules/row_reciprocal_w40.v
