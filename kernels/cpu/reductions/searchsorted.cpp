// searchsorted: a binary search for each value.
#include "kernels/cpu/reductions/order.h"
#include "kernels/cpu/reductions/reductions.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/walk.h"
#include "threads/parallel.h"

namespace tern {
namespace {

template <class L>
void search(KernelCall& c) {
  const TensorView &s = c.in[0], &v = c.in[1];
  const std::int64_t n = s.size(s.rank - 1), count = v.numel();
  const std::int64_t per_line = s.rank > 1 ? v.size(v.rank - 1) : count;
  const bool right = c.node->integer(AttrKey::right) != 0;
  const std::int64_t* sorter = c.has(2) ? c.in[2].as<std::int64_t>() : nullptr;
  for (std::int64_t i = 0; sorter != nullptr && i < c.in[2].numel(); ++i) {
    if (sorter[i] < 0 || sorter[i] >= n) {
      fail(ErrorCode::runtime, "sorter index " + std::to_string(sorter[i]) + " is outside 0.." + std::to_string(n - 1));
    }
  }
  std::vector<L> own_s, own_v;
  const auto as_l = [](const TensorView& t, std::vector<L>& own) -> const L* {
    if (t.dtype == dtype_of_v<L>) return t.as<L>();
    own.resize(static_cast<std::size_t>(t.numel()));
    convert(t.data, t.dtype, own.data(), dtype_of_v<L>, t.numel());
    return own.data();
  };
  const L* sequence = as_l(s, own_s);
  const L* values = as_l(v, own_v);
  TensorView& out = c.out[0];
  parallel_for(count, grain_for(64), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t line = per_line == 0 ? 0 : i / per_line * n;
      std::int64_t low = 0, high = n;
      while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        const L at = sequence[line + (sorter == nullptr ? middle : sorter[line + middle])];
        // Written so that NaN, as a value or in the sequence, goes to the end.
        const bool before = right ? !(at > values[i]) : !(at >= values[i]);
        if (before) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      if (out.dtype == DType::i32) {
        out.as<std::int32_t>()[i] = static_cast<std::int32_t>(low);
      } else {
        out.as<std::int64_t>()[i] = low;
      }
    }
  });
}

}  // namespace

void cpu_searchsorted(KernelCall& c) {
  visit_real_compute(number_type(c.in[0].dtype), [&]<class L>(std::type_identity<L>) { search<L>(c); });
}

}  // namespace tern
