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

tern_tensor to_tern_tensor(const TensorView& v) {
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
    tensors_.push_back(to_tern_tensor(v));
    tensors_.back().data = nullptr;
  }
  numbers_ = c.node->numbers(AttrKey::hyper);
  results_.resize(c.out.size());
  Operands inferred = operands();
  invoke(inferred, op_->infer, "refuses its arguments");
  results_ = std::move(inferred.results);
  for (std::size_t i = 0; i < c.out.size(); ++i) {
    const tern_tensor exported = to_tern_tensor(c.out[i]);
    if (c.wants_output(i) && !same_type(results_[i], exported)) {
      fail(ErrorCode::runtime, fmt::format("'{}' infers {} for result {}, but the exported program has {}", name_,
                                           describe(results_[i]), i, describe(exported)));
    }
  }
}

CustomCall::Operands CustomCall::operands() const {
  Operands operands{tensors_, results_, {}};
  std::size_t tensor_index = 0, integer_index = 0, number_index = 0;
  for (const CustomArgument& description : arguments_) {
    tern_argument argument{description.name.c_str(),
                           static_cast<std::int32_t>(description.kind),
                           description.count,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr};
    const auto count = static_cast<std::size_t>(description.count);
    switch (description.kind) {
      case CustomArgument::Kind::none: break;
      case CustomArgument::Kind::tensors:
        argument.tensors = operands.tensors.data() + tensor_index;
        tensor_index += count;
        break;
      case CustomArgument::Kind::integers:
        argument.integers = integers_.data() + integer_index;
        integer_index += count;
        break;
      case CustomArgument::Kind::numbers:
        argument.numbers = numbers_.data() + number_index;
        number_index += count;
        break;
      case CustomArgument::Kind::text: argument.text = description.text.c_str(); break;
    }
    operands.arguments.push_back(argument);
  }
  return operands;
}

void CustomCall::invoke(Operands& operands, const std::function<int(tern_op_call*)>& function, const char* what,
                        const OperatorGroups* groups) const {
  std::array<char, 512> message{};
  tern_op_call call{};
  call.size = sizeof call;
  call.argument_count = static_cast<std::int32_t>(operands.arguments.size());
  call.arguments = operands.arguments.data();
  call.result_count = static_cast<std::int32_t>(operands.results.size());
  call.results = operands.results.data();
  call.threads = Threads::current().count();
  call.message = message.data();
  call.message_size = message.size();
  call.groups = groups == nullptr ? nullptr : groups->functions();
  const int status = call_library(fmt::format("'{}' {}", name_, what), [&] {
    const int result = function(&call);
    // A failed collective is over for all ranks, even if the operator ignores the failure.
    if (groups != nullptr && groups->failure() != nullptr) std::rethrow_exception(groups->failure());
    return result;
  });
  message.back() = '\0';
  if (status == 0) return;
  fail(ErrorCode::runtime,
       fmt::format("'{}' {}: {}", name_, what, message[0] != '\0' ? message.data() : fmt::format("status {}", status)));
}

void CustomCall::run(const std::vector<void*>& in, const std::vector<void*>& out, OperatorGroups& groups) const {
  Operands call_operands = operands();
  for (std::size_t i = 0; i < call_operands.tensors.size(); ++i) call_operands.tensors[i].data = in[i];
  for (std::size_t i = 0; i < call_operands.results.size(); ++i) call_operands.results[i].data = out[i];
  invoke(call_operands, op_->run, "failed", &groups);
}

tern_op_plan CustomCall::plan(const tern_op_kernel& kernel) const {
  tern_op_plan plan{};
  plan.size = sizeof plan;
  Operands call_operands = operands();
  invoke(
      call_operands, [&](tern_op_call* call) { return kernel.plan(call, &plan); }, "has no kernel for its arguments");
  const auto is_parameter_count = [](std::int32_t count) { return count >= 0 && count <= TERN_OP_MAX_PARAMETERS; };
  if (plan.text == nullptr || plan.function == nullptr || !is_parameter_count(plan.integer_count) ||
      !is_parameter_count(plan.number_count)) {
    fail(ErrorCode::runtime,
         fmt::format("the plan of '{}' lacks a text or a function, or has more than {} integers or numbers", name_,
                     TERN_OP_MAX_PARAMETERS));
  }
  return plan;
}

}  // namespace tern
