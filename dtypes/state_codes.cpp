#include "dtypes/state_codes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tern {
namespace {

constexpr int kDecades = 7;
constexpr float kDecadeEnds[kDecades] = {1e-6F, 1e-5F, 1e-4F, 1e-3F, 1e-2F, 1e-1F, 1.0F};

/// The values of torchao, computed in float32: middles of torch.linspace(0.1, 1, n + 1), times the decade's end.
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

/// The least number rounded up from `low`: torchao compares x - low with half the distance, in float32.
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

}  // namespace

const StateCodes& state_codes(bool is_signed) {
  static const StateCodes with = make_codes(true), without = make_codes(false);
  return is_signed ? with : without;
}

std::uint8_t code_of(const StateCodes& codes, float x) {
  return static_cast<std::uint8_t>(std::upper_bound(codes.bounds.begin(), codes.bounds.end() - 1, x) -
                                   codes.bounds.begin());
}

}  // namespace tern
