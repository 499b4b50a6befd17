#include "kernels/portable/wide.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/portable/axes.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kWideBytes = 16;        // bytes of an access
constexpr std::int64_t kMaxElements = 8;       // elements of an item
constexpr std::int64_t kWideItems = 1 << 17;   // enough items to keep an H100's memory busy: half of the resident items
constexpr std::int64_t kMostStatements = 512;  // statements of an item
constexpr std::int64_t kOfFunction = 40;       // approximate statements of a function

/// Approximate number of statements per element; empty for expressions with expensive functions of double.
std::optional<std::int64_t> statements(const PointwiseExpr& expr) {
  std::int64_t sum = 0;
  for (const Instruction& i : expr.code) {
    if (i.op >= Scalar::erfinv && i.op <= Scalar::legendre_p) return std::nullopt;
    const bool function = i.op == Scalar::pow || i.op == Scalar::hypot || i.op == Scalar::atan2 ||
                          (i.op >= Scalar::exp && i.op <= Scalar::sigmoid) || i.op == Scalar::erf ||
                          i.op == Scalar::erfc;
    sum += function ? kOfFunction : 1;
  }
  return sum;
}

/// An element of these bits, from memory as words.
std::string element_of_bits(DType t, const std::string& bits) {
  switch (t) {
    case DType::f32:
    case DType::f64: return fmt::format("tern_{}_of({})", type_name(t), bits);
    case DType::c64:
      return fmt::format("tern_make_c64(tern_f32_of((tern_u32)({0})), tern_f32_of((tern_u32)({0} >> 32)))", bits);
    default: return fmt::format("({})({})", c_type(t), bits);
  }
}

/// The bits of an element, as an unsigned integer of the same size.
std::string bits_of(DType t, const std::string& v) {
  switch (t) {
    case DType::f32:
    case DType::f64: return fmt::format("tern_bits_{}({})", type_name(t), v);
    case DType::c64:
      return fmt::format("((tern_u64)tern_bits_f32(({0}).x) | (tern_u64)tern_bits_f32(({0}).y) << 32)", v);
    default: return fmt::format("(tern_u{})({})", 8 * element_size(t), v);
  }
}

}  // namespace

std::int64_t enough_items(std::int64_t count, std::int64_t most) {
  while (most > 1 && count / most < kWideItems) most /= 2;
  return most;
}

std::optional<WideItems::Way> WideItems::way_of(const TensorView& view, std::int64_t each) {
  const std::vector<Axis> axes = collapse(view.shape(), {view.strides.data(), static_cast<std::size_t>(view.rank)});
  if (axes.empty()) return Way::once;
  const Axis inner = axes.back();
  if (inner.stride == 0) return axes.size() == 1 || inner.size % each == 0 ? Way::once : Way::elements;
  // The last elements of a whole line are computed one by one.
  if (inner.stride != 1 || (axes.size() > 1 && inner.size % each != 0)) return std::nullopt;
  const bool in_words = std::all_of(axes.begin(), axes.end() - 1, [&](const Axis& a) { return a.stride % each == 0; });
  return in_words ? std::optional(Way::words) : std::nullopt;
}

std::optional<WideItems> WideItems::choose(const Target& target, const TensorView& out,
                                           std::span<const TensorView> views, const PointwiseExpr& expr) {
  const std::optional<std::int64_t> length = statements(expr);
  if (!target.groups || !length) return std::nullopt;
  std::int64_t least = element_size(out.dtype), most = least;
  for (const TensorView& v : views) {
    if (v.dtype == DType::f4_e2m1) return std::nullopt;
    if (v.dtype == DType::invalid || way_of(v, 1) != Way::words) continue;
    least = std::min<std::int64_t>(least, element_size(v.dtype));
    most = std::max<std::int64_t>(most, element_size(v.dtype));
  }
  if (most > kWideBytes / 2) return std::nullopt;
  std::int64_t start = enough_items(out.numel(), std::min(kWideBytes / least, kMaxElements));
  while (start > 1 && *length * start > kMostStatements) start /= 2;
  // First looks for widths without an offset for each element of any operand, then allows offsets for repeating
  // operands.
  for (const bool repeats : {false, true}) {
    for (std::int64_t each = start; each > 1 && each * least >= 4; each /= 2) {
      WideItems w;
      w.element_count_ = each;
      const bool fits = std::ranges::all_of(views, [&](const TensorView& v) {
        const std::optional<Way> way = v.dtype == DType::invalid ? Way::once : way_of(v, each);
        w.ways_.push_back(way.value_or(Way::elements));
        return way && (repeats || *way != Way::elements);
      });
      if (fits) return w;
    }
  }
  return std::nullopt;
}

void WideItems::misaligned(const std::string& name, std::int64_t bytes) {
  misaligned_ +=
      fmt::format("{}((tern_u64){} & {}u)", misaligned_.empty() ? "" : " | ", name, std::min(bytes, kWideBytes) - 1);
}

std::string WideItems::load(std::size_t k, const std::string& name, const TensorView& view, const std::string& single) {
  if (ways_[k] == Way::elements) return single;
  const DType t = view.dtype;
  const std::string place = fmt::format("at_{}(first, &p)", name);
  if (ways_[k] == Way::once) {
    read_ += fmt::format("const {0} {1}_once = LOAD{2}({1}, {3}); ", c_type(t), name, k, place);
    return name + "_once";
  }
  const std::int64_t bytes = element_count_ * element_size(t);
  misaligned(name, bytes);
  read_ += fmt::format("tern_u32 {0}_words[{1}]; TERN_READ_{1}({0}_words, {0} + {2}) ", name, bytes / 4, place);
  return element_of_bits(t, fmt::format("TERN_ELEMENT_{}({}_words, e)", element_size(t), name));
}

void WideItems::add(Launches& list, Launch k, const TensorView& out) {
  const std::int64_t size = element_size(out.dtype), bytes = element_count_ * size;
  misaligned("out", bytes);
  k.source.add_library("word_elements");
  k.source.define("EACH", element_count_);
  k.source.define("WORDS", bytes / 4);
  k.source.define("MISALIGNED", misaligned_);
  k.source.define("READ", read_);
  k.source.define("PUT(words, e, v)", fmt::format("TERN_PUT_{}(words, e, {})", size, bits_of(out.dtype, "v")));
  k.source.define("WRITE(to, words)", fmt::format("TERN_WRITE_{}(to, words)", bytes / 4));
  const std::int64_t items = (out.numel() + element_count_ - 1) / element_count_;
  k.parameter("items", items);
  list.add(std::move(k), items);
}

}  // namespace tern::portable
