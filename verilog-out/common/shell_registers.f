../modules/shell_registers_k0.v
