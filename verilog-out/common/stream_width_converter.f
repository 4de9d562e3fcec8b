../modules/stream_width_converter_i32_o128.v
