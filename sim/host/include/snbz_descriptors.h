/* Descriptors of jobs, as they lie in memory: little endian, at multiples of 64.
 * Made by `cargo run -p senbazuru-host --example c_header`. Do not edit. */
#ifndef SNBZ_DESCRIPTORS_H
#define SNBZ_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "these structures are little endian"
#endif

/* The first 4 bytes of every descriptor. */
#define SNBZ_MAGIC 0x5a424e53u
/* Version of descriptors. */
#define SNBZ_DESCRIPTOR_VERSION 0x1u
/* The tag is written to memory. */
#define SNBZ_FLAG_TAG 0x1u
/* The operation reads nothing that the operation before it writes. */
#define SNBZ_FLAG_INDEPENDENT 0x2u
/* Address of the descriptor: no multiple of 64, or outside of the window or of the bus. */
#define SNBZ_ERROR_DESCRIPTOR 0x1u
/* The descriptor does not begin with the magic bytes. */
#define SNBZ_ERROR_MAGIC 0x2u
/* The descriptor has another version than the device. */
#define SNBZ_ERROR_VERSION 0x3u
/* There is no such operation. */
#define SNBZ_ERROR_OPCODE 0x4u
/* A flag or a field that must be 0 is not. */
#define SNBZ_ERROR_RESERVED 0x5u
/* Address of the tag: no multiple of 64, or outside of the window. */
#define SNBZ_ERROR_TAG 0x6u
/* The chain is longer than MAX_DESCRIPTORS. */
#define SNBZ_ERROR_CHAIN 0x7u
/* An address or stride of the operation is no multiple of 64. */
#define SNBZ_ERROR_ALIGNMENT 0x8u
/* A size of the operation is 0, does not fit into the buffers, or does not suit a step. */
#define SNBZ_ERROR_SIZE 0x9u
/* An operand or result of the operation lies outside of the window. */
#define SNBZ_ERROR_WINDOW 0xau
/* A subordinate answered a read or write with SLVERR. */
#define SNBZ_ERROR_SLVERR 0xbu
/* Nothing answered at an address. */
#define SNBZ_ERROR_DECERR 0xcu
/* Memory, or an accelerator that a link waits for, did not answer in time. */
#define SNBZ_ERROR_TIMEOUT 0xdu
/* A result of the operation is not exact, and the descriptor demands exact results. */
#define SNBZ_ERROR_OVERFLOW 0xeu
/* A field of the operation has a value that the device does not support. */
#define SNBZ_ERROR_FIELD 0xfu
/* Opcode of vector_top. */
#define SNBZ_VECTOR_OPCODE 0x1u
/* Multiply by scale. */
#define SNBZ_VECTOR_STEP_SCALE 0x1u
/* Add the addends. */
#define SNBZ_VECTOR_STEP_ADD 0x2u
/* Apply the function that FUNCTION names. */
#define SNBZ_VECTOR_STEP_ACTIVATE 0x4u
/* Multiply by the factors. */
#define SNBZ_VECTOR_STEP_MULTIPLY 0x8u
/* Norm the row, as one of SNBZ_VECTOR_NORM_... says. */
#define SNBZ_VECTOR_STEP_NORM 0x10u
/* The norm multiplies by the gains; only with NORM, and not with a softmax. */
#define SNBZ_VECTOR_STEP_GAIN 0x20u
/* Rotate pairs of neighbours by the angles; not with MULTIPLY. */
#define SNBZ_VECTOR_STEP_ROTATE 0x400u
/* In each row of a softmax one more element counts than in the row before. */
#define SNBZ_VECTOR_STEP_CAUSAL 0x800u
/* An overflow is an error. */
#define SNBZ_VECTOR_STEP_EXACT 0x1000u
/* Divide by the root mean square of the row. */
#define SNBZ_VECTOR_NORM_RMS 0x0u
/* Powers of e divided by their sum, over the first elements of the row. */
#define SNBZ_VECTOR_NORM_SOFTMAX 0x40u
/* Distances from the mean divided by the standard deviation of the row. */
#define SNBZ_VECTOR_NORM_LAYER 0x80u
#define SNBZ_VECTOR_FORMAT_FP16 0x0u
#define SNBZ_VECTOR_FORMAT_INT8 0x100u
#define SNBZ_VECTOR_FORMAT_INT4 0x200u
/* Opcode of tender_top. A product of matrices. */
#define SNBZ_TENDER_OPCODE_MATMUL 0x1u
/* Opcode of tender_top. Turns fp16 numbers into integers. */
#define SNBZ_TENDER_OPCODE_PACK 0x2u
/* Opcode of tender_top. Steps on rows: struct snbz_vector_descriptor with this opcode. */
#define SNBZ_TENDER_OPCODE_VECTOR 0x3u
/* Integers have 8 bits, otherwise 4. */
#define SNBZ_TENDER_OPTION_INT8 0x1u
/* The left matrix is not in two's complement. */
#define SNBZ_TENDER_OPTION_A_UNSIGNED 0x2u
/* The right matrix is not in two's complement. */
#define SNBZ_TENDER_OPTION_B_UNSIGNED 0x4u
/* Results are panels of integers, otherwise rows of fp16. */
#define SNBZ_TENDER_OPTION_INTEGERS 0x10u
/* Integers of the results are not in two's complement. */
#define SNBZ_TENDER_OPTION_OUT_UNSIGNED 0x20u
/* Negative numbers become 0. */
#define SNBZ_TENDER_OPTION_RELU 0x40u
/* Each row has its constants, otherwise each column. */
#define SNBZ_TENDER_OPTION_PER_ROW 0x80u
/* Each doubling ends a partial sum, and partial sums are added outside the array; only if CAPS has it. */
#define SNBZ_TENDER_OPTION_EXPLICIT 0x100u
/* An overflow is an error. */
#define SNBZ_TENDER_OPTION_EXACT 0x1000u
/* Opcode of kllm_top. A product of tokens and weights. A product of integers of 8 bits has opcode SNBZ_KLLM_OPCODE_SCORES. */
#define SNBZ_KLLM_OPCODE_MATMUL 0x1u
/* Opcode of kllm_top. Quantizes rows of fp16 numbers to tokens. */
#define SNBZ_KLLM_OPCODE_QUANTIZE 0x4u
/* Opcode of kllm_top. Puts a token into panels of weights. */
#define SNBZ_KLLM_OPCODE_APPEND 0x5u
/* Opcode of kllm_top. Steps on rows: struct snbz_vector_descriptor with this opcode. */
#define SNBZ_KLLM_OPCODE_VECTOR 0x3u
/* Opcode of kllm_top. Integers of 8 bits times weights: struct snbz_kllm_matmul_descriptor. */
#define SNBZ_KLLM_OPCODE_SCORES 0x2u
/* Of a quantizer: indices have 3 bits, otherwise 4. */
#define SNBZ_KLLM_OPTION_THREE_BITS 0x1u
/* Of an append: the token becomes a position of each channel, otherwise a channel. */
#define SNBZ_KLLM_OPTION_POSITION 0x1u
/* An overflow is an error. */
#define SNBZ_KLLM_OPTION_EXACT 0x1000u
/* Opcode of titanus_core. Loads weights or constants from memory. */
#define SNBZ_TITANUS_OPCODE_LOAD 0x1u
/* Opcode of titanus_core. Products of rows and a matrix on the chip. */
#define SNBZ_TITANUS_OPCODE_PRODUCT 0x2u
/* Opcode of titanus_core. Appends tokens to the cache. */
#define SNBZ_TITANUS_OPCODE_APPEND 0x4u
/* Opcode of titanus_core. Restores the tokens of the cache. */
#define SNBZ_TITANUS_OPCODE_RESTORE 0x5u
/* Opcode of titanus_core. Takes tokens of the core before this one, and gives tokens to the next core. */
#define SNBZ_TITANUS_OPCODE_LINK 0x6u
/* Opcode of titanus_core. Steps on rows: struct snbz_vector_descriptor with this opcode. */
#define SNBZ_TITANUS_OPCODE_VECTOR 0x3u
/* Of a load: constants, not weights. */
#define SNBZ_TITANUS_OPTION_CONSTANTS 0x1u
/* Of a product: results are int8, otherwise fp16. */
#define SNBZ_TITANUS_OPTION_INTEGERS 0x1u
/* Of a product: negative results are 0. */
#define SNBZ_TITANUS_OPTION_RELU 0x2u
/* Of a product: all results have the first constant. */
#define SNBZ_TITANUS_OPTION_ONE_CONSTANT 0x4u
/* Of an append: the pruned tokens become the context, or follow its tokens. */
#define SNBZ_TITANUS_OPTION_KEEP 0x1u
/* Of a restore: tokens go to memory, otherwise to the context. */
#define SNBZ_TITANUS_OPTION_ROWS 0x1u
/* Of a link: the last token that is taken is marked as last, the others are not. */
#define SNBZ_TITANUS_OPTION_LAST_AWAITED 0x1u
/* Of a link: the last token that is given is marked as last. */
#define SNBZ_TITANUS_OPTION_LAST_GIVEN 0x2u
/* An overflow is an error. */
#define SNBZ_TITANUS_OPTION_EXACT 0x1000u
/* A product with weights. */
#define SNBZ_TITANUS_MATRIX_STORE 0x0u
/* A product with keys of the context. */
#define SNBZ_TITANUS_MATRIX_KEYS 0x1u
/* A product with values of the context. */
#define SNBZ_TITANUS_MATRIX_VALUES 0x2u
/* Opcode of kelle_top. Rows of fp16 times a matrix of weights. */
#define SNBZ_KELLE_OPCODE_LINEAR 0x1u
/* Opcode of kelle_top. Tokens enter a head, and their queries attend to it. */
#define SNBZ_KELLE_OPCODE_ATTENTION 0x2u
/* Opcode of kelle_top. Empties heads. */
#define SNBZ_KELLE_OPCODE_CLEAR 0x4u
/* Opcode of kelle_top. Sets how often rows of the cache are refreshed. */
#define SNBZ_KELLE_OPCODE_REFRESH 0x5u
/* Opcode of kelle_top. Writes cached tokens to memory. */
#define SNBZ_KELLE_OPCODE_SAVE 0x6u
/* Opcode of kelle_top. Gives a token a slot: its key and value are recomputed instead of cached. */
#define SNBZ_KELLE_OPCODE_RECOMPUTE 0x8u
/* Opcode of kelle_top. Steps on rows: struct snbz_vector_descriptor with this opcode. */
#define SNBZ_KELLE_OPCODE_VECTOR 0x3u
/* Of attention: values are read after the scores have begun. */
#define SNBZ_KELLE_OPTION_LATE 0x2u
/* A result that is not exact is an error. */
#define SNBZ_KELLE_OPTION_EXACT 0x1000u

/* Descriptor of vector_top, and of steps on rows in the other accelerators. */
struct snbz_vector_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Rows, 1 to 65535. */
  uint32_t rows;
  /* Elements of a row, 1 to CAPS.lanes * CAPS.max_beats. */
  uint32_t columns;
  /* Bits SNBZ_VECTOR_STEP_..., one of SNBZ_VECTOR_NORM_... and one of SNBZ_VECTOR_FORMAT_...; others 0. */
  uint32_t steps;
  /* Factor of all elements, fp16. */
  uint16_t scale;
  /* Factor of the results before they become integers, fp16. */
  uint16_t quantizer;
  /* Addend to the mean square or the variance, in units of 2^-48, below 2^40. */
  uint64_t epsilon;
  /* Bytes from row to row of x. */
  uint32_t x_stride;
  /* Bytes from row to row of the addends. */
  uint32_t addend_stride;
  /* Rows of fp16. */
  uint64_t x_address;
  /* The addends: rows of fp16. */
  uint64_t addend_address;
  /* The factors: rows of fp16. Or angles: cosine and sine of each pair. */
  uint64_t factor_address;
  /* Bytes from row to row of the factors or angles. */
  uint32_t factor_stride;
  /* Bytes from row to row of the results. */
  uint32_t out_stride;
  /* Gains of the norm: one row of fp16 for all; of a layer norm one row of pairs of gain and bias. */
  uint64_t gain_address;
  /* Where the results go. */
  uint64_t out_address;
  /* Elements that count in a softmax, 1 to columns; else 0. */
  uint32_t length;
  /* 0. */
  uint32_t zero_0;
  /* 0. */
  uint64_t zero_1;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_vector_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_vector_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_vector_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_vector_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_vector_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_vector_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_vector_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_vector_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_vector_descriptor, rows) == 32, "rows");
_Static_assert(offsetof(struct snbz_vector_descriptor, columns) == 36, "columns");
_Static_assert(offsetof(struct snbz_vector_descriptor, steps) == 40, "steps");
_Static_assert(offsetof(struct snbz_vector_descriptor, scale) == 44, "scale");
_Static_assert(offsetof(struct snbz_vector_descriptor, quantizer) == 46, "quantizer");
_Static_assert(offsetof(struct snbz_vector_descriptor, epsilon) == 48, "epsilon");
_Static_assert(offsetof(struct snbz_vector_descriptor, x_stride) == 56, "x_stride");
_Static_assert(offsetof(struct snbz_vector_descriptor, addend_stride) == 60, "addend_stride");
_Static_assert(offsetof(struct snbz_vector_descriptor, x_address) == 64, "x_address");
_Static_assert(offsetof(struct snbz_vector_descriptor, addend_address) == 72, "addend_address");
_Static_assert(offsetof(struct snbz_vector_descriptor, factor_address) == 80, "factor_address");
_Static_assert(offsetof(struct snbz_vector_descriptor, factor_stride) == 88, "factor_stride");
_Static_assert(offsetof(struct snbz_vector_descriptor, out_stride) == 92, "out_stride");
_Static_assert(offsetof(struct snbz_vector_descriptor, gain_address) == 96, "gain_address");
_Static_assert(offsetof(struct snbz_vector_descriptor, out_address) == 104, "out_address");
_Static_assert(offsetof(struct snbz_vector_descriptor, length) == 112, "length");
_Static_assert(offsetof(struct snbz_vector_descriptor, zero_0) == 116, "zero_0");
_Static_assert(offsetof(struct snbz_vector_descriptor, zero_1) == 120, "zero_1");
_Static_assert(sizeof(struct snbz_vector_descriptor) == 128, "snbz_vector_descriptor");
#endif

/* Descriptor of tender_top. A product of matrices. */
struct snbz_tender_matmul_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Rows of the left matrix and of the results, 1 to 65535. */
  uint32_t rows;
  /* Columns of the right matrix and of the results, 1 to 65535. */
  uint32_t columns;
  /* Channels: columns of the left and rows of the right matrix, 1 to DEPTH. */
  uint32_t channels;
  /* Entries of the table, 1 to STEPS. */
  uint32_t steps;
  /* Bits SNBZ_TENDER_OPTION_...; others 0. */
  uint32_t options;
  /* 0. */
  uint32_t zero_0;
  /* Bytes from panel to panel of the left matrix. */
  uint32_t a_stride;
  /* Bytes from panel to panel of the right matrix. */
  uint32_t b_stride;
  /* Left matrix: panels of rows. */
  uint64_t a_address;
  /* Right matrix: panels of columns. */
  uint64_t b_address;
  /* The order of channels, and where sums are doubled: entries of 2 bytes. */
  uint64_t table_address;
  /* Constants of each column or row: records of 16 bytes. */
  uint64_t constants_address;
  /* Bytes from row to row or panel to panel of the results. */
  uint32_t out_stride;
  /* 0. */
  uint32_t zero_1;
  /* Where the results go. */
  uint64_t out_address;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, rows) == 32, "rows");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, columns) == 36, "columns");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, channels) == 40, "channels");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, steps) == 44, "steps");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, options) == 48, "options");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, zero_0) == 52, "zero_0");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, a_stride) == 56, "a_stride");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, b_stride) == 60, "b_stride");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, a_address) == 64, "a_address");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, b_address) == 72, "b_address");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, table_address) == 80, "table_address");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, constants_address) == 88, "constants_address");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, out_stride) == 96, "out_stride");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, zero_1) == 100, "zero_1");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, out_address) == 104, "out_address");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, zero_2) == 112, "zero_2");
_Static_assert(offsetof(struct snbz_tender_matmul_descriptor, zero_3) == 120, "zero_3");
_Static_assert(sizeof(struct snbz_tender_matmul_descriptor) == 128, "snbz_tender_matmul_descriptor");
#endif

/* Descriptor of tender_top. Turns fp16 numbers into integers. */
struct snbz_tender_pack_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Rows, 1 to 65535. */
  uint32_t rows;
  /* Elements of a row, 1 to 65535. */
  uint32_t columns;
  /* 0. */
  uint64_t zero_0;
  /* Bits SNBZ_TENDER_OPTION_...: INT8, OUT_UNSIGNED, RELU, EXACT; others 0. */
  uint32_t options;
  /* 0. */
  uint32_t zero_1;
  /* Bytes from row to row of x. */
  uint32_t x_stride;
  /* 0. */
  uint32_t zero_2;
  /* Rows of fp16. */
  uint64_t x_address;
  /* 0. */
  uint64_t zero_3;
  /* 0. */
  uint64_t zero_4;
  /* Constants of each column: records of 16 bytes. */
  uint64_t constants_address;
  /* Bytes from panel to panel of the results. */
  uint32_t out_stride;
  /* 0. */
  uint32_t zero_5;
  /* Where the results go. */
  uint64_t out_address;
  /* 0. */
  uint64_t zero_6;
  /* 0. */
  uint64_t zero_7;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, rows) == 32, "rows");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, columns) == 36, "columns");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, zero_0) == 40, "zero_0");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, options) == 48, "options");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, zero_1) == 52, "zero_1");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, x_stride) == 56, "x_stride");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, zero_2) == 60, "zero_2");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, x_address) == 64, "x_address");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, zero_3) == 72, "zero_3");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, zero_4) == 80, "zero_4");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, constants_address) == 88, "constants_address");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, out_stride) == 96, "out_stride");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, zero_5) == 100, "zero_5");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, out_address) == 104, "out_address");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, zero_6) == 112, "zero_6");
_Static_assert(offsetof(struct snbz_tender_pack_descriptor, zero_7) == 120, "zero_7");
_Static_assert(sizeof(struct snbz_tender_pack_descriptor) == 128, "snbz_tender_pack_descriptor");
#endif

/* Descriptor of kllm_top. A product of tokens and weights. A product of integers of 8 bits has opcode SNBZ_KLLM_OPCODE_SCORES. */
struct snbz_kllm_matmul_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Tokens, 1 to 65535. */
  uint32_t tokens;
  /* Channels: results of a token, 1 to 65535. */
  uint32_t channels;
  /* Positions of a token, 1 to KMAX. */
  uint32_t inner;
  /* Bits SNBZ_KLLM_OPTION_...: EXACT; others 0. */
  uint32_t options;
  /* Bit 0: the addends are added; others 0. */
  uint32_t add;
  /* Bytes from token to token. */
  uint32_t token_stride;
  /* Bytes from panel to panel. */
  uint32_t panel_stride;
  /* Bytes from row to row of the results. */
  uint32_t out_stride;
  /* The tokens. */
  uint64_t token_address;
  /* Weights: panels of channels. */
  uint64_t panel_address;
  /* Constants of each channel: records of 8 bytes. */
  uint64_t constants_address;
  /* The codebook. */
  uint64_t codebook_address;
  /* Where the results go: rows of fp16. */
  uint64_t out_address;
  /* The addends: rows of fp16. */
  uint64_t addend_address;
  /* Bytes from row to row of the addends. */
  uint32_t addend_stride;
  /* Outliers that a token has room for, up to twice the number in ORIZURU; of integers 0. */
  uint32_t outliers;
  /* 0. */
  uint64_t zero_0;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, tokens) == 32, "tokens");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, channels) == 36, "channels");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, inner) == 40, "inner");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, options) == 44, "options");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, add) == 48, "add");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, token_stride) == 52, "token_stride");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, panel_stride) == 56, "panel_stride");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, out_stride) == 60, "out_stride");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, token_address) == 64, "token_address");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, panel_address) == 72, "panel_address");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, constants_address) == 80, "constants_address");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, codebook_address) == 88, "codebook_address");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, out_address) == 96, "out_address");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, addend_address) == 104, "addend_address");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, addend_stride) == 112, "addend_stride");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, outliers) == 116, "outliers");
_Static_assert(offsetof(struct snbz_kllm_matmul_descriptor, zero_0) == 120, "zero_0");
_Static_assert(sizeof(struct snbz_kllm_matmul_descriptor) == 128, "snbz_kllm_matmul_descriptor");
#endif

/* Descriptor of kllm_top. Quantizes rows of fp16 numbers to tokens. */
struct snbz_kllm_quantize_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Rows, 1 to 65535. */
  uint32_t rows;
  /* Elements of a row, 1 to KMAX. */
  uint32_t columns;
  /* Bits SNBZ_KLLM_OPTION_...: THREE_BITS, EXACT; others 0. */
  uint32_t options;
  /* How many of the largest elements of a row are outliers. */
  uint16_t largest;
  /* How many of the smallest elements of a row are outliers. */
  uint16_t smallest;
  /* Bytes from row to row of x. */
  uint32_t x_stride;
  /* Bytes from token to token. */
  uint32_t out_stride;
  /* 0. */
  uint64_t zero_0;
  /* Rows of fp16. */
  uint64_t x_address;
  /* The codebook. */
  uint64_t codebook_address;
  /* Where the tokens go. */
  uint64_t out_address;
  /* 0. */
  uint64_t zero_1;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
  /* 0. */
  uint64_t zero_4;
  /* 0. */
  uint64_t zero_5;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, rows) == 32, "rows");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, columns) == 36, "columns");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, options) == 40, "options");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, largest) == 44, "largest");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, smallest) == 46, "smallest");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, x_stride) == 48, "x_stride");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, out_stride) == 52, "out_stride");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, zero_0) == 56, "zero_0");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, x_address) == 64, "x_address");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, codebook_address) == 72, "codebook_address");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, out_address) == 80, "out_address");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, zero_1) == 88, "zero_1");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, zero_2) == 96, "zero_2");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, zero_3) == 104, "zero_3");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, zero_4) == 112, "zero_4");
_Static_assert(offsetof(struct snbz_kllm_quantize_descriptor, zero_5) == 120, "zero_5");
_Static_assert(sizeof(struct snbz_kllm_quantize_descriptor) == 128, "snbz_kllm_quantize_descriptor");
#endif

/* Descriptor of kllm_top. Puts a token into panels of weights. */
struct snbz_kllm_append_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* The channel of its panel, or the position of each channel, that the token becomes. */
  uint32_t number;
  /* Elements of the token, 1 to KMAX. */
  uint32_t elements;
  /* Bit SNBZ_KLLM_OPTION_POSITION; others 0. */
  uint32_t options;
  /* 0. */
  uint32_t zero_0;
  /* Bytes from panel to panel; of a channel 0. */
  uint32_t panel_stride;
  /* 0. */
  uint32_t zero_1;
  /* Factor that turns the token's scale into the first constant of a channel, fp32; of a position 0. */
  uint32_t dense_factor;
  /* Factor that turns the token's scale into the second constant of a channel, fp32; of a position 0. */
  uint32_t outlier_factor;
  /* The token. */
  uint64_t token_address;
  /* The panels; of a channel its own panel. */
  uint64_t panel_address;
  /* Constants of the channel's panel, or the row of scales. */
  uint64_t scales_address;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
  /* 0. */
  uint64_t zero_4;
  /* 0. */
  uint64_t zero_5;
  /* 0. */
  uint64_t zero_6;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, number) == 32, "number");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, elements) == 36, "elements");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, options) == 40, "options");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, zero_0) == 44, "zero_0");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, panel_stride) == 48, "panel_stride");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, zero_1) == 52, "zero_1");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, dense_factor) == 56, "dense_factor");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, outlier_factor) == 60, "outlier_factor");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, token_address) == 64, "token_address");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, panel_address) == 72, "panel_address");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, scales_address) == 80, "scales_address");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, zero_2) == 88, "zero_2");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, zero_3) == 96, "zero_3");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, zero_4) == 104, "zero_4");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, zero_5) == 112, "zero_5");
_Static_assert(offsetof(struct snbz_kllm_append_descriptor, zero_6) == 120, "zero_6");
_Static_assert(sizeof(struct snbz_kllm_append_descriptor) == 128, "snbz_kllm_append_descriptor");
#endif

/* Descriptor of titanus_core. Loads weights or constants from memory. */
struct snbz_titanus_load_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Rows: inputs of the matrix; of constants 1. */
  uint32_t rows;
  /* Columns: outputs of the matrix, or how many constants. */
  uint32_t columns;
  /* The first constant; of weights 0. */
  uint32_t constant;
  /* Bit SNBZ_TITANUS_OPTION_CONSTANTS; others 0. */
  uint32_t options;
  /* First row of macros; of constants 0. */
  uint16_t first_row;
  /* First column of macros; of constants 0. */
  uint16_t first_column;
  /* Bytes from row to row. */
  uint32_t stride;
  /* 0. */
  uint64_t zero_0;
  /* Rows of int8, or records of constants. */
  uint64_t address;
  /* 0. */
  uint64_t zero_1;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
  /* 0. */
  uint64_t zero_4;
  /* 0. */
  uint64_t zero_5;
  /* 0. */
  uint64_t zero_6;
  /* 0. */
  uint64_t zero_7;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, rows) == 32, "rows");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, columns) == 36, "columns");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, constant) == 40, "constant");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, options) == 44, "options");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, first_row) == 48, "first_row");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, first_column) == 50, "first_column");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, stride) == 52, "stride");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, zero_0) == 56, "zero_0");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, address) == 64, "address");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, zero_1) == 72, "zero_1");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, zero_2) == 80, "zero_2");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, zero_3) == 88, "zero_3");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, zero_4) == 96, "zero_4");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, zero_5) == 104, "zero_5");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, zero_6) == 112, "zero_6");
_Static_assert(offsetof(struct snbz_titanus_load_descriptor, zero_7) == 120, "zero_7");
_Static_assert(sizeof(struct snbz_titanus_load_descriptor) == 128, "snbz_titanus_load_descriptor");
#endif

/* Descriptor of titanus_core. Products of rows and a matrix on the chip. */
struct snbz_titanus_product_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Rows of x, 1 to 65535. */
  uint32_t rows;
  /* Elements of a row of x. */
  uint32_t inner;
  /* Results of a row. */
  uint32_t columns;
  /* Bits SNBZ_TITANUS_OPTION_...: INTEGERS, RELU, ONE_CONSTANT, EXACT; others 0. */
  uint32_t options;
  /* First row of macros; of keys and values the first tile of the head. */
  uint16_t first_row;
  /* First column of macros; of keys and values 0. */
  uint16_t first_column;
  /* Bytes from row to row of x. */
  uint32_t x_stride;
  /* Bytes from row to row of the results. */
  uint32_t out_stride;
  /* The first constant. */
  uint32_t constant;
  /* Rows of int8; for values of the context rows of fp16. */
  uint64_t x_address;
  /* Where the results go: rows of fp16 or int8. */
  uint64_t out_address;
  /* The matrix: 0 weights, 1 keys, 2 values. */
  uint32_t matrix;
  /* 0. */
  uint32_t zero_0;
  /* 0. */
  uint64_t zero_1;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
  /* 0. */
  uint64_t zero_4;
  /* 0. */
  uint64_t zero_5;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, rows) == 32, "rows");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, inner) == 36, "inner");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, columns) == 40, "columns");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, options) == 44, "options");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, first_row) == 48, "first_row");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, first_column) == 50, "first_column");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, x_stride) == 52, "x_stride");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, out_stride) == 56, "out_stride");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, constant) == 60, "constant");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, x_address) == 64, "x_address");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, out_address) == 72, "out_address");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, matrix) == 80, "matrix");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, zero_0) == 84, "zero_0");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, zero_1) == 88, "zero_1");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, zero_2) == 96, "zero_2");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, zero_3) == 104, "zero_3");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, zero_4) == 112, "zero_4");
_Static_assert(offsetof(struct snbz_titanus_product_descriptor, zero_5) == 120, "zero_5");
_Static_assert(sizeof(struct snbz_titanus_product_descriptor) == 128, "snbz_titanus_product_descriptor");
#endif

/* Descriptor of titanus_core. Appends tokens to the cache. */
struct snbz_titanus_append_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Tokens, 1 to 65535. */
  uint32_t tokens;
  /* Channels of a token. */
  uint32_t channels;
  /* Tokens that are in the cache already; 0 begins a new cache. */
  uint32_t position;
  /* Bits SNBZ_TITANUS_OPTION_...: KEEP, EXACT; others 0. */
  uint32_t options;
  /* Tokens of this and later appends that give each channel its first level; 0 unless position is 0. */
  uint16_t prefill;
  /* Lines of an area, 64 bytes each. */
  uint16_t lines;
  /* Pruning threshold of keys; 0 unless position is 0. */
  uint8_t key_threshold;
  /* Pruning threshold of values; 0 unless position is 0. */
  uint8_t value_threshold;
  /* Width of quantized keys, 2 to 8; 0 unless position is 0. */
  uint8_t key_bits;
  /* Width of quantized values, 2 to 8; 0 unless position is 0. */
  uint8_t value_bits;
  /* Bytes from row to row of the keys. */
  uint32_t key_stride;
  /* Bytes from row to row of the values. */
  uint32_t value_stride;
  /* Keys: rows of int8. */
  uint64_t key_address;
  /* Values: rows of int8. */
  uint64_t value_address;
  /* Where the stream of keys is. */
  uint64_t key_area;
  /* Where the stream of values is. */
  uint64_t value_area;
  /* 0. */
  uint64_t zero_0;
  /* 0. */
  uint64_t zero_1;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, tokens) == 32, "tokens");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, channels) == 36, "channels");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, position) == 40, "position");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, options) == 44, "options");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, prefill) == 48, "prefill");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, lines) == 50, "lines");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, key_threshold) == 52, "key_threshold");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, value_threshold) == 53, "value_threshold");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, key_bits) == 54, "key_bits");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, value_bits) == 55, "value_bits");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, key_stride) == 56, "key_stride");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, value_stride) == 60, "value_stride");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, key_address) == 64, "key_address");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, value_address) == 72, "value_address");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, key_area) == 80, "key_area");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, value_area) == 88, "value_area");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, zero_0) == 96, "zero_0");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, zero_1) == 104, "zero_1");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, zero_2) == 112, "zero_2");
_Static_assert(offsetof(struct snbz_titanus_append_descriptor, zero_3) == 120, "zero_3");
_Static_assert(sizeof(struct snbz_titanus_append_descriptor) == 128, "snbz_titanus_append_descriptor");
#endif

/* Descriptor of titanus_core. Restores the tokens of the cache. */
struct snbz_titanus_restore_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Tokens of the cache. */
  uint32_t tokens;
  /* Channels of a token. */
  uint32_t channels;
  /* 0. */
  uint32_t zero_0;
  /* Bit SNBZ_TITANUS_OPTION_ROWS; others 0. */
  uint32_t options;
  /* 0. */
  uint16_t zero_1;
  /* Lines of an area, 64 bytes each. */
  uint16_t lines;
  /* 0. */
  uint32_t zero_2;
  /* Bytes from row to row of the keys; without ROWS 0. */
  uint32_t key_stride;
  /* Bytes from row to row of the values; without ROWS 0. */
  uint32_t value_stride;
  /* Where keys go: rows of int8; without ROWS 0. */
  uint64_t key_address;
  /* Where values go: rows of int8; without ROWS 0. */
  uint64_t value_address;
  /* Where the stream of keys is. */
  uint64_t key_area;
  /* Where the stream of values is. */
  uint64_t value_area;
  /* 0. */
  uint64_t zero_3;
  /* 0. */
  uint64_t zero_4;
  /* 0. */
  uint64_t zero_5;
  /* 0. */
  uint64_t zero_6;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, tokens) == 32, "tokens");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, channels) == 36, "channels");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, zero_0) == 40, "zero_0");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, options) == 44, "options");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, zero_1) == 48, "zero_1");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, lines) == 50, "lines");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, zero_2) == 52, "zero_2");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, key_stride) == 56, "key_stride");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, value_stride) == 60, "value_stride");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, key_address) == 64, "key_address");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, value_address) == 72, "value_address");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, key_area) == 80, "key_area");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, value_area) == 88, "value_area");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, zero_3) == 96, "zero_3");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, zero_4) == 104, "zero_4");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, zero_5) == 112, "zero_5");
_Static_assert(offsetof(struct snbz_titanus_restore_descriptor, zero_6) == 120, "zero_6");
_Static_assert(sizeof(struct snbz_titanus_restore_descriptor) == 128, "snbz_titanus_restore_descriptor");
#endif

/* Descriptor of titanus_core. Takes tokens of the core before this one, and gives tokens to the next core. */
struct snbz_titanus_link_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Tokens to take, 0 to 65535. */
  uint32_t awaited;
  /* Tokens to give afterwards, 0 to 65535; not both 0. */
  uint32_t given;
  /* Cycles to wait for each token at most; 0 for as many as TIMEOUT says. */
  uint32_t patience;
  /* Bits SNBZ_TITANUS_OPTION_...: LAST_AWAITED, LAST_GIVEN; others 0. */
  uint32_t options;
  /* 0. */
  uint64_t zero_0;
  /* 0. */
  uint64_t zero_1;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
  /* 0. */
  uint64_t zero_4;
  /* 0. */
  uint64_t zero_5;
  /* 0. */
  uint64_t zero_6;
  /* 0. */
  uint64_t zero_7;
  /* 0. */
  uint64_t zero_8;
  /* 0. */
  uint64_t zero_9;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, awaited) == 32, "awaited");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, given) == 36, "given");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, patience) == 40, "patience");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, options) == 44, "options");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, zero_0) == 48, "zero_0");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, zero_1) == 56, "zero_1");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, zero_2) == 64, "zero_2");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, zero_3) == 72, "zero_3");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, zero_4) == 80, "zero_4");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, zero_5) == 88, "zero_5");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, zero_6) == 96, "zero_6");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, zero_7) == 104, "zero_7");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, zero_8) == 112, "zero_8");
_Static_assert(offsetof(struct snbz_titanus_link_descriptor, zero_9) == 120, "zero_9");
_Static_assert(sizeof(struct snbz_titanus_link_descriptor) == 128, "snbz_titanus_link_descriptor");
#endif

/* Descriptor of kelle_top. Rows of fp16 times a matrix of weights. */
struct snbz_kelle_linear_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Rows, 1 to TOKENS of LINEAR. */
  uint32_t rows;
  /* Columns of the results, 1 to 65535. */
  uint32_t columns;
  /* Elements of a row of x, 1 to INNER of LINEAR. */
  uint32_t channels;
  /* Bit SNBZ_KELLE_OPTION_EXACT; others 0. */
  uint32_t options;
  /* Factor that turns an element into an integer of 16 bits, fp32. */
  uint32_t quantizer;
  /* Bytes from row to row of x. */
  uint32_t x_stride;
  /* Bytes from panel to panel. */
  uint32_t panel_stride;
  /* Bytes from row to row of the results. */
  uint32_t out_stride;
  /* Rows of fp16. */
  uint64_t x_address;
  /* Weights: panels of columns. */
  uint64_t panel_address;
  /* Scale and bias of each column: two numbers of fp32. */
  uint64_t constants_address;
  /* Where the results go: rows of fp16. */
  uint64_t out_address;
  /* 0. */
  uint64_t zero_0;
  /* 0. */
  uint64_t zero_1;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, rows) == 32, "rows");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, columns) == 36, "columns");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, channels) == 40, "channels");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, options) == 44, "options");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, quantizer) == 48, "quantizer");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, x_stride) == 52, "x_stride");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, panel_stride) == 56, "panel_stride");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, out_stride) == 60, "out_stride");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, x_address) == 64, "x_address");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, panel_address) == 72, "panel_address");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, constants_address) == 80, "constants_address");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, out_address) == 88, "out_address");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, zero_0) == 96, "zero_0");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, zero_1) == 104, "zero_1");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, zero_2) == 112, "zero_2");
_Static_assert(offsetof(struct snbz_kelle_linear_descriptor, zero_3) == 120, "zero_3");
_Static_assert(sizeof(struct snbz_kelle_linear_descriptor) == 128, "snbz_kelle_linear_descriptor");
#endif

/* Descriptor of kelle_top. Tokens enter a head, and their queries attend to it. */
struct snbz_kelle_attention_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* The head, below HEADS of HEADS. */
  uint32_t head;
  /* Tokens, 1 to 65535. */
  uint32_t tokens;
  /* Query heads of the head, 1 to GROUP of VECTORS. */
  uint32_t group;
  /* Elements of a vector: a multiple of COLUMNS of CAPS, up to WIDTH of VECTORS. */
  uint32_t elements;
  /* Bits SNBZ_KELLE_OPTION_EXACT and SNBZ_KELLE_OPTION_LATE; others 0. */
  uint32_t options;
  /* Tokens that the head keeps, 1 to SLOTS of HEADS. */
  uint16_t budget;
  /* First tokens that stay. */
  uint16_t sink;
  /* Most recent tokens that stay beside the new one; SINK and WINDOW together are below BUDGET. */
  uint16_t window;
  /* Bits that a product of query and key loses before it counts as importance, 0 to 47. */
  uint8_t shift;
  /* Slots whose tokens are recomputed, up to RECOMPUTE of SCORES; 0 with late values. As many rows of keys and of values precede the rows of the first token. */
  uint8_t again;
  /* Factor that turns an element of a query into an integer of 16 bits, fp32. */
  uint32_t query_quantizer;
  /* Factor of an element of a key. */
  uint32_t key_quantizer;
  /* Factor of an element of a value. */
  uint32_t value_quantizer;
  /* Factor that turns a product of integers into a score, fp32. */
  uint32_t score_scale;
  /* Factor that turns a sum of values into a result, fp32. The weights of the sum are in units of 2^-15. */
  uint32_t result_scale;
  /* Bytes from row to row of the queries. */
  uint32_t query_stride;
  /* Bytes from row to row of the keys. */
  uint32_t key_stride;
  /* Bytes from row to row of the values. */
  uint32_t value_stride;
  /* Bytes from row to row of the results. */
  uint32_t out_stride;
  /* Rows of fp16: of each token the queries of all query heads. */
  uint64_t query_address;
  /* Rows of fp16: a key for each token. */
  uint64_t key_address;
  /* Rows of fp16: a value for each token. */
  uint64_t value_address;
  /* Where the results go, in the layout of the queries. They may overwrite the queries. */
  uint64_t out_address;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, head) == 32, "head");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, tokens) == 36, "tokens");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, group) == 40, "group");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, elements) == 44, "elements");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, options) == 48, "options");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, budget) == 52, "budget");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, sink) == 54, "sink");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, window) == 56, "window");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, shift) == 58, "shift");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, again) == 59, "again");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, query_quantizer) == 60, "query_quantizer");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, key_quantizer) == 64, "key_quantizer");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, value_quantizer) == 68, "value_quantizer");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, score_scale) == 72, "score_scale");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, result_scale) == 76, "result_scale");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, query_stride) == 80, "query_stride");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, key_stride) == 84, "key_stride");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, value_stride) == 88, "value_stride");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, out_stride) == 92, "out_stride");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, query_address) == 96, "query_address");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, key_address) == 104, "key_address");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, value_address) == 112, "value_address");
_Static_assert(offsetof(struct snbz_kelle_attention_descriptor, out_address) == 120, "out_address");
_Static_assert(sizeof(struct snbz_kelle_attention_descriptor) == 128, "snbz_kelle_attention_descriptor");
#endif

/* Descriptor of kelle_top. Empties heads. */
struct snbz_kelle_clear_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* The first head. */
  uint32_t first;
  /* How many heads, 1 or more. All of them are below HEADS of HEADS. */
  uint32_t heads;
  /* 0. */
  uint64_t zero_0;
  /* 0. */
  uint64_t zero_1;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
  /* 0. */
  uint64_t zero_4;
  /* 0. */
  uint64_t zero_5;
  /* 0. */
  uint64_t zero_6;
  /* 0. */
  uint64_t zero_7;
  /* 0. */
  uint64_t zero_8;
  /* 0. */
  uint64_t zero_9;
  /* 0. */
  uint64_t zero_10;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, first) == 32, "first");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, heads) == 36, "heads");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, zero_0) == 40, "zero_0");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, zero_1) == 48, "zero_1");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, zero_2) == 56, "zero_2");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, zero_3) == 64, "zero_3");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, zero_4) == 72, "zero_4");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, zero_5) == 80, "zero_5");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, zero_6) == 88, "zero_6");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, zero_7) == 96, "zero_7");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, zero_8) == 104, "zero_8");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, zero_9) == 112, "zero_9");
_Static_assert(offsetof(struct snbz_kelle_clear_descriptor, zero_10) == 120, "zero_10");
_Static_assert(sizeof(struct snbz_kelle_clear_descriptor) == 128, "snbz_kelle_clear_descriptor");
#endif

/* Descriptor of kelle_top. Sets how often rows of the cache are refreshed. */
struct snbz_kelle_refresh_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* Lowest high importance. */
  uint32_t threshold;
  /* Cycles from refresh to refresh of the high bytes of tokens with high importance. */
  uint32_t high_msb;
  /* Cycles from refresh to refresh of their low bytes. */
  uint32_t high_lsb;
  /* Cycles from refresh to refresh of the high bytes of all other tokens. */
  uint32_t low_msb;
  /* Cycles from refresh to refresh of their low bytes. */
  uint32_t low_lsb;
  /* 0. */
  uint32_t zero_0;
  /* 0. */
  uint64_t zero_1;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
  /* 0. */
  uint64_t zero_4;
  /* 0. */
  uint64_t zero_5;
  /* 0. */
  uint64_t zero_6;
  /* 0. */
  uint64_t zero_7;
  /* 0. */
  uint64_t zero_8;
  /* 0. */
  uint64_t zero_9;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, threshold) == 32, "threshold");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, high_msb) == 36, "high_msb");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, high_lsb) == 40, "high_lsb");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, low_msb) == 44, "low_msb");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, low_lsb) == 48, "low_lsb");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, zero_0) == 52, "zero_0");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, zero_1) == 56, "zero_1");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, zero_2) == 64, "zero_2");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, zero_3) == 72, "zero_3");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, zero_4) == 80, "zero_4");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, zero_5) == 88, "zero_5");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, zero_6) == 96, "zero_6");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, zero_7) == 104, "zero_7");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, zero_8) == 112, "zero_8");
_Static_assert(offsetof(struct snbz_kelle_refresh_descriptor, zero_9) == 120, "zero_9");
_Static_assert(sizeof(struct snbz_kelle_refresh_descriptor) == 128, "snbz_kelle_refresh_descriptor");
#endif

/* Descriptor of kelle_top. Writes cached tokens to memory. */
struct snbz_kelle_save_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* The head of the tokens, below HEADS of HEADS. */
  uint32_t head;
  /* Position of the first token that is written; the oldest token has position 0. */
  uint32_t first;
  /* How many tokens, 1 or more. The head must have them. */
  uint32_t tokens;
  /* Elements of a vector: a multiple of COLUMNS of CAPS, up to WIDTH of VECTORS. */
  uint32_t elements;
  /* Bytes from row to row. */
  uint32_t out_stride;
  /* 0. */
  uint32_t zero_0;
  /* Where the tokens go. A row has 64 bytes with the importance, then key and value, 16 bits an element. */
  uint64_t out_address;
  /* 0. */
  uint64_t zero_1;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
  /* 0. */
  uint64_t zero_4;
  /* 0. */
  uint64_t zero_5;
  /* 0. */
  uint64_t zero_6;
  /* 0. */
  uint64_t zero_7;
  /* 0. */
  uint64_t zero_8;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, head) == 32, "head");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, first) == 36, "first");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, tokens) == 40, "tokens");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, elements) == 44, "elements");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, out_stride) == 48, "out_stride");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, zero_0) == 52, "zero_0");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, out_address) == 56, "out_address");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, zero_1) == 64, "zero_1");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, zero_2) == 72, "zero_2");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, zero_3) == 80, "zero_3");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, zero_4) == 88, "zero_4");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, zero_5) == 96, "zero_5");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, zero_6) == 104, "zero_6");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, zero_7) == 112, "zero_7");
_Static_assert(offsetof(struct snbz_kelle_save_descriptor, zero_8) == 120, "zero_8");
_Static_assert(sizeof(struct snbz_kelle_save_descriptor) == 128, "snbz_kelle_save_descriptor");
#endif

/* Descriptor of kelle_top. Gives a token a slot: its key and value are recomputed instead of cached. */
struct snbz_kelle_recompute_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* The operation. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* The value of TAG when the operation is done. */
  uint32_t tag;
  /* 0. */
  uint32_t reserved;
  /* Where the tag is written, with SNBZ_FLAG_TAG: a multiple of 64. */
  uint64_t tag_address;
  /* The head of the token, below HEADS of HEADS. */
  uint32_t head;
  /* The position of the token; the oldest token has position 0. */
  uint32_t position;
  /* The slot of the token from now on, below RECOMPUTE of SCORES. */
  uint32_t slot;
  /* 0. */
  uint32_t zero_0;
  /* 0. */
  uint64_t zero_1;
  /* 0. */
  uint64_t zero_2;
  /* 0. */
  uint64_t zero_3;
  /* 0. */
  uint64_t zero_4;
  /* 0. */
  uint64_t zero_5;
  /* 0. */
  uint64_t zero_6;
  /* 0. */
  uint64_t zero_7;
  /* 0. */
  uint64_t zero_8;
  /* 0. */
  uint64_t zero_9;
  /* 0. */
  uint64_t zero_10;
};

#if __STDC_VERSION__ >= 201112L
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, magic) == 0, "magic");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, version) == 4, "version");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, opcode) == 5, "opcode");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, flags) == 6, "flags");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, next) == 8, "next");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, tag) == 16, "tag");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, reserved) == 20, "reserved");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, tag_address) == 24, "tag_address");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, head) == 32, "head");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, position) == 36, "position");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, slot) == 40, "slot");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, zero_0) == 44, "zero_0");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, zero_1) == 48, "zero_1");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, zero_2) == 56, "zero_2");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, zero_3) == 64, "zero_3");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, zero_4) == 72, "zero_4");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, zero_5) == 80, "zero_5");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, zero_6) == 88, "zero_6");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, zero_7) == 96, "zero_7");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, zero_8) == 104, "zero_8");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, zero_9) == 112, "zero_9");
_Static_assert(offsetof(struct snbz_kelle_recompute_descriptor, zero_10) == 120, "zero_10");
_Static_assert(sizeof(struct snbz_kelle_recompute_descriptor) == 128, "snbz_kelle_recompute_descriptor");
#endif

#endif
