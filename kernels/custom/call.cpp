#include "kernels/custom/call.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>

#include "kernels/custom/library.h"
#include "threads/threads.h"

namespace tern {
namespace {

static_assert(TERN_OP_MAX_RANK == kMaxRank);
static_assert(TERN_ARGUMENT_TEXT == static_cast<int>(CustomArgument::Kind::text));

tern_tensor tensor(const TensorView& v) {
  tern_tensor t{v.data, static_cast<tern_dtype>(v.dtype), v.rank, {}};
  std::copy_n(v.sizes.begin(), v.rank, t.sizes);
  return t;
}

bool same_type(const tern_tensor& a, const tern_tensor& b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.sizes, a.sizes + a.rank, b.sizes);
}

std::string describe(const tern_tensor& t) {
  if (t.dtype <= 0 || t.dtype >= kTensorDTypeCount || t.rank < 0 || t.rank > kMaxRank) return "no tensor";
  std::string sizes;
  for (int i = 0; i < t.rank; ++i) sizes += fmt::format("{}{}", i == 0 ? "" : ", ", t.sizes[i]);
  return fmt::format("{}[{}]", name_of(static_cast<DType>(t.dtype)), sizes);
}

}  // namespace

CustomCall::CustomCall(const KernelCall& c) : name_(c.node->text(AttrKey::name)), op_(find_custom_op(name_)) {
  if (op_ == nullptr) fail(ErrorCode::unsupported, fmt::format("no library provides '{}'", name_));
  arguments_ = custom_arguments(*c.node);
  for (const Dim& d : c.node->dims(AttrKey::value)) integers_.push_back(d.value());
  for (const TensorView& v : c.in) {
    tensors_.push_back(tensor(v));
    tensors_.back().data = nullptr;
  }
  numbers_ = c.node->numbers(AttrKey::hyper);
  results_.resize(c.out.size());
  Operands asked = operands();
  invoke(asked, op_->infer, "refuses its arguments");
  results_ = std::move(asked.results);
  for (std::size_t i = 0; i < c.out.size(); ++i) {
    const tern_tensor traced = tensor(c.out[i]);
    if (c.wants(i) && !same_type(results_[i], traced)) {
      fail(ErrorCode::runtime, fmt::format("'{}' infers {} for result {}, the exported program has {}", name_,
                                           describe(results_[i]), i, describe(traced)));
    }
  }
}

CustomCall::Operands CustomCall::operands() const {
  Operands o{tensors_, results_, {}};
  std::size_t tensors = 0, integers = 0, number = 0;
  for (const CustomArgument& a : arguments_) {
    tern_argument to{a.name.c_str(), static_cast<std::int32_t>(a.kind), a.count, nullptr, nullptr, nullptr, nullptr};
    const auto count = static_cast<std::size_t>(a.count);
    switch (a.kind) {
      case CustomArgument::Kind::none: break;
      case CustomArgument::Kind::tensors:
        to.tensors = o.tensors.data() + tensors;
        tensors += count;
        break;
      case CustomArgument::Kind::integers:
        to.integers = integers_.data() + integers;
        integers += count;
        break;
      case CustomArgument::Kind::numbers:
        to.numbers = numbers_.data() + number;
        number += count;
        break;
      case CustomArgument::Kind::text: to.text = a.text.c_str(); break;
    }
    o.arguments.push_back(to);
  }
  return o;
}

void CustomCall::invoke(Operands& o, const std::function<int(tern_op_call*)>& function, const char* what,
                        const OperatorGroups* groups) const {
  std::array<char, 512> message{};
  tern_op_call call{};
  call.size = sizeof call;
  call.argument_count = static_cast<std::int32_t>(o.arguments.size());
  call.arguments = o.arguments.data();
  call.result_count = static_cast<std::int32_t>(o.results.size());
  call.results = o.results.data();
  call.threads = Threads::current().count();
  call.message = message.data();
  call.message_size = message.size();
  call.groups = groups == nullptr ? nullptr : groups->functions();
  const int status = call_library(fmt::format("'{}' {}", name_, what), [&] {
    const int returned = function(&call);
    // A failed collective is over for all ranks, even if the operator ignores the failure.
    if (groups != nullptr && groups->failure() != nullptr) std::rethrow_exception(groups->failure());
    return returned;
  });
  message.back() = '\0';
  if (status == 0) return;
  fail(ErrorCode::runtime,
       fmt::format("'{}' {}: {}", name_, what, message[0] != '\0' ? message.data() : fmt::format("status {}", status)));
}

void CustomCall::run(const std::vector<void*>& in, const std::vector<void*>& out, OperatorGroups& groups) const {
  Operands o = operands();
  for (std::size_t i = 0; i < o.tensors.size(); ++i) o.tensors[i].data = in[i];
  for (std::size_t i = 0; i < o.results.size(); ++i) o.results[i].data = out[i];
  invoke(o, op_->run, "failed", &groups);
}

tern_op_plan CustomCall::plan(const tern_op_kernel& kernel) const {
  tern_op_plan plan{};
  plan.size = sizeof plan;
  Operands o = operands();
  invoke(
      o, [&](tern_op_call* call) { return kernel.plan(call, &plan); }, "has no kernel for its arguments");
  const auto parameters = [](std::int32_t count) { return count >= 0 && count <= TERN_OP_MAX_PARAMETERS; };
  if (plan.text == nullptr || plan.function == nullptr || !parameters(plan.integer_count) ||
      !parameters(plan.number_count)) {
    fail(ErrorCode::runtime,
         fmt::format("the plan of '{}' lacks a text or a function, or has more than {} integers or numbers", name_,
                     TERN_OP_MAX_PARAMETERS));
  }
  return plan;
}

}  // namespace tern
