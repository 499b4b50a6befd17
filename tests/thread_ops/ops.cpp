// An operator library for tests. threads: the number of threads available to the operator, as a float; fails for a
// negative operand. call: runs tests_hook, then returns zero. group_sum: the sum over the ranks of the named group,
// times the number of ranks, plus this rank's number.
#include <tern/custom_op.h>

#include <cstdio>

extern "C" {
TERN_OP_EXPORT void (*tests_hook)() = nullptr;
}

namespace {

int infer(tern_op_call* call) {
  call->results[0].dtype = call->arguments[0].tensors[0].dtype;
  call->results[0].rank = 1;
  call->results[0].sizes[0] = 1;
  return 0;
}

int run(tern_op_call* call) {
  if (*static_cast<const float*>(call->arguments[0].tensors[0].data) < 0) {
    std::snprintf(call->message, call->message_size, "a negative number");
    return 1;
  }
  if (call->results[0].data != nullptr) *static_cast<float*>(call->results[0].data) = static_cast<float>(call->threads);
  return 0;
}

int call_hook(tern_op_call* call) {
  if (tests_hook != nullptr) tests_hook();
  if (call->results[0].data != nullptr) *static_cast<float*>(call->results[0].data) = 0;
  return 0;
}

int infer_like(tern_op_call* call) {
  call->results[0] = call->arguments[0].tensors[0];
  return 0;
}

int group_sum(tern_op_call* call) {
  const tern_tensor& x = call->arguments[0].tensors[0];
  const char* const group = call->arguments[1].text;
  const tern_op_groups& groups = *call->groups;
  std::int64_t count = 1;
  for (int i = 0; i < x.rank; ++i) count *= x.sizes[i];
  std::int32_t rank = 0, ranks = 0;
  if (groups.membership(groups.context, group, &rank, &ranks) != 0) return 1;
  tern_op_collective sum{};
  sum.size = sizeof sum;
  sum.dtype = x.dtype;
  sum.count = count;
  sum.input = x.data;
  sum.output = call->results[0].data;
  if (groups.run(groups.context, group, &sum) != 0) return 1;
  auto* out = static_cast<float*>(call->results[0].data);
  for (std::int64_t i = 0; i < count; ++i) out[i] = out[i] * static_cast<float>(ranks) + static_cast<float>(rank);
  return 0;
}

const tern_op kOps[] = {
    {"tests::threads", infer, run}, {"tests::group_sum", infer_like, group_sum}, {"tests::call", infer, call_hook}};
const tern_ops kLibrary = {TERN_OP_ABI, 3, kOps, nullptr, 0};

}  // namespace

const tern_ops* tern_op_library() {
  return &kLibrary;
}
