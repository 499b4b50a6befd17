#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "dtypes/convert.h"
#include "kernels/portable/compiled.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/failure.h"
#include "kernels/portable/launches.h"
#include "schema/op_record.h"

namespace tern::portable {
namespace {

/// An operand or result in another type, in the node's scratch.
struct ConvertedTensor {
  std::size_t index;
  std::uint64_t offset;
};

const CompiledTexts& texts_of(const KernelCall& c) {
  return definitions().compiled[static_cast<std::size_t>(c.node->op)];
}

bool is_exact_without(const KernelCall& c) {
  const auto exact = texts_of(c).exact;
  return exact != nullptr && exact(c);
}

DType type_of_input(const KernelCall& c, std::size_t k) {
  const CompiledTexts& t = texts_of(c);
  return t.input != nullptr ? t.input(c, k) : text_type(c.in[k].dtype, t.sight);
}

DType type_of_output(const KernelCall& c, std::size_t k) {
  const CompiledTexts& t = texts_of(c);
  return t.output != nullptr ? t.output(c, k) : text_type(c.out[k].dtype, t.sight);
}

struct CompiledState : KernelState {
  const Kernel* kernel = nullptr;
  std::unique_ptr<KernelState> inner;
  std::vector<TensorView> in, out;  ///< operands and results in the texts' types
  std::vector<ConvertedTensor> inputs, outputs;
  /// Bytes. The scratch holds the inner kernel's scratch first, then converted tensors, then a run's views.
  std::uint64_t inner_scratch = 0, views_at = 0, scratch = 0;
};

std::uint64_t bytes_of(const TensorView& v) {
  return static_cast<std::uint64_t>(v.numel()) * static_cast<std::uint64_t>(element_size(v.dtype));
}

/// `views` in the texts' types, given by `type`; converted tensors get space in the scratch.
template <class Type>
std::vector<ConvertedTensor> convert_views(std::vector<TensorView>& views, std::uint64_t* scratch, const Type& type) {
  std::vector<ConvertedTensor> changed;
  for (std::size_t k = 0; k < views.size(); ++k) {
    if (views[k].dtype == DType::invalid || type(k) == views[k].dtype) continue;
    views[k].dtype = type(k);
    changed.push_back({k, *scratch});
    *scratch += (bytes_of(views[k]) + 63) / 64 * 64;
  }
  return changed;
}

/// The inner kernel's call, with these views.
KernelCall inner_call(const KernelCall& c, const CompiledState& state, std::span<TensorView> in,
                      std::span<TensorView> out) {
  KernelCall inner = c;
  inner.in = in;
  inner.out = out;
  inner.scratch = {};
  inner.state = state.inner.get();
  inner.launcher = is_exact_without(c) ? nullptr : &compiled_launcher();
  return inner;
}

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  auto state = std::make_unique<CompiledState>();
  const bool exact = is_exact_without(c);
  state->kernel = &(exact ? cpu_kernels() : portable_kernels()).kernels[static_cast<std::size_t>(c.node->op)];
  state->in.assign(c.in.begin(), c.in.end());
  state->out.assign(c.out.begin(), c.out.end());
  if (!exact) {
    state->inputs = convert_views(state->in, &state->scratch, [&](std::size_t k) { return type_of_input(c, k); });
    state->outputs = convert_views(state->out, &state->scratch, [&](std::size_t k) { return type_of_output(c, k); });
  }
  const KernelCall before = inner_call(c, *state, state->in, state->out);
  if (state->kernel->prepare != nullptr) state->inner = state->kernel->prepare(before);
  const KernelCall inner = inner_call(c, *state, state->in, state->out);
  if (state->kernel->scratch != nullptr) state->inner_scratch = state->kernel->scratch(inner);
  // Converted tensors follow the inner kernel's scratch.
  state->inner_scratch = (state->inner_scratch + 63) / 64 * 64;
  state->views_at = state->inner_scratch + state->scratch;
  state->scratch = state->views_at + (state->in.size() + state->out.size()) * sizeof(TensorView);
  return state;
}

std::size_t scratch(const KernelCall& c) {
  return static_cast<const CompiledState*>(c.state)->scratch;
}

void run(KernelCall& c) {
  const auto& state = *static_cast<const CompiledState*>(c.state);
  auto* const views = reinterpret_cast<TensorView*>(c.scratch.data() + state.views_at);
  const std::span<TensorView> in(views, state.in.size()), out(views + in.size(), state.out.size());
  std::ranges::uninitialized_copy(state.in, in);
  std::ranges::uninitialized_copy(state.out, out);
  for (std::size_t k = 0; k < in.size(); ++k) in[k].data = c.in[k].data;
  for (std::size_t k = 0; k < out.size(); ++k) out[k].data = c.out[k].data;
  std::byte* const converted = c.scratch.data() + state.inner_scratch;
  for (const ConvertedTensor& x : state.inputs) {
    in[x.index].data = converted + x.offset;
    convert(c.in[x.index].data, c.in[x.index].dtype, converted + x.offset, in[x.index].dtype, c.in[x.index].numel());
  }
  for (const ConvertedTensor& x : state.outputs) out[x.index].data = converted + x.offset;
  KernelCall inner = inner_call(c, state, in, out);
  inner.scratch = c.scratch.first(state.inner_scratch);
  auto* const number = reinterpret_cast<std::int32_t*>(compiled_launcher().failure());
  *number = 0;  // clears the number left by a failed run
  state.kernel->run(inner);
  const int failure = std::exchange(*number, 0);
  if (failure != 0) fail(ErrorCode::runtime, failure_message(failure));
  if (has_trait(c.node->op, Trait::data_sized)) std::ranges::copy(out, c.out.begin());  // the memory is known now
  for (const ConvertedTensor& x : state.outputs) {
    convert(converted + x.offset, out[x.index].dtype, c.out[x.index].data, c.out[x.index].dtype,
            c.out[x.index].numel());
  }
}

}  // namespace

void add_definitions(KernelTable& t, bool replace) {
  for (std::size_t op = 0; op <= kMaxOp; ++op) {
    const bool native = t.kernels[op].run != nullptr;
    if (definitions().compiled[op].samples.empty() || (native && !replace)) continue;
    t.kernels[op] = compiled_kernel(static_cast<Op>(op));
  }
}

const Kernel& kernel_for(const KernelTable& table, const KernelCall& call) {
  static const KernelTable definitions = [] {
    KernelTable t;
    add_definitions(t, true);
    return t;
  }();
  const auto op = static_cast<std::size_t>(call.node->op);
  const Kernel& kernel = table.kernels[op];
  return kernel.serves == nullptr || kernel.serves(call) ? kernel : definitions.kernels[op];
}

Kernel compiled_kernel(Op op) {
  const Kernel& definition = portable_kernels().kernels[static_cast<std::size_t>(op)];
  Kernel k;
  k.run = run;
  k.scratch = scratch;
  k.prepare = prepare;
  k.in_place = definition.in_place;
  k.in_place_input = definition.in_place_input;
  return k;
}

}  // namespace tern::portable
