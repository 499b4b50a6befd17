/* mylib::rope for Tern: rotary position embedding (Su et al. 2021), equal to make_program.py. */
#include <stdio.h>
#include <tern/custom_kernel.h>
#include <tern/custom_op.h>

enum { FLOAT32 = 12 };

/* A pair of neighbours of x [..., position, 2 * pairs]: on the CPU a function of this library, on other devices text
 * compiled by Tern. */
TERN_OP_TEXT(rope_text, TERN_FN void rope(tern_i64 pair, TERN_GLOBAL const tern_f32* x, TERN_GLOBAL tern_f32* y,
                                          tern_i64 positions, tern_i64 pairs, tern_i64 offset, float log_base) {
  const tern_i64 i = pair % pairs;
  const tern_i64 position = pair / pairs % positions + offset;
  const float angle = (float)position * exp(-log_base * (float)i / (float)pairs);
  const float c = cos(angle);
  const float s = sin(angle);
  y[2 * pair] = x[2 * pair] * c - x[2 * pair + 1] * s;
  y[2 * pair + 1] = x[2 * pair] * s + x[2 * pair + 1] * c;
})

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

/* The function and its arguments on devices. */
static int plan(tern_op_call* call, tern_op_plan* plan) {
  const tern_tensor* x = call->arguments[0].tensors;
  plan->text = rope_text;
  plan->function = "rope";
  plan->items = 1;
  for (int i = 0; i < x->rank; ++i) plan->items *= x->sizes[i];
  plan->items /= 2;
  plan->integer_count = 3;
  plan->integers[0] = x->sizes[x->rank - 2];
  plan->integers[1] = x->sizes[x->rank - 1] / 2;
  plan->integers[2] = call->argument_count > 2 ? call->arguments[2].integers[0] : 0;
  plan->number_count = 1;
  plan->numbers[0] = (float)log(call->arguments[1].numbers[0]);
  return 0;
}

static int run(tern_op_call* call) {
  tern_op_plan p;
  plan(call, &p);
  const float* x = (const float*)call->arguments[0].tensors->data;
  float* y = (float*)call->results[0].data;
  for (int64_t i = 0; i < p.items; ++i) rope(i, x, y, p.integers[0], p.integers[1], p.integers[2], p.numbers[0]);
  return 0;
}

const tern_ops* tern_op_library(void) {
  static const tern_op ops[] = {{"mylib::rope", infer, run}};
  static const tern_op_kernel kernels[] = {{"mylib::rope", plan}};
  static const tern_ops library = {TERN_OP_ABI, 1, ops, kernels, 1};
  return &library;
}
