../modules/float_sigmoid_fp16_s0_ieee.v
