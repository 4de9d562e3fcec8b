../modules/systolic_evictor_r32_s4_a5_p4.v
