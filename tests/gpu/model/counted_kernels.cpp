#include "tests/gpu/model/counted_kernels.h"

#include <fmt/format.h>
#include <tern/dtype.h>

#include "runtime/profile.h"
#include "schema/op_record.h"

namespace tern::gpu_model {
namespace {

CountedKernels* active = nullptr;

std::string text_of(const TensorView& v) {
  return fmt::format("{}[{}]", name_of(v.dtype), fmt::join(v.shape(), ", "));
}

std::string sizes_of(const KernelCall& call) {
  std::string text;
  for (const TensorView& v : call.in) {
    if (v.dtype != DType::invalid) text += (text.empty() ? "" : ", ") + text_of(v);
  }
  text += text.empty() ? "-> " : " -> ";
  const char* comma = "";
  for (const TensorView& v : call.out) {
    if (v.dtype == DType::invalid) continue;
    text += comma + text_of(v);
    comma = ", ";
  }
  return text;
}

}  // namespace

CountedKernels::CountedKernels(const KernelTable& kernels, const Emulator& emulator)
    : kernels_(kernels), emulator_(emulator), table_(kernels) {
  for (Kernel& kernel : table_.kernels) {
    if (kernel.run != nullptr) kernel.run = run;
  }
  active = this;
}

CountedKernels::~CountedKernels() {
  active = nullptr;
}

void CountedKernels::run(KernelCall& call) {
  const Node& node = *call.node;
  NodeCall made;
  made.op = op_name(node.op);
  made.sizes = sizes_of(call);
  made.type = call.out.empty() ? "" : name_of(call.out[0].dtype);
  made.origin = node.origin;
  made.bytes = min_bytes(node, call.in, call.out);
  made.operations = flops_of(node, call.in, call.out);
  active->calls.push_back(std::move(made));
  active->emulator_.tag(active->calls.size());
  active->kernels_.kernels[static_cast<std::size_t>(node.op)].run(call);
  active->emulator_.tag(0);
}

}  // namespace tern::gpu_model
