
/* The table of functions that the simulator calls; mirrored in `Api` of the crate `sim`. */

static void *create(u32 is_random, u32 seed) {
  St *S = aligned_alloc(64, (sizeof(St) + 63) / 64 * 64);
  if (!S) return 0;
  memset(S, 0, sizeof(St));
  memset(S->flags, 1, sizeof S->flags);
  S->seed = seed;
  if (is_random) random_fill(S);
  return S;
}
static void destroy(void *instance) { free(instance); }
static void bind(void *instance) { (void)instance; }

static inline void low(St *S) {
  load(S);
#if HAS_RESET
  if (RESET_LOW && S->was_high) reset_state(S);
  S->was_high = !RESET_LOW;
#endif
  outputs(S);
  store(S);
}
static inline void high(St *S) {
  all(S);
  edge(S);
  if (RESET_LOW) reset_state(S);
  outputs(S);
  store(S);
}
static u32 settle(void *instance) {
  low(instance);
  return 0;
}
static u32 rise(void *instance) {
  high(instance);
  return 0;
}
static u32 cycles(void *instance, u64 count, u64 *done) {
  for (*done = 0; *done < count; ++*done) {
    low(instance);
    high(instance);
  }
  return 0;
}
static const char *log_text(void *instance) {
  (void)instance;
  return "";
}
static void clear(void *instance) { (void)instance; }
static i32 trace_open(void *instance, const char *path) {
  (void)instance;
  (void)path;
  return 0;
}
static void trace_close(void *instance) { (void)instance; }
static i32 coverage_write(void *instance, const char *path) {
  (void)instance;
  (void)path;
  return 0;
}

struct Api {
  void *(*create)(u32, u32);
  void (*destroy)(void *);
  void (*bind)(void *);
  void (*ports)(void *, void **);
  u32 (*settle)(void *);
  u32 (*rise)(void *);
  u32 (*cycles)(void *, u64, u64 *);
  const char *(*log)(void *);
  void (*clear)(void *);
  i32 (*trace_open)(void *, const char *);
  void (*trace_close)(void *);
  i32 (*coverage_write)(void *, const char *);
  void (*arrays)(void *, void **, u64);
};

__attribute__((visibility("default"))) const struct Api *senbazuru_api(void) {
  static const struct Api api = {create, destroy,  bind,  ports,      settle,      rise,
                                 cycles, log_text, clear, trace_open, trace_close, coverage_write, arrays};
  return &api;
}
