../modules/clustering_unit_b4_l16_binary_pipelined.v
