#include "runtime/linalg/plan.h"

#include <algorithm>

#include "kernels/portable/compiled.h"
#include "schema/infer.h"

namespace tern::linalg {
namespace {

constexpr std::size_t kMaxPlans = 16;  // programs alternate between few functions and sizes

/// True if dtype, sizes and strides are equal.
bool has_same_layout(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && std::ranges::equal(a.shape(), b.shape()) &&
         std::equal(a.strides.begin(), a.strides.begin() + a.rank, b.strides.begin());
}

/// Contiguous views of the results, without memory; unwanted results stay empty.
std::vector<TensorView> infer_results(const Node& node, const Request& request) {
  Program program;
  std::vector<TensorType> types(request.operands.size());
  std::vector<const TensorType*> pointers;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const TensorView& v = request.operands[i];
    types[i] = {v.dtype, Dims(v.shape().begin(), v.shape().end())};
    pointers.push_back(&types[i]);
  }
  std::vector<TensorView> out;
  for (const TensorType& t : infer(program, program.pool, node, pointers)) {
    TensorView& v = out.emplace_back();
    if ((request.unwanted >> (out.size() - 1) & 1) != 0) continue;
    v.dtype = t.dtype;
    v.rank = t.rank();
    std::ranges::transform(t.shape, v.sizes.begin(), [](Dim d) { return d.value(); });
    make_contiguous(v);
  }
  return out;
}

std::shared_ptr<const Plan> make_plan(Request request) {
  auto plan = std::make_shared<Plan>();
  plan->node.op = request.op;
  plan->node.attrs = request.attrs;
  for (std::size_t i = 0; i < request.operands.size(); ++i) plan->node.inputs.push_back(static_cast<ValueId>(i));
  plan->out = infer_results(plan->node, request);
  plan->in = request.operands;
  plan->kernel = &portable::kernel_for(cpu_kernels(), call_of(*plan, plan->in, plan->out));
  for (std::size_t i = 0; i < plan->in.size(); ++i) {
    if ((plan->kernel->strided >> i & 1) != 0 || plan->in[i].contiguous()) continue;
    plan->made_dense |= 1U << i;
    make_contiguous(plan->in[i]);
  }
  KernelCall call = call_of(*plan, plan->in, plan->out);
  if (plan->kernel->prepare != nullptr) plan->state = plan->kernel->prepare(call);
  call.state = plan->state.get();
  if (plan->kernel->scratch != nullptr) plan->scratch = plan->kernel->scratch(call);
  plan->request = std::move(request);
  return plan;
}

}  // namespace

bool Request::operator==(const Request& other) const {
  return op == other.op && unwanted == other.unwanted && threads == other.threads && attrs == other.attrs &&
         std::ranges::equal(operands, other.operands, has_same_layout);
}

KernelCall call_of(const Plan& plan, std::span<TensorView> in, std::span<TensorView> out) {
  static constexpr bool kConstant[4] = {};  // no operand is
  KernelCall call;
  call.node = &plan.node;
  call.in = in;
  call.out = out;
  call.constant = kConstant;
  call.launcher = &portable::compiled_launcher();
  call.state = plan.state.get();
  return call;
}

std::shared_ptr<const Plan> plan_for(Request request) {
  thread_local std::vector<std::shared_ptr<const Plan>> plans;  // most recently used first
  auto found = std::ranges::find_if(plans, [&](const auto& plan) { return plan->request == request; });
  if (found == plans.end()) {
    std::shared_ptr<const Plan> new_plan = make_plan(std::move(request));
    if (plans.size() < kMaxPlans) plans.emplace_back();
    found = plans.end() - 1;
    *found = std::move(new_plan);
  }
  std::rotate(plans.begin(), found, found + 1);
  return plans.front();
}

}  // namespace tern::linalg
