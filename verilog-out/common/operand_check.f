../modules/operand_check_a64_r24_n16_s32.v
