// The op optim on the CPU.
#include <algorithm>
#include <vector>

#include "kernels/cpu/optim/job.h"
#include "kernels/cpu/optim/register.h"

namespace tern {
namespace {

struct OptimState : KernelState {
  explicit OptimState(const Node& node) : layout(node) {}
  OptimLayout layout;
  cpu::OptimOptions options;
  std::array<DType, kOptimLists> dtypes{};
  std::vector<std::int64_t> element_ends;  ///< running sums of the parameters' element counts
};

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  auto s = std::make_unique<OptimState>(*c.node);
  const std::int64_t mode = c.node->integer(AttrKey::mode);
  const std::vector<double>& hyper = c.node->numbers(AttrKey::hyper);
  s->options.kind = s->layout.kind;
  std::ranges::copy(hyper, s->options.hyper.begin());
  s->options.nesterov = (mode & kOptimNesterov) != 0;
  s->options.first = (mode & kOptimFirst) != 0;
  s->options.advance = (mode & kOptimAdvance) != 0;
  s->options.decoupled = (mode & kOptimDecoupled) != 0 || s->layout.kind == OptimKind::adamw;
  s->options.maximize = c.node->integer(AttrKey::maximize) != 0;
  for (std::size_t i = 0; i < kOptimLists; ++i) {
    const auto list = static_cast<OptimList>(i);
    if (s->layout.has(list)) s->dtypes[i] = c.in[s->layout.operand(list, 0)].dtype;
  }
  std::int64_t end = 0;
  for (std::size_t i = 0; i < s->layout.params(); ++i)
    s->element_ends.push_back(end += c.in[s->layout.operand(OptimList::param, i)].numel());
  s->table_bytes = s->element_ends.size() * sizeof(std::int64_t);
  return s;
}

class OptimNodeMemory : public cpu::OptimMemory {
 public:
  OptimNodeMemory(const KernelCall& call, const OptimLayout& layout) : call_(call), layout_(layout) {}
  cpu::OptimTensors tensors(std::size_t i) const override {
    cpu::OptimTensors t;
    for (std::size_t k = 0; k < kOptimLists; ++k) {
      const auto list = static_cast<OptimList>(k);
      if (layout_.has(list)) t.in[k] = call_.in[layout_.operand(list, i)].data;
      if (layout_.is_result(list)) t.out[k] = call_.out[layout_.result(list, i)].data;
    }
    return t;
  }

 private:
  const KernelCall& call_;
  const OptimLayout& layout_;
};

void run_optim(KernelCall& c) {
  const auto& s = static_cast<const OptimState&>(*c.state);
  const OptimNodeMemory memory(c, s.layout);
  cpu::OptimJob job;
  job.options = s.options;
  job.dtypes = s.dtypes;
  job.element_ends = s.element_ends;
  job.shared_step = s.layout.count(OptimList::step) <= 1;
  job.list = &memory;
  cpu::run_optim(job);
}

/// Operand whose new content is result k.
int updated_operand(const Node& node, std::size_t k) {
  return OptimLayout(node).updated(k);
}

}  // namespace

void register_cpu_optim(KernelTable& t) {
  Kernel k;
  k.run = run_optim;
  k.prepare = prepare;
  k.in_place_input = updated_operand;
  t.set(Op::optim, k);
}

}  // namespace tern
