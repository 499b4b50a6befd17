#include <tern/error.h>

#include <cstring>
#include <utility>

#include "kernels/generate/text_compiler.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/failure.h"

namespace tern::generate {
namespace {

portable::Launcher* g_launcher = nullptr;

struct DefinitionState : KernelState {
  const Kernel* kernel = nullptr;
  std::unique_ptr<KernelState> inner;
};

/// The call passed to the portable kernel.
KernelCall bind_launcher(const KernelCall& c, const KernelState* state) {
  KernelCall inner = c;
  inner.launcher = g_launcher;
  inner.state = state;
  return inner;
}

const DefinitionState& state_of(const KernelCall& c) {
  return *static_cast<const DefinitionState*>(c.state);
}

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  auto state = std::make_unique<DefinitionState>();
  state->kernel = &portable_kernels().kernels[static_cast<std::size_t>(c.node->op)];
  if (state->kernel->prepare != nullptr) state->inner = state->kernel->prepare(bind_launcher(c, nullptr));
  return state;
}

std::size_t scratch(const KernelCall& c) {
  const DefinitionState& state = state_of(c);
  return state.kernel->scratch == nullptr ? 0 : state.kernel->scratch(bind_launcher(c, state.inner.get()));
}

void run(KernelCall& c) {
  const DefinitionState& state = state_of(c);
  KernelCall inner = bind_launcher(c, state.inner.get());
  auto* const number = reinterpret_cast<std::int32_t*>(g_launcher->failure());
  *number = 0;  // clears the number left by a failed run
  state.kernel->run(inner);
  const int failure = std::exchange(*number, 0);
  if (failure != 0) fail(ErrorCode::runtime, portable::failure_message(failure));
}

}  // namespace

const KernelTable& definition_kernels(portable::Launcher& launcher) {
  static const KernelTable table = [] {
    KernelTable t = cpu_kernels();
    for (std::size_t op = 0; op <= kMaxOp; ++op) {
      const Kernel& definition = portable_kernels().kernels[op];
      if (definition.run == nullptr || definition.run == t.kernels[op].run ||
          op == static_cast<std::size_t>(Op::custom))
        continue;
      Kernel k;
      k.run = run;
      k.scratch = scratch;
      k.prepare = prepare;
      k.strided = definition.strided;
      k.in_place = definition.in_place;
      k.in_place_input = definition.in_place_input;
      t.kernels[op] = k;
    }
    return t;
  }();
  if (g_launcher == nullptr) g_launcher = &launcher;
  if (g_launcher != &launcher) fail(ErrorCode::internal, "definitions run by another launcher already");
  return table;
}

}  // namespace tern::generate
