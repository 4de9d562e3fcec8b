/* Drives vector_top from C: needs nothing but the two headers that the project makes, and a way to registers and memory.
 * Works freestanding; allocates nothing. */
#ifndef VECTOR_JOB_H
#define VECTOR_JOB_H

#include "vector_top.h"

#include <stddef.h>
#include <stdint.h>

/* The way to a device. Each function returns 0, or anything else when nothing answers. What was written to memory is
 * seen by the device when write_mem returns, and read_mem sees what the device wrote: flush caches there. */
struct vector_bus {
  void *context;
  int (*read32)(void *context, uint32_t offset, uint32_t *value);
  int (*write32)(void *context, uint32_t offset, uint32_t value);
  int (*read_mem)(void *context, uint64_t address, void *bytes, size_t count);
  int (*write_mem)(void *context, uint64_t address, const void *bytes, size_t count);
  /* Waits for the interrupt of the device. Its handler writes 0 to IRQ_ENABLE, which ends the interrupt and leaves STATUS
   * for vector_run. NULL: vector_run reads STATUS until the job has ended. */
  int (*wait_irq)(void *context);
};

enum vector_result {
  VECTOR_OK = 0,
  VECTOR_BUS = 1,       /* the bus does not answer */
  VECTOR_NO_DEVICE = 2, /* another device, or another version of it */
  VECTOR_BUSY = 3,      /* a job runs */
  VECTOR_REFUSED = 4,   /* the bus of the device is not idle: reset it */
  VECTOR_TOO_LONG = 5,  /* the job has not ended, or the reset is not done, after so many polls */
  VECTOR_FAILED = 6,    /* the job ended with an error: see struct vector_end */
  VECTOR_WRONG = 7,     /* vector_demo: a result is not what it should be */
  VECTOR_DROPPED = 8    /* no job runs, and none has ended: it was reset */
};

/* How a job ended. */
struct vector_end {
  uint32_t code; /* SNBZ_ERROR_..., 0 for none */
  uint32_t tag;
  uint32_t descriptors;
  uint32_t reserved;
  uint64_t where; /* with a code: address of the descriptor */
};

/* Whether vector_top's kind of device is there. */
int vector_identify(const struct vector_bus *bus);

/* What jobs may touch, first and last byte; cycles that memory may take for an answer, 0 for any. */
int vector_configure(const struct vector_bus *bus, uint64_t base, uint64_t limit, uint32_t timeout);

/* An empty descriptor: magic, version, opcode; all else 0. */
void vector_descriptor_init(struct vector_top_vector_descriptor *descriptor);

/* Starts the chain at `job`, waits for the interrupt if there is a way to, and reads STATUS up to `polls` times for its end. */
int vector_run(const struct vector_bus *bus, uint64_t job, uint32_t polls, struct vector_end *end);

/* Drops what runs; reads CONTROL up to `polls` times until that is done. */
int vector_reset(const struct vector_bus *bus, uint32_t polls);

/* Bytes of memory that vector_demo uses, at a multiple of 64 in the window. */
#define VECTOR_DEMO_BYTES 0x540u

/* A whole session: identifies the device, writes rows and a chain of two descriptors to memory, runs it, compares every
 * byte of the results with integer arithmetic, provokes an error, and runs the chain again. Rows have 5 elements. */
int vector_demo(const struct vector_bus *bus, uint64_t memory, uint32_t polls, struct vector_end *end);

#endif
