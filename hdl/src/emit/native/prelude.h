#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef int8_t i8;
typedef uint16_t u16;
typedef int16_t i16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;

/* Lanes of wide values. */
typedef u8 __attribute__((may_alias)) lane8;
typedef u16 __attribute__((may_alias)) lane16;
typedef u32 __attribute__((may_alias)) lane32;
typedef u64 __attribute__((may_alias)) lane64;

/* Functions with long loops, and others. */
#define PLAIN __attribute__((noinline))
#ifndef VECTORS
#define VECTORS __attribute__((noinline, optimize("O3")))
#endif

/* The low bits of a number, with copies of their sign above them. */
#define SX32(x, w) ((i32)((u32)(x) << (32 - (w))) >> (32 - (w)))
#define SX64(x, w) ((i64)((u64)(x) << (64 - (w))) >> (64 - (w)))

/* Wide values: words of 64 bits, least significant first, zeros above the value. */
#define WORDS(width) (((width) + 63) / 64)

static inline u64 w_ones_of(u32 width) { return width >= 64 ? ~0ull : (1ull << width) - 1; }

static inline void w_mask(u64 *d, u32 width) {
  if (width % 64) d[width / 64] &= w_ones_of(width % 64);
}
static inline void w_copy(u64 *d, const u64 *s, u32 n) { memcpy(d, s, n * 8); }
static inline u32 w_eq(const u64 *a, const u64 *b, u32 n) {
  u64 x = 0;
  for (u32 i = 0; i < n; i++) x |= a[i] ^ b[i];
  return x == 0;
}
static inline u64 w_change(u64 *d, const u64 *s, u32 n) {
  u64 x = 0;
  for (u32 i = 0; i < n; i++) { x |= d[i] ^ s[i]; d[i] = s[i]; }
  return x != 0;
}
static inline u32 w_any(const u64 *a, u32 n) {
  u64 x = 0;
  for (u32 i = 0; i < n; i++) x |= a[i];
  return x != 0;
}
static inline u32 w_all(const u64 *a, u32 width) {
  for (u32 i = 0; i < width / 64; i++) if (a[i] != ~0ull) return 0;
  return width % 64 == 0 || a[width / 64] == w_ones_of(width % 64);
}
static inline u32 w_odd(const u64 *a, u32 n) {
  u64 x = 0;
  for (u32 i = 0; i < n; i++) x ^= a[i];
  return (u32)__builtin_parityll(x);
}
static inline void w_not(u64 *d, const u64 *a, u32 width) {
  for (u32 i = 0; i < WORDS(width); i++) d[i] = ~a[i];
  w_mask(d, width);
}
static inline void w_and(u64 *d, const u64 *a, const u64 *b, u32 n) { for (u32 i = 0; i < n; i++) d[i] = a[i] & b[i]; }
static inline void w_or(u64 *d, const u64 *a, const u64 *b, u32 n) { for (u32 i = 0; i < n; i++) d[i] = a[i] | b[i]; }
static inline void w_xor(u64 *d, const u64 *a, const u64 *b, u32 n) { for (u32 i = 0; i < n; i++) d[i] = a[i] ^ b[i]; }
static inline void w_fill(u64 *d, u32 width, u32 bit) {
  for (u32 i = 0; i < WORDS(width); i++) d[i] = bit ? ~0ull : 0;
  w_mask(d, width);
}
/* At most 64 bits from bit `low`; no word past the last one that holds any of them is read. */
static inline u64 w_get(const u64 *s, u32 low, u32 width) {
  const u32 i = low / 64, b = low % 64;
  u64 x = s[i] >> b;
  if (b + width > 64) x |= s[i + 1] << (64 - b);
  return x & w_ones_of(width);
}
/* Eight bytes of one bit each. */
static inline u64 w_bits(const u8 *s) {
  u64 x;
  memcpy(&x, s, 8);
  return x * 0x0102040810204080ull >> 56;
}
static inline void w_slice(u64 *d, u32 width, const u64 *s, u32 low) {
  u32 k = 0;
  for (; (k + 1) * 64 <= width; k++) d[k] = w_get(s, low + k * 64, 64);
  if (width % 64) d[k] = w_get(s, low + k * 64, width % 64);
}
/* Sets bits that are zero. */
static inline void w_put(u64 *d, u32 low, u32 width, u64 value) {
  const u32 i = low / 64, b = low % 64;
  d[i] |= value << b;
  if (b + width > 64) d[i + 1] |= value >> (64 - b);
}
static inline void w_put_words(u64 *d, u32 low, u32 width, const u64 *s) {
  for (u32 k = 0; k < WORDS(width); k++) {
    const u32 left = width - k * 64;
    w_put(d, low + k * 64, left < 64 ? left : 64, s[k]);
  }
}
static inline void w_ones(u64 *d, u32 low, u32 width) {
  for (u32 k = 0; k < width; k += 64) {
    const u32 left = width - k < 64 ? width - k : 64;
    w_put(d, low + k, left, w_ones_of(left));
  }
}
static inline void w_extend(u64 *d, u32 to, const u64 *s, u32 from, u32 sign) {
  const u32 n = WORDS(from), m = WORDS(to);
  for (u32 i = 0; i < n; i++) d[i] = s[i];
  if (sign && (s[(from - 1) / 64] >> ((from - 1) % 64) & 1)) {
    if (from % 64) d[from / 64] |= ~w_ones_of(from % 64);
    for (u32 i = n; i < m; i++) d[i] = ~0ull;
    w_mask(d, to);
  }
}
static inline void w_from(u64 *d, u32 to, u64 value, u32 sign) {
  d[0] = value;
  if (sign && value >> 63) {
    for (u32 i = 1; i < WORDS(to); i++) d[i] = ~0ull;
    w_mask(d, to);
  }
}
static inline void w_add(u64 *d, const u64 *a, const u64 *b, u32 width) {
  unsigned __int128 sum = 0;
  for (u32 i = 0; i < WORDS(width); i++) {
    sum += (unsigned __int128)a[i] + b[i];
    d[i] = (u64)sum;
    sum >>= 64;
  }
  w_mask(d, width);
}
static inline void w_sub(u64 *d, const u64 *a, const u64 *b, u32 width) {
  unsigned __int128 sum = 1;
  for (u32 i = 0; i < WORDS(width); i++) {
    sum += (unsigned __int128)a[i] + (u64)~b[i];
    d[i] = (u64)sum;
    sum >>= 64;
  }
  w_mask(d, width);
}
static inline void w_mul(u64 *d, const u64 *a, const u64 *b, u32 width) {
  const u32 n = WORDS(width);
  for (u32 i = 0; i < n; i++) d[i] = 0;
  for (u32 i = 0; i < n; i++) {
    u64 carry = 0;
    for (u32 j = 0; i + j < n; j++) {
      const unsigned __int128 x = (unsigned __int128)a[i] * b[j] + d[i + j] + carry;
      d[i + j] = (u64)x;
      carry = (u64)(x >> 64);
    }
  }
  w_mask(d, width);
}
static inline u32 w_less(const u64 *a, const u64 *b, u32 n, u32 sign) {
  const u64 flip = sign ? 1ull << 63 : 0;
  const u64 x = a[n - 1] ^ flip, y = b[n - 1] ^ flip;
  if (x != y) return x < y;
  for (u32 i = n - 1; i-- > 0;) if (a[i] != b[i]) return a[i] < b[i];
  return 0;
}
static inline void w_left(u64 *d, const u64 *a, u32 width, u64 by) {
  const u32 n = WORDS(width);
  for (u32 i = 0; i < n; i++) d[i] = 0;
  if (by >= width) return;
  const u32 w = (u32)(by / 64), b = by % 64;
  for (u32 i = n; i-- > w;) {
    d[i] = a[i - w] << b;
    if (b && i > w) d[i] |= a[i - w - 1] >> (64 - b);
  }
  w_mask(d, width);
}
static inline void w_right(u64 *d, const u64 *a, u32 width, u64 by, u32 sign) {
  const u32 n = WORDS(width);
  const u64 fill = sign && (a[(width - 1) / 64] >> ((width - 1) % 64) & 1) ? ~0ull : 0;
  if (by >= width) {
    for (u32 i = 0; i < n; i++) d[i] = fill;
    w_mask(d, width);
    return;
  }
  const u32 w = (u32)(by / 64), b = by % 64, top = width % 64;
  for (u32 i = 0; i < n; i++) {
    u64 low = i + w < n ? a[i + w] : fill, high = i + w + 1 < n ? a[i + w + 1] : fill;
    if (top && i + w == n - 1) low |= fill & ~w_ones_of(top);
    if (top && i + w + 1 == n - 1) high |= fill & ~w_ones_of(top);
    d[i] = low >> b | (b ? high << (64 - b) : 0);
  }
  w_mask(d, width);
}

/* The beginning of the random bits of an array. */
static u64 random_of(u64 seed, u64 array) { return (seed + 1) * 0xd1342543de82ef95ull + array * 0xaf251af3b0f025b5ull; }

static u64 random_state(u64 *s) {
  u64 z = *s += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}
