/* mylib::rope for Tern: rotary position embedding (Su et al. 2021), as make_program.py defines it. */
#include <math.h>
#include <stdio.h>
#include <tern/custom_op.h>

enum { FLOAT32 = 12 };

static int refuse(tern_op_call* call, const char* why) {
  snprintf(call->message, call->message_size, "%s", why);
  return 1;
}

static int infer(tern_op_call* call) {
  if (call->argument_count < 2 || call->arguments[0].kind != TERN_ARGUMENT_TENSORS ||
      call->arguments[1].kind != TERN_ARGUMENT_NUMBERS || call->result_count != 1) {
    return refuse(call, "rope takes x, base and an optional offset");
  }
  const tern_tensor* x = call->arguments[0].tensors;
  if (x->dtype != FLOAT32 || x->rank < 2 || x->sizes[x->rank - 1] % 2 != 0) {
    return refuse(call, "rope takes float32 [..., position, 2 * pair]");
  }
  call->results[0] = *x;
  return 0;
}

static int run(tern_op_call* call) {
  const tern_tensor* x = call->arguments[0].tensors;
  const double base = call->arguments[1].numbers[0];
  const int64_t offset = call->argument_count > 2 ? call->arguments[2].integers[0] : 0;
  const int64_t positions = x->sizes[x->rank - 2], half = x->sizes[x->rank - 1] / 2;
  int64_t planes = 1;
  for (int i = 0; i < x->rank - 2; ++i) planes *= x->sizes[i];
  const float* from = (const float*)x->data;
  float* to = (float*)call->results[0].data;
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t position = 0; position < positions; ++position) {
      for (int64_t i = 0; i < half; ++i, from += 2, to += 2) {
        const double angle = (double)(position + offset) * pow(base, -(double)i / (double)half);
        const float c = (float)cos(angle), s = (float)sin(angle);
        to[0] = from[0] * c - from[1] * s;
        to[1] = from[0] * s + from[1] * c;
      }
    }
  }
  return 0;
}

const tern_ops* tern_op_library(void) {
  static const tern_op ops[] = {{"mylib::rope", infer, run}};
  static const tern_ops library = {TERN_OP_ABI, 1, ops};
  return &library;
}
