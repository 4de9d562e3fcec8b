#include "layer_job.h"

#include "layer.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static int compare(const struct vector_bus *bus, const struct layer_piece *piece, const uint8_t *results,
                   struct vector_end *end) {
  uint8_t found[64];
  for (uint32_t done = 0; done < piece->bytes;) {
    uint32_t left = piece->bytes - done;
    uint32_t count = left < sizeof found ? left : (uint32_t)sizeof found;
    if (bus->read_mem(bus->context, piece->address + done, found, count))
      return VECTOR_BUS;
    for (uint32_t k = 0; k < count; k++) {
      if (found[k] != results[piece->offset + done + k]) {
        end->where = piece->address + done + k;
        return VECTOR_WRONG;
      }
    }
    done += count;
  }
  return VECTOR_OK;
}

static int move(const struct vector_bus *bus, const struct layer_move *bytes) {
  uint64_t from = bytes->from, to = bytes->to;
  for (uint32_t k = 0; k < bytes->bytes; k++) {
    uint8_t byte;
    if (bus->read_mem(bus->context, from, &byte, 1) || bus->write_mem(bus->context, to, &byte, 1))
      return VECTOR_BUS;
    from += bytes->from_step;
    to += bytes->to_step;
  }
  return VECTOR_OK;
}

/* The registers of a job are the same in all accelerators, so vector_job.c starts it. */
int layer_run(const struct vector_bus *bus, const uint8_t *memory, const uint8_t *results, uint32_t polls,
              struct vector_end *end) {
  const struct layer_piece *piece = layer_memory, *wanted = layer_results;
  const struct layer_move *bytes = layer_moves;
  const struct layer_job *job = layer_jobs;
  int result = vector_configure(bus, LAYER_WINDOW_BASE, LAYER_WINDOW_LIMIT, 0);
  for (size_t pass = 0; result == VECTOR_OK && pass < COUNT(layer_passes); pass++) {
    for (uint32_t n = 0; result == VECTOR_OK && n < layer_passes[pass].jobs; n++, job++) {
      for (uint32_t k = 0; result == VECTOR_OK && k < job->pieces; k++, piece++) {
        if (bus->write_mem(bus->context, piece->address, memory + piece->offset, piece->bytes))
          result = VECTOR_BUS;
      }
      for (uint32_t k = 0; result == VECTOR_OK && k < job->moves; k++)
        result = move(bus, bytes++);
      if (result == VECTOR_OK)
        result = vector_run(bus, job->address, polls, end);
    }
    for (uint32_t k = 0; result == VECTOR_OK && k < layer_passes[pass].results; k++)
      result = compare(bus, wanted++, results, end);
  }
  return result;
}
