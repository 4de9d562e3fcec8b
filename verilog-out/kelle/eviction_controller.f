../modules/ram_128x8.v
../modules/eviction_controller_n128.v
