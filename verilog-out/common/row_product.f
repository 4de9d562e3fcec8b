../modules/row_adder_w32.v
../modules/row_product_a18_b11.v
