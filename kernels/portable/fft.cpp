// fft: for each axis, stages of an order-preserving mixed-radix transform (Stockham); an element for each item.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "schema/linalg_kinds.h"

namespace tern::portable {
namespace {

/// A stage: joins `radix` transforms of `joined_size` elements each, along an axis of `size` elements.
struct FftStage {
  std::int64_t outer, size, inner, joined_size, radix;
  bool first;  ///< first stage of its axis
  bool half_in = false, half_out = false;
  bool forward;
  std::int64_t input_size() const { return half_in ? size / 2 + 1 : size; }
  std::int64_t output_size() const { return half_out ? size / 2 + 1 : size; }
  std::int64_t count() const { return outer * output_size() * inner; }
};

std::vector<std::int64_t> radices(std::int64_t n) {
  std::vector<std::int64_t> r;
  for (std::int64_t f : {8, 4, 2}) {
    for (; n % f == 0; n /= f) r.push_back(f);
  }
  for (std::int64_t f = 3; f * f <= n; f += 2) {
    for (; n % f == 0; n /= f) r.push_back(f);
  }
  if (n > 1 || r.empty()) r.push_back(n);
  return r;
}

/// The stages along `axis` of a tensor of these sizes; the axis itself has `size` elements.
void add_axis(std::vector<FftStage>& stages, std::span<const std::int64_t> sizes, int axis, std::int64_t size,
              FftKind kind, bool forward) {
  FftStage s{.outer = 1, .size = size, .inner = 1, .joined_size = 1, .radix = 1, .first = true, .forward = forward};
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
    if (i != axis) (i < axis ? s.outer : s.inner) *= sizes[static_cast<std::size_t>(i)];
  }
  for (std::int64_t r : radices(size)) {
    s.radix = r;
    s.first = s.joined_size == 1;
    s.half_in = s.first && kind == FftKind::complex_to_real;
    stages.push_back(s);
    s.joined_size *= r;
  }
  stages.back().half_out = kind == FftKind::real_to_complex;
}

/// exp(-2 pi i k / n), or with the opposite sign, for all k.
std::vector<std::byte> roots(std::int64_t n, bool forward, DType t) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(n * element_size(t)));
  for (std::int64_t k = 0; k < n; ++k) {
    // Computes the angle in the first eighth: symmetric roots are equal to the last digit.
    const std::int64_t eight = 8 * k, octant = eight / n;
    const std::int64_t rest = octant % 2 == 0 ? eight - octant * n : (octant + 1) * n - eight;
    const double angle = std::numbers::pi / 4 * static_cast<double>(rest) / static_cast<double>(n);
    const double near = std::cos(angle), far = std::sin(angle);
    const bool swapped = octant % 4 == 1 || octant % 4 == 2;
    double x = swapped ? far : near, y = swapped ? near : far;
    if (octant >= 2 && octant < 6) x = -x;
    if (octant >= 4) y = -y;
    if (forward) y = -y;
    std::byte* to = bytes.data() + k * element_size(t);
    if (t == DType::c128) {
      const double pair[] = {x, y};
      std::memcpy(to, pair, sizeof pair);
    } else {
      const float pair[] = {static_cast<float>(x), static_cast<float>(y)};
      std::memcpy(to, pair, sizeof pair);
    }
  }
  return bytes;
}

double scale_of(const KernelCall& c, const TensorView& signal) {
  double n = 1;
  for (Dim a : c.node->dims(AttrKey::axes)) {
    n *= static_cast<double>(signal.size(static_cast<int>(a.value() < 0 ? a.value() + signal.rank : a.value())));
  }
  switch (static_cast<FftNorm>(c.node->integer(AttrKey::norm))) {
    case FftNorm::root_n: return 1 / std::sqrt(n);
    case FftNorm::n: return 1 / n;
    default: return 1;
  }
}

std::vector<FftStage> stages_of(const KernelCall& c) {
  const TensorView &x = c.in[0], &out = c.out[0];
  const auto kind = static_cast<FftKind>(c.node->integer(AttrKey::kind));
  const bool forward = c.node->integer(AttrKey::forward) != 0;
  std::vector<int> axes;
  for (Dim a : c.node->dims(AttrKey::axes)) {
    axes.push_back(static_cast<int>(a.value() < 0 ? a.value() + x.rank : a.value()));
  }
  std::vector<FftStage> stages;
  if (axes.empty()) {  // a copy
    const std::int64_t all[] = {x.numel(), 1};
    add_axis(stages, all, 1, 1, FftKind::complex_to_complex, forward);
    return stages;
  }
  const TensorView& spectrum = kind == FftKind::complex_to_real ? x : out;
  const int last = axes.back();
  if (kind == FftKind::real_to_complex) add_axis(stages, x.shape(), last, x.size(last), kind, forward);
  if (kind != FftKind::complex_to_complex) axes.pop_back();
  for (std::size_t i = axes.size(); i-- > 0;) {
    add_axis(stages, spectrum.shape(), axes[i], spectrum.size(axes[i]), FftKind::complex_to_complex, forward);
  }
  if (kind == FftKind::complex_to_real) add_axis(stages, out.shape(), last, out.size(last), kind, forward);
  return stages;
}

constexpr std::int64_t kUnrolled = 8;

TensorView line(std::int64_t n, DType t) {
  TensorView v;
  v.dtype = t;
  v.rank = 1;
  v.sizes[0] = n;
  make_contiguous(v);
  return v;
}

void fft(const KernelCall& c, Launches& list) {
  const TensorView &x = c.in[0], &out = c.out[0];
  if (out.numel() == 0) return;
  const bool wide = x.dtype == DType::f64 || x.dtype == DType::c128;
  const DType t = wide ? DType::c128 : DType::c64;
  const double scale = scale_of(c, is_complex(out.dtype) ? x : out);
  const std::vector<FftStage> stages = stages_of(c);
  std::int64_t largest = 0;
  for (const FftStage& s : stages) largest = std::max(largest, s.count());
  const auto bytes = static_cast<std::uint64_t>(largest * element_size(t));
  std::uint64_t between[2] = {};
  if (stages.size() > 1) between[0] = list.scratch(bytes);
  if (stages.size() > 2) between[1] = list.scratch(bytes);
  std::size_t table = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const FftStage& s = stages[i];
    const bool begins = i == 0, ends = i + 1 == stages.size();
    // Long sums lose digits.
    const DType sum = s.radix <= kUnrolled ? t : wide_type(t, list.target().has_double);
    if (s.first) table = list.table(roots(s.size, s.forward, t));
    Launch k("fft");
    k.source.arithmetic("SUM", sum);
    if (s.radix == 2 || s.radix == 4 || s.radix == 8) {
      k.source.define("RADIX", s.radix);
    } else {
      k.source.choice("RADIX", s.radix);
    }
    const DType in = begins ? x.dtype : t;
    if (begins) {
      k.input("x", 0, in);
      k.source.view("x", x);
    } else {
      k.scratch("x", between[(i - 1) % 2], in, false);
      k.source.view("x", line(s.outer * s.input_size() * s.inner, in));
    }
    k.load("LOAD_X", in, sum);
    k.table("roots", table, t);
    k.load("LOAD_ROOT", t, sum);
    if (ends) {
      k.output("y", 0, out.dtype);
    } else {
      k.scratch("y", between[i % 2], t, true);
    }
    k.store("STORE", sum, ends ? out.dtype : t);
    k.source.choice("HALF", s.half_in ? 1 : 0);
    k.source.parameter("scale", sum == DType::c128 ? DType::f64 : DType::f32, ends ? scale : 1.0);
    k.parameter("count", s.count());
    k.parameter("inner", s.inner);
    k.parameter("in_size", s.input_size());
    k.parameter("out_size", s.output_size());
    k.parameter("size", s.size);
    k.parameter("before", s.joined_size);
    k.parameter("joined", s.joined_size * s.radix);
    k.parameter("after", s.size / (s.joined_size * s.radix));
    list.add(std::move(k), s.count());
  }
}

// Sizes of each radix with a loop of its own, of a radix without, and of a long sum.
constexpr std::string_view kFftSamples[] = {
    "T=c64|c128: T[2|3|4|8|11]; axes=[0], kind=complex_to_complex",
    "T=f32|f64: T[2|3|4|8|11]; axes=[0], kind=real_to_complex",
    "T=c64|c128: T[2]; axes=[0], kind=complex_to_real, length=2|3",
    "T=c64|c128: T[3]; axes=[0], kind=complex_to_real, length=4",
    "T=c64|c128: T[5]; axes=[0], kind=complex_to_real, length=8",
    "T=c64|c128: T[6]; axes=[0], kind=complex_to_real, length=11",
};

}  // namespace

void define_fft(Definitions& d) {
  d.set(Op::fft, kernel<fft>(), {.samples = kFftSamples});
}

}  // namespace tern::portable
