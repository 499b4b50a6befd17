#include "kernels/cpu/reductions/reductions.h"

namespace tern {
namespace {

bool has_float_input(const KernelCall& c) {
  return c.in[0].dtype == DType::f32;
}

}  // namespace

void register_cpu_reductions(KernelTable& t) {
  t.set(Op::reduce, {.run = cpu_reduce, .prepare = prepare_cpu_reduce, .strided = kAllStrided});
  t.set(Op::scan, {.run = cpu_scan, .serves = cpu_serves_scan, .strided = kAllStrided});
  t.set(Op::select_reduce, {.run = cpu_select_reduce, .strided = kAllStrided});
  t.set(Op::sort, {.run = cpu_sort, .strided = kAllStrided});
  t.set(Op::topk, {.run = cpu_topk, .strided = kAllStrided});
  t.set(Op::softmax, {.run = cpu_softmax, .strided = kAllStrided});
  t.set(Op::layer_norm, {.run = cpu_layer_norm, .stores_rounded = has_float_input});
  t.set(Op::rms_norm, {.run = cpu_rms_norm, .stores_rounded = has_float_input});
  t.set(Op::group_norm, {.run = cpu_group_norm});
  t.set(Op::batch_norm, {.run = cpu_batch_norm});
  t.set(Op::histogram, {.run = cpu_histogram});
}

}  // namespace tern
