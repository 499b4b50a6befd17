// nonzero, masked_select and repeat_interleave.
#include <limits>

#include "kernels/portable/axes.h"
#include "kernels/portable/counting.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/movement.h"
#include "kernels/portable/scan_groups.h"

namespace tern::portable {
namespace {

/// Runs all launches except the last; the last launch writes the result after its memory is allocated.
std::int64_t run_counting(KernelCall& call) {
  const auto* list = static_cast<const Launches*>(call.state);
  list->run(call, 0, list->size() - 1);
  return read_total(call);
}

void run_writing(KernelCall& call, std::int64_t count, std::span<const std::int64_t> sizes) {
  allocate_result(call, count, sizes);
  const auto* list = static_cast<const Launches*>(call.state);
  if (call.out[0].numel() > 0) list->run(call, list->size() - 1, list->size());
}

/// An operand counted by its nonzero elements.
void declare_counted(Launch& k, const KernelCall& c, std::size_t operand, const TensorView& view) {
  k.input("mask", operand, c.in[operand].dtype);
  k.load("LOAD_MASK", c.in[operand].dtype, DType::boolean);
  k.source.view("mask", view);
  k.source.define("IS_COUNTED(i)", "LOAD_MASK(mask, at_mask(i, &p))");
}

void nonzero(const KernelCall& c, Launches& list) {
  const TensorView& x = c.in[0];
  const Counting n = make_counting(list, x.numel());
  Launch counts("count_blocks");
  declare_counted(counts, c, 0, x);
  add_counting(list, std::move(counts), n);
  Launch k("nonzero");
  declare_counted(k, c, 0, x);
  declare_counts(k, n, false);
  k.output("out", 0, DType::i64);
  std::vector<std::int64_t> sizes(x.shape().begin(), x.shape().end());
  sizes.resize(kMaxRank);  // a single text for all ranks
  k.parameter("rank", x.rank);
  k.source.parameter("sizes", sizes);
  list.add(std::move(k), std::max<std::int64_t>(n.blocks, 1));
}

void run_nonzero(KernelCall& call) {
  const std::int64_t count = run_counting(call);
  const std::int64_t sizes[] = {count, call.in[0].rank};
  run_writing(call, count, sizes);
}

void masked_select(const KernelCall& c, Launches& list) {
  const TensorView &x = c.in[0], &mask = c.in[1];
  TensorView both;
  both.rank = std::max(x.rank, mask.rank);
  for (int i = 0; i < both.rank; ++i) {
    const int a = i - (both.rank - x.rank), b = i - (both.rank - mask.rank);
    const std::int64_t size = a < 0 ? 1 : x.size(a);
    both.sizes[static_cast<std::size_t>(i)] = size == 1 && b >= 0 ? mask.size(b) : size;
  }
  const Counting n = make_counting(list, both.numel());
  Launch counts("count_blocks");
  declare_counted(counts, c, 1, broadcast(mask, both));
  add_counting(list, std::move(counts), n);
  const DType t = carrier(x.dtype);
  Launch k("masked_select");
  declare_counted(k, c, 1, broadcast(mask, both));
  k.input("x", 0, t);
  k.source.view("x", broadcast(x, both));
  declare_counts(k, n, false);
  k.output("out", 0, t);
  list.add(std::move(k), std::max<std::int64_t>(n.blocks, 1));
}

void run_masked_select(KernelCall& call) {
  const std::int64_t count = run_counting(call);
  run_writing(call, count, {&count, 1});
}

/// Start of each slice in the result; the total is at the scratch's begin, followed by the starts.
void repeat_interleave(const KernelCall& c, Launches& list) {
  const TensorView x = as_line(c.in[0]);
  const std::int64_t n = x.size(axis_of(*c.node, x.rank));
  const std::uint64_t total = list.scratch(sizeof(std::int64_t));
  const std::uint64_t starts = list.scratch(static_cast<std::uint64_t>(n) * sizeof(std::int64_t));
  const auto repeats = [&](Launch& k) {
    k.input("repeats", 1, c.in[1].dtype);
    k.may_fail();
    k.parameter("step", c.in[1].numel() == 1 ? 0 : c.in[1].stride(0));
  };
  if (scans_by_groups(list.target(), n)) {
    return start_sums(list, n, starts, total, [&](Launch& k) {
      repeats(k);
      k.parameter("most", std::numeric_limits<std::int64_t>::max() / n);
      k.source.define("READ(line, k, v, place)",
                      "v = (tern_i64)repeats[(k) * p.step]; "
                      "if (v < 0 || v > p.most) { TERN_FAIL(TERN_FAIL_negative_count); v = 0; }");
    });
  }
  Launch k("repeat_starts");
  repeats(k);
  k.scratch("starts", starts, DType::i64, true);
  k.scratch("total", total, DType::i64, true);
  k.parameter("count", n);
  list.add(std::move(k), 1);
}

void run_repeat_interleave(KernelCall& call) {
  run_launches(call);
  const std::int64_t count = read_total(call);
  const TensorView& x = call.in[0];
  const int axis = axis_of(*call.node, x.rank);
  std::vector<std::int64_t> sizes(x.shape().begin(), x.shape().end());
  sizes[static_cast<std::size_t>(axis)] = count;
  allocate_result(call, count, sizes);
  Axes outer, inner;
  for (int i = 0; i < x.rank; ++i) {
    if (i != axis) (i < axis ? outer : inner).add(x.size(i), x.stride(i));
  }
  const DType t = carrier(x.dtype);
  Launches list(call);
  list.scratch(sizeof(std::int64_t));            // the total
  const std::uint64_t starts = list.scratch(0);  // allocated by repeat_interleave
  Launch k("repeat_interleave");
  k.input("x", 0, t);
  k.scratch("starts", starts, DType::i64, false);
  k.output("out", 0, t);
  outer.declare(k.source, "outer");
  inner.declare(k.source, "inner");
  k.parameter("count", outer.count * count * inner.count);
  k.parameter("rows", count);
  k.parameter("slices", x.size(axis));
  k.parameter("inner", inner.count);
  k.parameter("x_step", x.stride(axis));
  list.add(std::move(k), outer.count * count * inner.count);
  list.run(call);
}

DType as_mask(const KernelCall&, std::size_t) {
  return DType::boolean;
}

DType as_it_is(const KernelCall& c, std::size_t k) {
  return c.in[k].dtype;
}
DType as_operand(const KernelCall& c, std::size_t) {
  return c.in[0].dtype;
}

constexpr std::string_view kNonzeroSamples[] = {
    "bool[4]; symbols=[4]",
};
constexpr std::string_view kMaskedSelectSamples[] = {
    // A type of each size, with and without broadcasting of either operand.
    "T=bool|bf16|f32|f64|c128: T[4,4|1], bool[4|1,4]; symbols=[4]",
};

}  // namespace

void define_data_sized(Definitions& d) {
  Kernel k = kernel<nonzero>();
  k.run = run_nonzero;
  d.set(Op::nonzero, k, {.samples = kNonzeroSamples, .input = as_mask});
  k = kernel<masked_select>();
  k.run = run_masked_select;
  d.set(Op::masked_select, k, {.samples = kMaskedSelectSamples, .input = as_it_is, .output = as_operand});
  k = kernel<repeat_interleave>();
  k.run = run_repeat_interleave;
  d.set(Op::repeat_interleave, k);
}

}  // namespace tern::portable
