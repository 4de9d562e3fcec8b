../modules/tender_pe_w4_a32_adder_double.v
