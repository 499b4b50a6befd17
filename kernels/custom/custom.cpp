// custom on the CPU: calls the operator of a library.
#include "kernels/custom/call.h"
#include "kernels/custom/library.h"

namespace tern {
namespace {

struct CustomState : KernelState {
  explicit CustomState(const KernelCall& c) : call(c) {}
  CustomCall call;
};

std::unique_ptr<KernelState> prepare_custom(const KernelCall& c) {
  return std::make_unique<CustomState>(c);
}

void run_custom(KernelCall& c) {
  std::vector<void*> in, out;
  for (const TensorView& v : c.in) in.push_back(v.data);
  for (std::size_t i = 0; i < c.out.size(); ++i) out.push_back(c.wants_output(i) ? c.out[i].data : nullptr);
  OperatorGroups groups(c.groups, *c.node);
  static_cast<const CustomState&>(*c.state).call.run(in, out, groups);
}

}  // namespace

void register_custom(KernelTable& t) {
  t.set(Op::custom, {.run = run_custom, .prepare = prepare_custom});
}

}  // namespace tern
