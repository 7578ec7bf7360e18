// Intel's decimal floating-point library. The variant is libbidgcc000: arguments by value, rounding mode and exception
// flags passed explicitly. Swift sees a decimal as two 64-bit words, low word first, as a Realm file stores it.
#pragma once
#define DECIMAL_CALL_BY_REFERENCE 0
#define DECIMAL_GLOBAL_ROUNDING 0
#define DECIMAL_GLOBAL_EXCEPTION_FLAGS 0
#include <bid_conf.h>
#include <bid_functions.h>
#include <stdint.h>

static inline BID_UINT128 realmfs_bid(uint64_t low, uint64_t high) {
  BID_UINT128 value;
  value.w[0] = low;
  value.w[1] = high;
  return value;
}

/// -1, 0 or 1; 2 when either operand is a NaN.
static inline int realmfs_bid_compare(uint64_t low_a, uint64_t high_a, uint64_t low_b, uint64_t high_b) {
  _IDEC_flags flags = 0;
  BID_UINT128 a = realmfs_bid(low_a, high_a), b = realmfs_bid(low_b, high_b);
  if (bid128_quiet_less(a, b, &flags)) return -1;
  if (bid128_quiet_greater(a, b, &flags)) return 1;
  return bid128_quiet_equal(a, b, &flags) ? 0 : 2;
}

/// Parses a decimal literal; the nearest representable number, ties to even.
static inline void realmfs_bid_parse(const char *text, uint64_t *low, uint64_t *high) {
  _IDEC_flags flags = 0;
  BID_UINT128 value = bid128_from_string((char *)text, 0, &flags);
  *low = value.w[0];
  *high = value.w[1];
}

/// Converts a floating-point NaN to a decimal NaN as the engine does: sign and payload are preserved.
static inline void realmfs_bid_nan(double nan, uint64_t *low, uint64_t *high) {
  _IDEC_flags flags = 0;
  BID_UINT128 value = binary64_to_bid128(nan, 0, &flags);
  *low = value.w[0];
  *high = value.w[1];
}

/// Returns true and stores the integer in `result` if the decimal is a 64-bit integer.
static inline int realmfs_bid_to_int64(uint64_t low, uint64_t high, int64_t *result) {
  _IDEC_flags flags = 0;
  *result = bid128_to_int64_xint(realmfs_bid(low, high), &flags);
  return (flags & (0x01 | 0x20)) == 0;
}

/// a + b, a - b, a * b or a / b, by `operation`; the nearest representable number.
static inline void realmfs_bid_combine(char operation, uint64_t low_a, uint64_t high_a, uint64_t low_b, uint64_t high_b,
                                       uint64_t *low, uint64_t *high) {
  _IDEC_flags flags = 0;
  BID_UINT128 a = realmfs_bid(low_a, high_a), b = realmfs_bid(low_b, high_b), value;
  switch (operation) {
    case '+': value = bid128_add(a, b, 0, &flags); break;
    case '-': value = bid128_sub(a, b, 0, &flags); break;
    case '*': value = bid128_mul(a, b, 0, &flags); break;
    default: value = bid128_div(a, b, 0, &flags); break;
  }
  *low = value.w[0];
  *high = value.w[1];
}
