// Blocked attention (kernels/portable/text/attention_blocks.inc) on every device with groups, against its definition in
// double: whole and partial blocks, one and two stages, all kinds of masks, shared key heads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

constexpr double kAttentionInfinity = std::numeric_limits<double>::infinity(),
                 kNaN = std::numeric_limits<double>::quiet_NaN();

class AttentionTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, AttentionTest, ::testing::ValuesIn(all_devices()), name_of_case);

/// flipped: strides are negative; repeated: the first axis has stride 0.
enum class AttentionLayout { dense, heads_inside, odd, turned, flipped, repeated };

struct AttentionCase {
  DType dtype;
  Sizes q, k, v;
  bool causal = false;
  std::optional<DType> mask_type = std::nullopt;
  Sizes mask = {};
  AttentionLayout layout = AttentionLayout::dense;
  /// Changes some elements of q, k, v and mask.
  void (*edit)(std::vector<Tensor>&) = nullptr;
  std::optional<double> scale = std::nullopt;
};

std::string name_of(const AttentionCase& c) {
  const auto text = [](const Sizes& sizes) {
    std::string all = "[";
    for (const std::int64_t s : sizes) all += std::to_string(s) + " ";
    return all + "]";
  };
  return std::string(tern::name_of(c.dtype)) + " " + text(c.q) + text(c.k) + text(c.v) +
         (c.mask_type ? std::string(" mask ") + std::string(tern::name_of(*c.mask_type)) + text(c.mask) : "") +
         (c.causal ? " causal" : "") + (c.scale ? " scale " + std::to_string(*c.scale) : "") + " layout " +
         std::to_string(static_cast<int>(c.layout));
}

double number(const Tensor& x, std::size_t i) {
  double value = 0;
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    value = cast_to<std::complex<double>>(x.span<const T>()[i]).real();
  });
  return value;
}

void set_element(Tensor& x, std::size_t i, double value) {
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    x.span<T>()[i] = cast_to<T>(std::complex<double>(value));
  });
}

/// Position in x of an index into a larger tensor; leading axes of x broadcast, heads are shared.
std::size_t broadcast_position(const Tensor& x, const Sizes& all, const Sizes& index) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.sizes().size(); ++i) {
    const std::size_t j = i + all.size() - x.sizes().size();
    const std::int64_t own = x.sizes()[i];
    const std::int64_t k = own == 1 ? 0 : j + 2 < all.size() ? index[j] / (all[j] / own) : index[j];
    at = at * static_cast<std::size_t>(own) + static_cast<std::size_t>(k);
  }
  return at;
}

/// The case's operands; the program reads them in the case's layout.
struct Operands {
  explicit Operands(const AttentionCase& c) {
    for (const Sizes* s : {&c.q, &c.k, &c.v}) tensors.push_back(numbers(c.dtype, *s, tensors.size() + 1));
    if (c.mask_type) {
      Tensor& mask =
          tensors.emplace_back(numbers(*c.mask_type == DType::boolean ? DType::f32 : *c.mask_type, c.mask, 9));
      if (*c.mask_type == DType::boolean) {
        Tensor seen(DType::boolean, c.mask);
        for (std::int64_t i = 0; i < mask.numel(); ++i)
          set_element(seen, static_cast<std::size_t>(i), number(mask, static_cast<std::size_t>(i)) > -1 ? 1 : 0);
        mask = seen;
      }
    }
    if (c.edit != nullptr) c.edit(tensors);
    if (c.layout == AttentionLayout::repeated) {
      for (Tensor& x : tensors) {
        const std::int64_t own = x.numel() / x.sizes()[0];
        for (std::int64_t i = own; i < x.numel(); ++i)
          set_element(x, static_cast<std::size_t>(i), number(x, static_cast<std::size_t>(i % own)));
      }
    }
  }
  std::vector<Tensor> tensors;
};

/// The program's operand, and the caller's tensor for the operand.
ValueId operand(TestProgram& p, const Tensor& x, AttentionLayout layout, std::vector<Tensor>& given) {
  Builder& b = p.b();
  const Sizes sizes = x.sizes();
  const std::size_t r = sizes.size();
  Sizes order(r), stored = sizes;
  for (std::size_t i = 0; i < r; ++i) order[i] = static_cast<std::int64_t>(i);
  if (layout == AttentionLayout::heads_inside && r > 2) std::swap(order[r - 3], order[r - 2]);
  if (layout == AttentionLayout::turned) std::swap(order[r - 2], order[r - 1]);
  for (std::size_t i = 0; i < r; ++i) stored[i] = sizes[static_cast<std::size_t>(order[i])];
  const std::int64_t spare = layout == AttentionLayout::odd ? 3 : 0;
  stored[r - 1] += spare;
  if (layout == AttentionLayout::repeated) stored[0] = 1;
  Tensor whole = numbers(x.dtype() == DType::boolean ? DType::u8 : x.dtype(), stored, 77);
  if (x.dtype() == DType::boolean) whole = Tensor(DType::boolean, stored);
  Sizes index(r, 0);  // x's index
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    std::int64_t at = 0;
    for (std::size_t j = 0; j < r; ++j) {
      std::int64_t own = index[static_cast<std::size_t>(order[j])];
      if (layout == AttentionLayout::flipped && j + 2 >= r) own = stored[j] - 1 - own;
      if (layout == AttentionLayout::repeated && j == 0) own = 0;
      at = at * stored[j] + own + (j + 1 == r && spare != 0 ? 1 : 0);
    }
    set_element(whole, static_cast<std::size_t>(at), number(x, static_cast<std::size_t>(i)));
    for (std::size_t j = r; j-- > 0;) {
      if (++index[j] < sizes[j]) break;
      index[j] = 0;
    }
  }
  given.push_back(whole);
  ValueId v = p.input(x.dtype(), Dims(stored.begin(), stored.end()));
  if (spare != 0) v = b.slice(v, static_cast<std::int64_t>(r) - 1, Dim(1), Dim(sizes[r - 1]));
  if (layout == AttentionLayout::flipped)
    v = b.flip(v, {static_cast<std::int64_t>(r) - 2, static_cast<std::int64_t>(r) - 1});
  if (layout == AttentionLayout::repeated) v = b.expand(v, Dims(sizes.begin(), sizes.end()));
  if (layout == AttentionLayout::heads_inside && r > 2)
    v = b.transpose(v, static_cast<int>(r) - 3, static_cast<int>(r) - 2);
  if (layout == AttentionLayout::turned) v = b.transpose(v, static_cast<int>(r) - 2, static_cast<int>(r) - 1);
  return v;
}

/// Tolerance of a result: rounding to the type, also of the weights.
double tolerance_of(DType t) {
  return t == DType::f8_e4m3fn ? 0x1p-2
         : t == DType::bf16    ? 0x1p-7
         : t == DType::f16     ? 0x1p-9
         : t == DType::f64     ? 1e-14
                               : 2e-5;
}

void expect_near(double found, double expected, double size, DType t, bool& same) {
  if (std::isnan(expected)) {
    same = same && std::isnan(found);
  } else if (std::isinf(expected)) {
    same = same && found == expected;
  } else {
    same = same && std::fabs(found - expected) <= size * tolerance_of(t);
  }
}

void check(const std::string& device, const AttentionCase& c) {
  SCOPED_TRACE(name_of(c) + " on " + device);
  const Operands operands(c);
  const Tensor &q = operands.tensors[0], &k = operands.tensors[1], &v = operands.tensors[2];
  TestProgram p;
  std::vector<Tensor> given;
  std::vector<ValueId> inputs;
  for (const Tensor& x : operands.tensors) inputs.push_back(operand(p, x, c.layout, given));
  std::vector<Attr> attributes{attr(AttrKey::causal, Dim(c.causal ? 1 : 0))};
  if (c.scale) attributes.push_back(attr_number(AttrKey::scale, *c.scale));
  const ValueId y = p.b().add(Op::attention, inputs, attributes);
  p.output(y);
  Session session(p.model().prepare(options_on(device)));
  const Tensor found = session.run(given)[0];

  const Sizes all = found.sizes();
  const std::size_t r = all.size();
  const std::int64_t keys = c.k[r - 2], width = c.q[r - 1], columns = all[r - 1];
  const double scale = c.scale.value_or(1 / std::sqrt(static_cast<double>(width)));
  Sizes index(r, 0);
  bool same = true;
  for (std::int64_t row = 0; row < found.numel() / columns && same; ++row) {
    std::vector<double> weights;
    double top = -kAttentionInfinity, total = 0;
    const auto at = [&](const Tensor& x, std::int64_t line, std::int64_t column) {
      Sizes i = index;
      i[r - 2] = line;
      i[r - 1] = column;
      return number(x, broadcast_position(x, all, i));
    };
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < width; ++d) score += at(q, index[r - 2], d) * at(k, j, d);
      score *= scale;
      if (c.mask_type) {
        const double m = at(operands.tensors[3], index[r - 2], j);
        if (*c.mask_type != DType::boolean) score += m;
        if (*c.mask_type == DType::boolean ? m == 0 : m == -kAttentionInfinity) score = -kAttentionInfinity;
      }
      if (c.causal && j > index[r - 2]) score = -kAttentionInfinity;
      weights.push_back(score);
      top = std::isnan(score) || std::isnan(top) ? kNaN : std::max(top, score);
    }
    for (double& w : weights) {
      w = w == -kAttentionInfinity ? 0 : std::exp(w - top);
      total += w;
    }
    for (std::int64_t column = 0; column < columns && same; ++column) {
      double sum = 0, size = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        const double w = total == 0 ? 0 : weights[static_cast<std::size_t>(j)] / total;
        if (w == 0) continue;
        sum += w * at(v, j, column);
        size += w * std::fabs(at(v, j, column));
      }
      const double y_found = number(found, static_cast<std::size_t>(row * columns + column));
      expect_near(y_found, sum, size, c.dtype, same);
      EXPECT_TRUE(same) << "row " << row << " column " << column << ": " << y_found << " instead of " << sum;
    }
    for (std::size_t j = r - 1; j-- > 0;) {
      if (++index[j] < all[j]) break;
      index[j] = 0;
    }
  }
}

bool has_blocks(const std::string& device) {
  return device != "cpu" && open_plugin_device(device).target().groups;
}

void check_all(const std::string& device, std::span<const AttentionCase> cases) {
  for (const AttentionCase& c : cases) {
    if (c.dtype == DType::f64 && !has_double(device)) continue;
    check(device, c);
  }
}

constexpr DType f32 = DType::f32, f64 = DType::f64, f16 = DType::f16, bf16 = DType::bf16, boolean = DType::boolean;

TEST_P(AttentionTest, AgreesWithItsDefinition) {
  if (!has_blocks(GetParam())) GTEST_SKIP() << "an item has a query";
  const AttentionCase some[] = {
      {f32, {2, 4, 37, 20}, {2, 2, 70, 20}, {2, 2, 70, 36}, true, boolean, {2, 1, 37, 70}},
      {bf16, {2, 4, 37, 20}, {2, 2, 70, 20}, {2, 2, 70, 36}, true, f32, {4, 37, 70}},
      {bf16, {1, 4, 1, 64}, {1, 2, 300, 64}, {1, 2, 300, 64}},
  };
  check_all(GetParam(), some);
}

void add_widths(DType t, std::vector<AttentionCase>& cases) {
  for (const std::int64_t width : {1, 24, 64, 72, 100, 128, 160, 256})
    cases.push_back({t, {2, 20, width}, {2, 40, width}, {2, 40, width}});
  for (const std::int64_t width : {1, 24, 136, 300}) cases.push_back({t, {2, 20, 32}, {2, 40, 32}, {2, 40, width}});
  cases.push_back({t, {2, 20, 264}, {2, 40, 264}, {2, 40, 264}});  // too wide for blocks
}

TEST_P(AttentionTest, TakesAllSizesMasksAndLayouts) {
  if (!has_blocks(GetParam())) GTEST_SKIP() << "an item has a query";
  if (std::getenv("TERN_TEST_FULL") == nullptr) GTEST_SKIP() << "emulated devices compile for minutes";
  std::vector<AttentionCase> cases;
  for (const DType t : {f32, bf16, f16}) {
    if (t != f16) add_widths(t, cases);
    for (const std::int64_t n : {1, 2, 15, 16, 17, 63, 64, 65, 130})  // queries and keys around blocks
      cases.push_back({t, {1, 2, n, 16}, {1, 2, n, 16}, {1, 2, n, 16}, true});
    for (const std::int64_t n : {1, 31, 64, 127, 129, 1000, 5000})  // a single query
      cases.push_back({t, {3, 1, 16}, {3, n, 16}, {3, n, 16}});
    cases.push_back({t, {1, 4, 1, 64}, {1, 2, 300, 64}, {1, 2, 300, 64}});
    cases.push_back({t, {130, 64, 64}, {130, 64, 64}, {130, 64, 64}, true});  // many blocks
    cases.push_back({t, {65, 2, 70, 128}, {65, 1, 70, 128}, {65, 1, 70, 128}, true});
    for (const Sizes& mask : {Sizes{50}, Sizes{1, 50}, Sizes{40, 1}, Sizes{40, 50}, Sizes{4, 40, 50},
                              Sizes{2, 1, 40, 50}, Sizes{2, 4, 1, 50}, Sizes{2, 4, 40, 50}}) {
      for (const DType kind : {boolean, t, f32})
        cases.push_back({t, {2, 4, 40, 16}, {2, 2, 50, 16}, {2, 2, 50, 16}, false, kind, mask});
    }
    for (const AttentionLayout layout : {AttentionLayout::heads_inside, AttentionLayout::odd, AttentionLayout::turned,
                                         AttentionLayout::flipped, AttentionLayout::repeated}) {
      cases.push_back({t, {2, 4, 40, 16}, {2, 2, 50, 16}, {2, 2, 50, 16}, true, boolean, {4, 40, 50}, layout});
      cases.push_back({t, {2, 4, 40, 16}, {2, 4, 50, 16}, {2, 4, 50, 16}, false, f32, {1, 40, 50}, layout});
    }
    for (const double scale : {0.0, -0.5, 1e-30, 40.0})
      cases.push_back(
          {t, {2, 5, 16}, {2, 40, 16}, {2, 40, 16}, true, std::nullopt, {}, AttentionLayout::dense, nullptr, scale});
    cases.push_back({t, {1, 2, 1, 2, 20, 8}, {2, 1, 2, 2, 40, 8}, {2, 2, 1, 2, 40, 24}, true});  // six axes
    cases.push_back({t, {20, 16}, {40, 16}, {40, 16}, true});                                    // no heads
    cases.push_back({t, {3, 1, 2, 20, 16}, {1, 4, 2, 40, 16}, {3, 4, 2, 40, 16}});               // broadcast axes
    cases.push_back({t, {1, 6, 5, 16}, {1, 1, 40, 16}, {1, 1, 40, 16}, true});                   // a single key head
    cases.push_back({t, {1, 8, 3, 16}, {1, 1, 700, 16}, {1, 1, 700, 16}, true});  // parts hidden by the mask
    cases.push_back({t, {2, 5, 16}, {2, 0, 16}, {2, 0, 16}});                     // no keys
    cases.push_back({t, {2, 5, 16}, {2, 400, 16}, {2, 400, 16}, true, boolean, {5, 400}});
  }
  cases.push_back({f64, {2, 20, 16}, {2, 40, 16}, {2, 40, 16}, true});
  cases.push_back({DType::f8_e4m3fn, {2, 20, 16}, {2, 40, 16}, {2, 40, 16}});
  check_all(GetParam(), cases);
}

TEST_P(AttentionTest, SeesInfinitiesAndHiddenRows) {
  if (!has_blocks(GetParam())) GTEST_SKIP() << "an item has a query";
  const auto hide = [](std::vector<Tensor>& x) {
    const std::size_t keys = 70;
    for (std::size_t j = 0; j < keys; ++j) {
      set_element(x[3], j, x[3].dtype() == boolean ? 0 : -kAttentionInfinity);  // no key visible
      set_element(x[3], keys + j,
                  x[3].dtype() == boolean ? j == 69
                  : j == 69               ? 0
                                          : -kAttentionInfinity);  // only the last key
      set_element(x[3], 2 * keys + j, x[3].dtype() == boolean ? j == 0 : j == 0 ? 0 : -kAttentionInfinity);
    }
    if (x[3].dtype() != boolean) {
      set_element(x[3], 3 * keys + 5, kAttentionInfinity);
      set_element(x[3], 4 * keys + 66, kNaN);
    }
    set_element(x[0], 5 * 16 + 3, kNaN);                // query 5
    set_element(x[0], 6 * 16 + 3, kAttentionInfinity);  // query 6: scores of both signs
  };
  // NaN in hidden keys: a block that the mask hides from all queries, and keys after the causal range.
  const auto spoil = [](std::vector<Tensor>& x) {
    for (std::size_t j = 64; j < 128; ++j) {
      set_element(x[3], j, 0);
      set_element(x[1], j * 16, kNaN);
      set_element(x[2], j * 16 + 1, kNaN);
    }
  };
  const auto spoil_end = [](std::vector<Tensor>& x) {
    for (std::size_t j = 64; j < 200; ++j) set_element(x[2], j * 16 + 1, kNaN);
  };
  // The lowest finite value as a mask: a row of only this value sees all keys equally.
  const auto hide_by_lowest = [](std::vector<Tensor>& x) {
    const double lowest = x[3].dtype() == bf16 ? -0x1.fep127 : x[3].dtype() == f16 ? -65504 : -0x1.fffffep127;
    for (std::size_t j = 0; j < 140; ++j) set_element(x[3], j, j < 70 || j % 2 == 0 ? lowest : 0);
  };
  // Each case has its own kernel source, and emulated devices compile for seconds.
  const bool all = std::getenv("TERN_TEST_FULL") != nullptr;
  std::vector<AttentionCase> cases;
  for (const DType t : {f32, bf16}) {
    if (all || t == bf16)
      cases.push_back({t, {20, 16}, {200, 16}, {200, 16}, false, boolean, {1, 200}, AttentionLayout::dense, spoil});
    if (all) {
      cases.push_back({t, {20, 16}, {70, 16}, {70, 16}, false, boolean, {20, 70}, AttentionLayout::dense, hide});
      cases.push_back({t, {20, 16}, {200, 16}, {200, 16}, true, std::nullopt, {}, AttentionLayout::dense, spoil_end});
    }
    if (all || t == f32)
      cases.push_back({t, {20, 16}, {70, 16}, {70, 16}, false, f32, {20, 70}, AttentionLayout::dense, hide});
    if (all || t == bf16)
      cases.push_back({t, {20, 16}, {70, 16}, {70, 16}, false, t, {20, 70}, AttentionLayout::dense, hide_by_lowest});
  }
  check_all(GetParam(), cases);
}

/// True if few queries have their own kernel: OpenCL has blocks, whose hidden values are multiplied by 0.
bool has_few(const std::string& device) {
  return has_blocks(device) && open_plugin_device(device).target().dialect != portable::Dialect::opencl;
}

/// NaN in keys and values from `first` to `last`, in all planes.
void spoil(std::vector<Tensor>& x, std::int64_t first, std::int64_t last) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}}) {
    const Sizes sizes = x[n].sizes();
    const std::int64_t keys = sizes[sizes.size() - 2], width = sizes.back();
    for (std::int64_t line = 0; line < x[n].numel() / width; ++line) {
      const std::int64_t key = line % keys;
      if (key >= first && key < last) set_element(x[n], static_cast<std::size_t>(line * width + key % width), kNaN);
    }
  }
}

/// A static cache: keys from the 60th on are hidden and were never written.
void hide_unwritten(std::vector<Tensor>& x) {
  const std::int64_t keys = x[3].sizes().back();
  for (std::int64_t i = 0; i < x[3].numel(); ++i)
    set_element(x[3], static_cast<std::size_t>(i),
                x[3].dtype() == boolean ? i % keys < 60
                : i % keys < 60         ? 0.25
                                        : -kAttentionInfinity);
  spoil(x, 60, keys);
}

/// The first row of the mask hides all keys, the second row the keys with NaN.
void hide_some(std::vector<Tensor>& x) {
  const auto keys = static_cast<std::size_t>(x[3].sizes().back());
  for (std::size_t j = 0; j < keys; ++j) {
    set_element(x[3], j, x[3].dtype() == boolean ? 0 : -kAttentionInfinity);
    set_element(x[3], keys + j, x[3].dtype() == boolean ? j < 5 || j > 8 : j < 5 || j > 8 ? -0.5 : -kAttentionInfinity);
  }
  spoil(x, 5, 9);
}

TEST_P(AttentionTest, TakesFewQueries) {
  if (!has_few(GetParam())) GTEST_SKIP() << "no kernel for few queries";
  const AttentionCase cases[] = {
      {f32,
       {1, 14, 1, 64},
       {1, 2, 128, 64},
       {1, 2, 128, 64},
       false,
       boolean,
       {1, 1, 1, 128},
       AttentionLayout::dense,
       hide_unwritten},
      {f32, {3, 3, 80}, {3, 1000, 80}, {3, 1000, 96}, true, f32, {3, 1000}},
      {f32, {2, 3, 3, 20}, {2, 1, 33, 20}, {2, 1, 33, 24}, true, std::nullopt, {}, AttentionLayout::odd},
      {bf16, {1, 8, 1, 128}, {1, 1, 700, 128}, {1, 1, 700, 136}, false, bf16, {700}},
      {f32, {2, 3, 16}, {2, 70, 16}, {2, 70, 16}, false, f32, {3, 70}, AttentionLayout::dense, hide_some},
  };
  check_all(GetParam(), cases);
}

TEST_P(AttentionTest, TakesFewQueriesOfAllSizes) {
  if (!has_few(GetParam())) GTEST_SKIP() << "no kernel for few queries";
  if (std::getenv("TERN_TEST_FULL") == nullptr) GTEST_SKIP() << "emulated devices compile for minutes";
  std::vector<AttentionCase> cases;
  for (const std::int64_t lines : {1, 2, 3, 7, 8, 9, 16}) {
    for (const std::int64_t keys : {1, 31, 33, 100, 1000, 5000}) {
      cases.push_back({f32, {1, lines, 1, 64}, {1, 1, keys, 64}, {1, 1, keys, 64}});  // heads
      cases.push_back({f32, {2, lines, 64}, {2, keys, 64}, {2, keys, 64}, true});     // queries
      cases.push_back({bf16, {1, lines, 1, 64}, {1, 1, keys, 64}, {1, 1, keys, 64}});
      if (keys <= 100)  // many planes
        cases.push_back({f32, {130, lines, 64}, {130, keys, 64}, {130, keys, 64}, keys == 33});
    }
  }
  for (const std::int64_t width : {1, 8, 20, 64, 80, 96, 128, 256}) {
    cases.push_back({f32, {1, 8, 1, width}, {1, 1, 100, width}, {1, 1, 100, width}});
    cases.push_back({f32, {2, 3, 64}, {2, 600, 64}, {2, 600, width}});
    cases.push_back({f32, {2, 3, width}, {2, 600, width}, {2, 600, 300}});
    cases.push_back({f16, {2, 3, width}, {2, 600, width}, {2, 600, width}});
    cases.push_back({bf16, {1, 8, 1, width}, {1, 1, 100, width}, {1, 1, 100, 264 - width}});
  }
  for (const DType t : {f32, bf16}) {
    for (const DType kind : {boolean, t, f32}) {
      for (const std::int64_t keys : {100, 1000}) {
        cases.push_back({t,
                         {1, 14, 1, 64},
                         {1, 2, keys, 64},
                         {1, 2, keys, 64},
                         false,
                         kind,
                         {1, 1, 1, keys},
                         AttentionLayout::dense,
                         hide_unwritten});
        cases.push_back({t, {2, 8, 1, 64}, {2, 2, keys, 64}, {2, 2, keys, 64}, false, kind, {2, 8, 1, keys}});
        cases.push_back({t, {2, 5, 64}, {2, keys, 64}, {2, keys, 64}, true, kind, {5, keys}});
        cases.push_back(
            {t, {2, 8, 16}, {2, keys, 16}, {2, keys, 16}, false, kind, {8, keys}, AttentionLayout::dense, hide_some});
      }
    }
    for (const AttentionLayout layout : {AttentionLayout::heads_inside, AttentionLayout::odd, AttentionLayout::turned,
                                         AttentionLayout::flipped, AttentionLayout::repeated}) {
      cases.push_back({t, {2, 4, 3, 16}, {2, 2, 50, 16}, {2, 2, 50, 16}, true, boolean, {4, 3, 50}, layout});
      cases.push_back({t, {2, 4, 1, 64}, {2, 2, 900, 64}, {2, 2, 900, 64}, false, f32, {1, 1, 900}, layout});
    }
  }
  cases.push_back({DType::f8_e4m3fn, {2, 3, 16}, {2, 40, 16}, {2, 40, 16}});
  // Emulated Metal keeps stacks for each kernel source, and Linux limits the memory mappings of a process.
  if (GetParam() == "metal") {
    std::size_t n = 0;
    std::erase_if(cases, [&](const AttentionCase&) { return n++ % 4 != 0; });
  }
  check_all(GetParam(), cases);
}

}  // namespace
}  // namespace tern
