#include "exporter/import/refused.h"

#include <algorithm>

namespace tern::importing {
namespace {

constexpr std::string_view kWritesArguments =
    "it writes its arguments: save the program before run_decompositions(), or call an operator that returns new "
    "tensors (mutates_args=())";
constexpr std::string_view kTriton =
    "Triton kernels only run under PyTorch: provide the operator in your own library (tern/custom_op.h)";
constexpr std::string_view kScaled =
    "call torch._scaled_mm, with all_gather_into_tensor before it or reduce_scatter_tensor after it";
constexpr std::string_view kSplits =
    "it keeps its sizes in a tensor: call all_to_all_single with the sizes of tolist()";
constexpr std::string_view kMapped =
    "it accesses memory that all ranks map, but Tern's ranks exchange messages: call a collective of "
    "torch.distributed._functional_collectives";

/// The first matching line counts.
constexpr Refusal kTable[] = {
    {"higher_order.flex_attention",
     "give the program in memory to tern.export(program, path) in Python, which writes plain attention in its place "
     "(docs/python.md)"},
    {"higher_order.flex_attention_backward", "export the forward program"},
    {"higher_order.associative_scan", "call exported.run_decompositions(), or use combine_mode='generic'"},
    {"higher_order.auto_functionalized", kWritesArguments},
    {"higher_order.auto_functionalized_v2", kWritesArguments},
    {"higher_order.triton_kernel_wrapper_functional", kTriton},
    {"higher_order.triton_kernel_wrapper_mutation", kTriton},
    {"higher_order.executorch_call_delegate", "the program was lowered for ExecuTorch: save it before to_edge()"},
    {"_dtensor.mesh_get_process_group", "its result is a Python object: pass the group's name to the collectives"},
    {"c10d.check_for_nan", "call torch._assert_async on isnan(x).any().logical_not()"},
    {"c10d.",
     "its ProcessGroup object cannot be saved: call torch.distributed._functional_collectives, which take the group's "
     "name"},
    {"c10d_functional.",
     "it has a list of ranks instead of a group's name: call exported.run_decompositions() before torch.export.save, "
     "which "
     "makes operators of _c10d_functional"},
    {"symm_mem.fused_all_gather_scaled_matmul", kScaled},
    {"symm_mem.fused_scaled_matmul_reduce_scatter", kScaled},
    {"symm_mem.all_to_all_vdev", kSplits},
    {"symm_mem.all_to_all_vdev_2d", kSplits},
    {"symm_mem.all_to_all_vdev_2d_offset", kSplits},
    {"symm_mem.", kMapped},
    {"torchcomms.",
     "its TorchComm object cannot be saved: call torch.distributed._functional_collectives, which take the group's "
     "name"},
};

bool matches_target(std::string_view name, std::string_view target) {
  if (!target.starts_with(name)) return false;
  return name.ends_with('.') || target.size() == name.size() || target[name.size()] == '.';
}

}  // namespace

std::span<const Refusal> refusals() {
  return kTable;
}

std::string_view reason_against(std::string_view target) {
  const auto* it = std::ranges::find_if(kTable, [&](const Refusal& r) { return matches_target(r.name, target); });
  return it == std::end(kTable) ? std::string_view{} : it->reason;
}

}  // namespace tern::importing
