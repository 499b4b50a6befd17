#include "exporter/llm/session_draw.h"

#include <array>
#include <cstddef>

namespace tern {
namespace {

constexpr double kLow = 0xffffffff;                                 ///< the low word of an int64
constexpr double kSessionDrawFactors[] = {0xD2511F53, 0xCD9E8D57};  // multipliers of Philox 4x32
constexpr double kKeySteps[] = {0x9E3779B9, 0xBB67AE85};            // key increments per round
constexpr int kRounds = 10;

using Words = std::array<ValueId, 4>;  ///< int64[], each in [0, 2^32)

Words round_of(Builder& b, const Words& c, ValueId seed, int round) {
  const auto product = [&](std::size_t i) {
    return b.expr("f * c", {{"f", kSessionDrawFactors[i]}, {"c", c[2 * i]}},
                  DType::i64);  // wraps: 64 bits are all of it
  };
  const auto key = [&](std::size_t i) {
    return b.expr(
        "(((s >> shift) & low) + step) & low",
        {{"s", seed}, {"shift", 32.0 * static_cast<double>(i)}, {"low", kLow}, {"step", round * kKeySteps[i]}},
        DType::i64);
  };
  const auto mixed = [&](ValueId p, ValueId word, ValueId k) {
    return b.expr("((p >> 32) & low) ^ w ^ k", {{"p", p}, {"low", kLow}, {"w", word}, {"k", k}}, DType::i64);
  };
  const auto low = [&](ValueId p) { return b.expr("p & low", {{"p", p}, {"low", kLow}}, DType::i64); };
  const ValueId p = product(0), q = product(1);
  return {mixed(q, c[1], key(0)), low(q), mixed(p, c[3], key(1)), low(p)};
}

}  // namespace

ValueId session_draw(Builder& b, ValueId seed, ValueId draw) {
  const ValueId zero = b.full({}, 0, DType::i64);
  Words words = {b.expr("d & low", {{"d", draw}, {"low", kLow}}, DType::i64),
                 b.expr("(d >> 32) & low", {{"d", draw}, {"low", kLow}}, DType::i64), zero, zero};
  for (int round = 0; round < kRounds; ++round) words = round_of(b, words, seed, round);
  // 53 bits of two words, as in curand_uniform_double; 1 becomes 0.
  const ValueId bits = b.expr("x ^ (y << 21)", {{"x", words[0]}, {"y", words[1]}}, DType::i64);
  const ValueId u =
      b.expr("z * scale + half", {{"z", bits}, {"scale", 0x1p-53}, {"half", 0x1p-54}}, DType::f64, DType::f64);
  return b.expr("u >= 1 ? 0 : u", {{"u", u}}, DType::f64, DType::f64);
}

}  // namespace tern
