#include "dtypes/state_codes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tern {
namespace {

constexpr int kDecades = 7;
constexpr float kDecadeEnds[kDecades] = {1e-6F, 1e-5F, 1e-4F, 1e-3F, 1e-2F, 1e-1F, 1.0F};

/// The values as torchao computes them in float32: middles of torch.linspace(0.1, 1, n + 1), times the decade's end.
std::array<float, 256> make_values(bool is_signed) {
  std::array<float, 256> values{};
  std::size_t made = 0;
  for (int decade = 0; decade < kDecades; ++decade) {
    const int n = (is_signed ? 1 : 2) << decade;
    const float step = (1.0F - 0.1F) / static_cast<float>(n);
    const auto edge = [&](int k) {
      return k < (n + 1) / 2 ? std::fma(step, static_cast<float>(k), 0.1F)
                             : std::fma(-step, static_cast<float>(n - k), 1.0F);
    };
    for (int k = 0; k < n; ++k) {
      const float value = kDecadeEnds[decade] * ((edge(k) + edge(k + 1)) / 2);
      values[made++] = value;
      if (is_signed) values[made++] = -value;
    }
  }
  values[made++] = 0;
  values[made++] = 1;
  std::ranges::sort(values);
  return values;
}

/// The least number that is rounded up from `low`: torchao compares x - low with half the distance, in float32.
float bound(float low, float high) {
  const float half = (high - low) * 0.5F;
  const auto rounds_up = [&](float x) { return x - low >= half; };
  float x = low + half;
  while (!rounds_up(x)) x = std::nextafter(x, high);
  for (float below = std::nextafter(x, low); rounds_up(below); below = std::nextafter(x, low)) x = below;
  return x;
}

StateCodes make_codes(bool is_signed) {
  StateCodes codes{make_values(is_signed), {}};
  for (std::size_t c = 0; c + 1 < codes.values.size(); ++c)
    codes.bounds[c] = bound(codes.values[c], codes.values[c + 1]);
  codes.bounds.back() = std::numeric_limits<float>::infinity();
  return codes;
}

/// How many bounds are at most x.
std::uint8_t code_of(const StateCodes& codes, float x) {
  return static_cast<std::uint8_t>(std::upper_bound(codes.bounds.begin(), codes.bounds.end() - 1, x) -
                                   codes.bounds.begin());
}

// A cell has the numbers of one sign, exponent and first seven bits of the fraction: those of 2^-24 to 1, and all below
// 2^-24 in one. A cell is narrower than the distance of any two bounds, so that one comparison decides within it.
constexpr std::uint32_t kCellBits = 16, kFirstCell = 103U << 7, kCells = (127U << 7) - kFirstCell + 1;

struct Coder {
  explicit Coder(bool is_signed) : codes(state_codes(is_signed)) {
    for (std::uint32_t cell = 0; cell < kCells; ++cell) {
      const float least = cell == 0 ? 0.0F : std::bit_cast<float>((cell + kFirstCell) << kCellBits);
      const float most = std::bit_cast<float>(((cell + kFirstCell + 1) << kCellBits) - 1);
      first[0][cell] = code_of(codes, least);
      first[1][cell] = code_of(codes, -most);
    }
  }
  /// Of a number from -1 to 1.
  std::uint8_t operator()(float x) const {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t cell = std::max((bits & 0x7fffffffU) >> kCellBits, kFirstCell) - kFirstCell;
    const std::uint8_t code = first[bits >> 31][cell];
    return static_cast<std::uint8_t>(code + (x >= codes.bounds[code] ? 1 : 0));
  }
  const StateCodes& codes;
  std::uint8_t first[2][kCells];
};

const Coder& coder(bool is_signed) {
  static const Coder with(true), without(false);
  return is_signed ? with : without;
}

/// NaN where there is one.
float largest(const float* values) {
  float most[8] = {};
  for (std::int64_t i = 0; i < kStateBlock; i += 8) {
    for (std::int64_t k = 0; k < 8; ++k) {
      const float x = std::fabs(values[i + k]);
      most[k] = x > most[k] || x != x ? x : most[k];
    }
  }
  float all = 0;
  for (const float x : most) all = x > all || x != x ? x : all;
  return all;
}

}  // namespace

const StateCodes& state_codes(bool is_signed) {
  static const StateCodes with = make_codes(true), without = make_codes(false);
  return is_signed ? with : without;
}

void decode_states(const std::uint8_t* codes, const float* scales, bool is_signed, std::int64_t count, float* values) {
  const std::array<float, 256>& numbers = state_codes(is_signed).values;
  for (std::int64_t block = 0; block * kStateBlock < count; ++block) {
    const float scale = scales[block];
    const std::int64_t end = std::min(count, (block + 1) * kStateBlock);
    for (std::int64_t i = block * kStateBlock; i < end; ++i) values[i] = numbers[codes[i]] * scale;
  }
}

void encode_states(const float* values, bool is_signed, std::int64_t count, std::uint8_t* codes, float* scales) {
  const Coder& code = coder(is_signed);
  float scaled[kStateBlock];
  for (std::int64_t begin = 0; begin < count; begin += kStateBlock, values += kStateBlock, codes += kStateBlock) {
    const float most = largest(values);
    const float scale = most < kLeastStateScale ? kLeastStateScale : most;
    *scales++ = scale;
    for (std::int64_t i = 0; i < kStateBlock; ++i) scaled[i] = values[i] / scale;  // a loop of its own, of vectors
    if (std::isfinite(scale)) {
      for (std::int64_t i = 0; i < kStateBlock; ++i) codes[i] = code(scaled[i]);
    } else {
      for (std::int64_t i = 0; i < kStateBlock; ++i)
        codes[i] = scaled[i] == scaled[i] ? code_of(code.codes, scaled[i]) : std::uint8_t{0};
    }
  }
}

}  // namespace tern
