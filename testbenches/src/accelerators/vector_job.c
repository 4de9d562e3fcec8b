#include "vector_job.h"

#define REG(name) VECTOR_TOP_##name
#define STEP(name) VECTOR_TOP_VECTOR_STEPS_##name
#define ALL_STATUS (REG(STATUS_DONE_MASK) | REG(STATUS_ERROR_MASK) | REG(STATUS_REFUSED_MASK))

/* The first failure ends a function. */
#define TRY(call)                 \
  do {                            \
    int try_result = (call);      \
    if (try_result != VECTOR_OK)  \
      return try_result;          \
  } while (0)

static int get(const struct vector_bus *bus, uint32_t offset, uint32_t *value) {
  return bus->read32(bus->context, offset, value) ? VECTOR_BUS : VECTOR_OK;
}

static int set(const struct vector_bus *bus, uint32_t offset, uint32_t value) {
  return bus->write32(bus->context, offset, value) ? VECTOR_BUS : VECTOR_OK;
}

static int set64(const struct vector_bus *bus, uint32_t low, uint32_t high, uint64_t value) {
  TRY(set(bus, low, (uint32_t)value));
  return set(bus, high, (uint32_t)(value >> 32));
}

static int store(const struct vector_bus *bus, uint64_t address, const void *bytes, size_t count) {
  return bus->write_mem(bus->context, address, bytes, count) ? VECTOR_BUS : VECTOR_OK;
}

static int load(const struct vector_bus *bus, uint64_t address, void *bytes, size_t count) {
  return bus->read_mem(bus->context, address, bytes, count) ? VECTOR_BUS : VECTOR_OK;
}

int vector_identify(const struct vector_bus *bus) {
  uint32_t id, version, accelerator;
  TRY(get(bus, REG(ID), &id));
  if (id != REG(ID_ID_VALUE))
    return VECTOR_NO_DEVICE;
  TRY(get(bus, REG(VERSION), &version));
  accelerator = (version & REG(VERSION_ACCELERATOR_MASK)) >> REG(VERSION_ACCELERATOR_SHIFT);
  version = (version & REG(VERSION_VERSION_MASK)) >> REG(VERSION_VERSION_SHIFT);
  return version == REG(VERSION_VERSION_VALUE) && accelerator == REG(VERSION_ACCELERATOR_VALUE) ? VECTOR_OK : VECTOR_NO_DEVICE;
}

static int not_busy(const struct vector_bus *bus) {
  uint32_t status;
  TRY(get(bus, REG(STATUS), &status));
  return status & REG(STATUS_BUSY_MASK) ? VECTOR_BUSY : VECTOR_OK;
}

int vector_configure(const struct vector_bus *bus, uint64_t base, uint64_t limit, uint32_t timeout) {
  TRY(not_busy(bus));
  TRY(set64(bus, REG(WINDOW_BASE), REG(WINDOW_BASE_HIGH), base));
  TRY(set64(bus, REG(WINDOW_LIMIT), REG(WINDOW_LIMIT_HIGH), limit));
  return set(bus, REG(TIMEOUT), timeout);
}

void vector_descriptor_init(struct vector_top_vector_descriptor *descriptor) {
  const struct vector_top_vector_descriptor empty = {0};
  *descriptor = empty;
  descriptor->magic = SNBZ_MAGIC;
  descriptor->version = SNBZ_DESCRIPTOR_VERSION;
  descriptor->opcode = VECTOR_TOP_OPCODE_VECTOR;
}

/* The end of the job; `done` says whether it has one. */
static int poll(const struct vector_bus *bus, struct vector_end *end, int *done) {
  uint32_t status, low, high;
  TRY(get(bus, REG(STATUS), &status));
  *done = !(status & REG(STATUS_BUSY_MASK));
  if (!*done)
    return VECTOR_OK;
  TRY(get(bus, REG(TAG), &end->tag));
  TRY(get(bus, REG(DESCRIPTORS), &end->descriptors));
  if (!(status & REG(STATUS_ERROR_MASK)))
    return status & REG(STATUS_DONE_MASK) ? VECTOR_OK : VECTOR_DROPPED;
  TRY(get(bus, REG(ERROR_CODE), &end->code));
  end->code = (end->code & REG(ERROR_CODE_ERROR_CODE_MASK)) >> REG(ERROR_CODE_ERROR_CODE_SHIFT);
  /* The low word first: the device keeps the high one for it. */
  TRY(get(bus, REG(ERROR_WHERE), &low));
  TRY(get(bus, REG(ERROR_WHERE_HIGH), &high));
  end->where = (uint64_t)high << 32 | low;
  return VECTOR_FAILED;
}

int vector_run(const struct vector_bus *bus, uint64_t job, uint32_t polls, struct vector_end *end) {
  const struct vector_end nothing = {0};
  uint32_t status;
  *end = nothing;
  TRY(not_busy(bus));
  TRY(set(bus, REG(STATUS), ALL_STATUS));
  TRY(set64(bus, REG(JOB), REG(JOB_HIGH), job));
  TRY(set(bus, REG(CONTROL), REG(CONTROL_START_MASK)));
  TRY(get(bus, REG(STATUS), &status));
  if (status & REG(STATUS_REFUSED_MASK)) {
    TRY(set(bus, REG(STATUS), REG(STATUS_REFUSED_MASK)));
    return VECTOR_REFUSED;
  }
  if (bus->wait_irq) {
    TRY(set(bus, REG(IRQ_ENABLE), REG(IRQ_ENABLE_IRQ_DONE_MASK) | REG(IRQ_ENABLE_IRQ_ERROR_MASK)));
    if (bus->wait_irq(bus->context))
      return VECTOR_BUS;
  }
  for (; polls > 0; polls--) {
    int done;
    TRY(poll(bus, end, &done));
    if (done)
      return VECTOR_OK;
  }
  return VECTOR_TOO_LONG;
}

int vector_reset(const struct vector_bus *bus, uint32_t polls) {
  TRY(set(bus, REG(CONTROL), REG(CONTROL_SOFT_RESET_MASK)));
  for (; polls > 0; polls--) {
    uint32_t control;
    TRY(get(bus, REG(CONTROL), &control));
    if (!(control & REG(CONTROL_SOFT_RESET_MASK)))
      return set(bus, REG(STATUS), ALL_STATUS);
  }
  return VECTOR_TOO_LONG;
}

/* The demo: 3 rows of 5 elements, x and addends; first 2 x + addend as int8, then x / 2 as int4, halves to even.
 * Both saturate somewhere. */
enum { ROWS = 3, COLUMNS = 5, STRIDE = 64 };
enum { CHAIN = 0x000, X = 0x100, ADDENDS = 0x200, OUT8 = 0x300, OUT4 = 0x400, TAG = 0x500 };

static int x_of(int row, int column) { return 3 * (5 * row + column - 7); }

static int addend_of(int row, int column) { return 70 * row - 30 * column; }

/* An integer below 2048 as fp16. */
static uint16_t half_of(int value) {
  uint32_t sign = value < 0 ? 0x8000u : 0;
  uint32_t magnitude = (uint32_t)(value < 0 ? -value : value);
  uint32_t exponent = 25;
  if (magnitude == 0)
    return (uint16_t)sign;
  for (; magnitude < 0x400; exponent--)
    magnitude <<= 1;
  return (uint16_t)(sign | exponent << 10 | (magnitude & 0x3ff));
}

static int8_t saturated(int value, int most) {
  return (int8_t)(value > most ? most : value < -most - 1 ? -most - 1 : value);
}

/* Half of it, to nearest, ties to even. */
static int half_to_even(int value) {
  int down = value >= 0 ? value / 2 : -((1 - value) / 2);
  return value % 2 != 0 && down % 2 != 0 ? down + 1 : down;
}

static int write_operands(const struct vector_bus *bus, uint64_t memory) {
  for (int row = 0; row < ROWS; row++) {
    uint16_t x[COLUMNS], addends[COLUMNS];
    /* What no result may show. */
    uint8_t old[STRIDE];
    for (int column = 0; column < COLUMNS; column++) {
      x[column] = half_of(x_of(row, column));
      addends[column] = half_of(addend_of(row, column));
    }
    for (int k = 0; k < STRIDE; k++)
      old[k] = 0x5a;
    TRY(store(bus, memory + X + STRIDE * (uint32_t)row, x, sizeof x));
    TRY(store(bus, memory + ADDENDS + STRIDE * (uint32_t)row, addends, sizeof addends));
    TRY(store(bus, memory + OUT8 + STRIDE * (uint32_t)row, old, sizeof old));
    TRY(store(bus, memory + OUT4 + STRIDE * (uint32_t)row, old, sizeof old));
  }
  return VECTOR_OK;
}

static void describe(struct vector_top_vector_descriptor chain[2], uint64_t memory) {
  for (int k = 0; k < 2; k++) {
    vector_descriptor_init(&chain[k]);
    chain[k].rows = ROWS;
    chain[k].columns = COLUMNS;
    chain[k].x_address = memory + X;
    chain[k].x_stride = STRIDE;
    chain[k].out_stride = STRIDE;
  }
  chain[0].next = memory + CHAIN + sizeof chain[0];
  chain[0].tag = 1;
  chain[0].steps = STEP(SCALES_MASK) | STEP(ADD_MASK) | 1u << STEP(FORMAT_SHIFT);
  chain[0].scale = half_of(2);
  chain[0].quantizer = half_of(1);
  chain[0].addend_address = memory + ADDENDS;
  chain[0].addend_stride = STRIDE;
  chain[0].out_address = memory + OUT8;
  chain[1].flags = SNBZ_FLAG_TAG | SNBZ_FLAG_INDEPENDENT;
  chain[1].tag = 0x600d7a61;
  chain[1].tag_address = memory + TAG;
  chain[1].steps = 2u << STEP(FORMAT_SHIFT);
  chain[1].quantizer = 0x3800; /* one half */
  chain[1].out_address = memory + OUT4;
}

/* All results, and what lies behind them in their rows. */
static int compare(const struct vector_bus *bus, uint64_t memory) {
  for (int row = 0; row < ROWS; row++) {
    uint8_t eight[STRIDE], four[STRIDE], right8[STRIDE], right4[STRIDE];
    for (int k = 0; k < STRIDE; k++)
      right8[k] = right4[k] = 0x5a;
    for (int column = 0; column < COLUMNS; column++) {
      int nibble = saturated(half_to_even(x_of(row, column)), 7) & 15;
      right8[column] = (uint8_t)saturated(2 * x_of(row, column) + addend_of(row, column), 127);
      right4[column / 2] = (uint8_t)(column % 2 ? right4[column / 2] | nibble << 4 : nibble);
    }
    TRY(load(bus, memory + OUT8 + STRIDE * (uint32_t)row, eight, sizeof eight));
    TRY(load(bus, memory + OUT4 + STRIDE * (uint32_t)row, four, sizeof four));
    for (int k = 0; k < STRIDE; k++)
      if (eight[k] != right8[k] || four[k] != right4[k])
        return VECTOR_WRONG;
  }
  return VECTOR_OK;
}

static int good_run(const struct vector_bus *bus, uint64_t memory, uint32_t polls, struct vector_end *end) {
  struct vector_top_vector_descriptor chain[2];
  uint32_t tag = 0;
  describe(chain, memory);
  TRY(write_operands(bus, memory));
  TRY(store(bus, memory + TAG, &tag, sizeof tag));
  TRY(store(bus, memory + CHAIN, chain, sizeof chain));
  TRY(vector_run(bus, memory + CHAIN, polls, end));
  TRY(load(bus, memory + TAG, &tag, sizeof tag));
  if (tag != chain[1].tag || end->tag != tag || end->descriptors != 2)
    return VECTOR_WRONG;
  return compare(bus, memory);
}

/* The second descriptor has no columns: the first one is done, and the job ends there. */
static int bad_run(const struct vector_bus *bus, uint64_t memory, uint32_t polls, struct vector_end *end) {
  struct vector_top_vector_descriptor chain[2];
  int result;
  describe(chain, memory);
  chain[1].columns = 0;
  TRY(store(bus, memory + CHAIN, chain, sizeof chain));
  result = vector_run(bus, memory + CHAIN, polls, end);
  if (result != VECTOR_FAILED)
    return result == VECTOR_OK ? VECTOR_WRONG : result;
  if (end->code != SNBZ_ERROR_SIZE || end->where != chain[0].next || end->tag != 1 || end->descriptors != 1)
    return VECTOR_WRONG;
  return VECTOR_OK;
}

int vector_demo(const struct vector_bus *bus, uint64_t memory, uint32_t polls, struct vector_end *end) {
  TRY(vector_identify(bus));
  TRY(vector_configure(bus, memory, memory + VECTOR_DEMO_BYTES - 1, 0));
  TRY(good_run(bus, memory, polls, end));
  TRY(bad_run(bus, memory, polls, end));
  return good_run(bus, memory, polls, end);
}
