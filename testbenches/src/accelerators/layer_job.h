/* Runs what `senbazuru lower` has written: the passes of a layer, on any accelerator. */
#ifndef LAYER_JOB_H
#define LAYER_JOB_H

#include "vector_job.h"

/* Writes `memory`, the bytes of memory.bin, to the device's memory, runs the chains of layer.h, and compares every byte
 * that the chains of a pass write with `results`, the bytes of results.bin. VECTOR_WRONG: a byte differs, and `end->where` is its address. */
int layer_run(const struct vector_bus *bus, const uint8_t *memory, const uint8_t *results, uint32_t polls,
              struct vector_end *end);

#endif
