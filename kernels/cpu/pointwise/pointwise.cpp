// Runs pointwise nodes: tile by tile, one loop for each instruction, the tiles spread over threads.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "dtypes/convert.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/pointwise/kernels.h"
#include "kernels/cpu/pointwise/plan.h"
#include "kernels/cpu/scratch.h"

namespace tern::pointwise {
namespace {

constexpr std::int64_t kGrain = 1 << 15;  // additions that are worth a thread

/// What one thread works with: buffers, and where each step's tile lies.
class Worker {
 public:
  Worker(const Plan& plan, const KernelCall& call) : plan_(plan), call_(call) {
    const std::size_t pointers = (plan.steps.size() * sizeof(std::byte*) + 63) / 64 * 64;
    std::byte* memory = thread_buffer<std::byte>(pointers + plan.slots * plan.slot_bytes);
    where_ = reinterpret_cast<std::byte**>(memory);
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const std::ptrdiff_t slot = plan.steps[i].slot;
      where_[i] = slot < 0 ? nullptr : memory + pointers + static_cast<std::size_t>(slot) * plan.slot_bytes;
    }
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      if (plan.steps[i].uniform) run(i, {0, plan.tile}, where_[i]);
    }
  }

  void run_tile(const Tile& t) {
    const std::size_t last = plan_.steps.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
      if (!plan_.steps[i].uniform) run(i, t, where_[i]);
    }
    std::byte* out = call_.out[0].data + run_bytes(call_.out[0].dtype, t.start);
    if (!plan_.steps[last].uniform) run(last, t, out);
    // A result that was not made in place: an operand as it is, or a value that is the same everywhere.
    const Step& s = plan_.steps[last];
    if (s.uniform || s.kind == Step::Kind::bitcast) copy(out, where_[last], t.count);
  }

 private:
  void copy(std::byte* to, const std::byte* from, std::int64_t count) const {
    if (to != from) std::memcpy(to, from, static_cast<std::size_t>(run_bytes(call_.out[0].dtype, count)));
  }

  void run(std::size_t i, const Tile& t, std::byte* dst) {
    const Step& s = plan_.steps[i];
    switch (s.kind) {
      case Step::Kind::loop: s.loop(dst, where_[s.a], where_[s.b], where_[s.c], t.count); break;
      case Step::Kind::convert: convert(where_[s.a], s.from, dst, s.to, t.count, s.overflow); break;
      case Step::Kind::load: load(i, t, dst); break;
      case Step::Kind::bitcast: where_[i] = where_[s.a]; break;
      case Step::Kind::constant: fill(dst, s.constant.data(), element_size(s.to), t.count); break;
      case Step::Kind::index: positions(s, t, reinterpret_cast<std::int64_t*>(dst)); break;
    }
  }

  void load(std::size_t i, const Tile& t, std::byte* dst) {
    const Load& l = plan_.loads[plan_.steps[i].load];
    const TensorView& in = call_.in[l.input];
    if (l.uniform) return fill(dst, in.data, l.element, t.count);
    const bool result = i + 1 == plan_.steps.size();
    if (l.linear) {
      where_[i] = in.data + run_bytes(in.dtype, t.start);
    } else if (plan_.by_rows && l.strides[static_cast<std::size_t>(plan_.rank) - 1] == 1) {
      where_[i] = in.data + offset(l, t.start) * l.element;
    } else {
      return gather(plan_, l, in.data, t.start, t.count, dst);
    }
    if (result) copy(dst, where_[i], t.count);
  }

  std::int64_t offset(const Load& l, std::int64_t position) const {
    std::int64_t at = 0;
    for (auto d = static_cast<std::size_t>(plan_.rank); d-- > 0;) {
      at += position % plan_.sizes[d] * l.strides[d];
      position /= plan_.sizes[d];
    }
    return at;
  }

  static void positions(const Step& s, const Tile& t, std::int64_t* dst) {
    std::int64_t position = t.start / s.inner % s.size;
    std::int64_t left = s.inner - t.start % s.inner;
    for (std::int64_t i = 0; i < t.count;) {
      const std::int64_t run = std::min(left, t.count - i);
      for (std::int64_t k = 0; k < run; ++k) dst[i + k] = position;
      i += run;
      left = s.inner;
      if (++position == s.size) position = 0;
    }
  }

  const Plan& plan_;
  const KernelCall& call_;
  std::byte** where_ = nullptr;
};

std::unique_ptr<KernelState> prepare(const KernelCall& call) {
  return std::make_unique<Plan>(call);
}

void run(KernelCall& call) {
  std::unique_ptr<KernelState> own;
  if (call.state == nullptr) own = prepare(call);
  const Plan& plan = static_cast<const Plan&>(call.state != nullptr ? *call.state : *own);
  if (plan.total == 0) return;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (plan.cost * plan.tile));
  parallel_for(plan.tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    Worker worker(plan, call);
    for (std::int64_t i = begin; i < end; ++i) worker.run_tile(plan.tile_at(i));
  });
}

}  // namespace

void register_pointwise(KernelTable& t) {
  Kernel k;
  k.run = run;
  k.prepare = prepare;
  k.strided = kAllStrided;
  k.in_place = 0;
  t.set(Op::pointwise, k);
}

}  // namespace tern::pointwise
