// A library of one operator for tests: how many threads it may use, a float; of a negative number it fails.
#include <tern/custom_op.h>

#include <cstdio>

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

const tern_op kOps[] = {{"tests::threads", infer, run}};
const tern_ops kLibrary = {TERN_OP_ABI, 1, kOps, nullptr, 0};

}  // namespace

const tern_ops* tern_op_library() {
  return &kLibrary;
}
