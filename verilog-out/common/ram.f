../modules/ram_256x32.v
