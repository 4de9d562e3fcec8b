/* Descriptors of jobs, as they lie in memory: little endian, at multiples of 64.
 * Made by `cargo run -p host --example c_header`. Do not edit. */
#ifndef SNBZ_DESCRIPTORS_H
#define SNBZ_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "these structures are little endian"
#endif

/* What every descriptor begins with. */
#define SNBZ_MAGIC 0x5a424e53u
/* Version of descriptors. */
#define SNBZ_DESCRIPTOR_VERSION 0x1u
/* The tag is written to memory. */
#define SNBZ_FLAG_TAG 0x1u
/* Nothing is read that the descriptor before writes. */
#define SNBZ_FLAG_INDEPENDENT 0x2u
/* Address of the descriptor: no multiple of 64, or outside of the window or of the bus. */
#define SNBZ_ERROR_DESCRIPTOR 0x1u
/* The descriptor does not begin with the magic bytes. */
#define SNBZ_ERROR_MAGIC 0x2u
/* The descriptor's version is another one. */
#define SNBZ_ERROR_VERSION 0x3u
/* There is no such operation. */
#define SNBZ_ERROR_OPCODE 0x4u
/* A flag or a field that must be 0 is not. */
#define SNBZ_ERROR_RESERVED 0x5u
/* Place of the tag: no multiple of 64, or outside of the window. */
#define SNBZ_ERROR_TAG 0x6u
/* The chain is longer than MAX_DESCRIPTORS. */
#define SNBZ_ERROR_CHAIN 0x7u
/* An address or stride of the operation is no multiple of 64. */
#define SNBZ_ERROR_ALIGNMENT 0x8u
/* A size of the operation is 0, more than the buffers hold, or not what a step needs. */
#define SNBZ_ERROR_SIZE 0x9u
/* Something of the operation lies outside of the window. */
#define SNBZ_ERROR_WINDOW 0xau
/* A subordinate answered a read or write with SLVERR. */
#define SNBZ_ERROR_SLVERR 0xbu
/* Nothing answered at an address. */
#define SNBZ_ERROR_DECERR 0xcu
/* Memory did not answer in time. */
#define SNBZ_ERROR_TIMEOUT 0xdu
/* A result of the operation is not exact where the descriptor demands it. */
#define SNBZ_ERROR_OVERFLOW 0xeu
/* A field of the operation is not one of its values. */
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
/* Turn pairs of neighbours by the angles; not with MULTIPLY. */
#define SNBZ_VECTOR_STEP_ROTATE 0x400u
/* In each row of a softmax one more element counts than in the one before. */
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

/* Descriptor of vector_top. */
struct snbz_vector_descriptor {
  /* The bytes SNBZ. */
  uint32_t magic;
  /* Version of descriptors, 1. */
  uint8_t version;
  /* What is to be done. */
  uint8_t opcode;
  /* Bits SNBZ_FLAG_...; others 0. */
  uint16_t flags;
  /* Address of the next descriptor, 0 for none. */
  uint64_t next;
  /* What TAG shows when this is done. */
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
  /* What results are multiplied by before they become integers, fp16. */
  uint16_t quantizer;
  /* What is added to the mean square or the variance, in units of 2^-48, below 2^40. */
  uint64_t epsilon;
  /* Bytes from row to row of x. */
  uint32_t x_stride;
  /* Bytes from row to row of the addends. */
  uint32_t addend_stride;
  /* Rows of fp16. */
  uint64_t x_address;
  /* What is added: rows of fp16. */
  uint64_t addend_address;
  /* What is multiplied by: rows of fp16. Or angles: of each pair cosine and sine. */
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

#endif
