../modules/crc32_b8.v
