#include "tools/quantize/nan.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "dtypes/convert.h"

namespace tern {
namespace {

constexpr std::int64_t kNanBlock = 4096;  // elements; whole bytes of float4

}  // namespace

bool has_nan(const Tensor& t) {
  const bool complex = is_complex(t.dtype());
  if (!complex && !is_floating(t.dtype())) return false;
  std::vector<double> values(static_cast<std::size_t>(kNanBlock) * (complex ? 2 : 1));
  for (std::int64_t i = 0; i < t.numel(); i += kNanBlock) {
    const std::int64_t count = std::min(kNanBlock, t.numel() - i);
    convert(static_cast<const std::byte*>(t.data()) + run_bytes(t.dtype(), i), t.dtype(), values.data(),
            complex ? DType::c128 : DType::f64, count);
    const auto end = values.begin() + count * (complex ? 2 : 1);
    if (std::any_of(values.begin(), end, [](double v) { return std::isnan(v); })) return true;
  }
  return false;
}

}  // namespace tern
