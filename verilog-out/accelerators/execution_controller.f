../modules/execution_controller_d1024_s2048.v
