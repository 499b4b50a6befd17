// custom on the CPU: calls the operator of a library.
#include "kernels/custom/call.h"
#include "kernels/custom/library.h"

namespace tern {
namespace {

struct State : KernelState {
  explicit State(const KernelCall& c) : call(c), in(c.in.size()), out(c.out.size()) {}
  CustomCall call;
  std::vector<void*> in, out;
};

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  return std::make_unique<State>(c);
}

void run(KernelCall& c) {
  auto& s = static_cast<State&>(*c.state);
  for (std::size_t i = 0; i < c.in.size(); ++i) s.in[i] = c.in[i].data;
  for (std::size_t i = 0; i < c.out.size(); ++i) s.out[i] = c.wants(i) ? c.out[i].data : nullptr;
  s.call.run(s.in, s.out);
}

}  // namespace

void register_custom(KernelTable& t) {
  t.set(Op::custom, {run, nullptr, prepare, 0, -1});
}

}  // namespace tern
