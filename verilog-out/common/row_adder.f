../modules/row_adder_w40.v
