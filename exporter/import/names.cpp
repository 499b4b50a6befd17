#include "exporter/import/names.h"

#include <algorithm>

namespace tern::importing {
namespace {

constexpr std::string_view kHost[] = {
    "aten.sym_size.int",
    "aten.sym_numel.default",
    "aten.numel.default",
    "aten.sym_stride.int",
    "aten.sym_storage_offset.default",
    "aten.sym_is_contiguous.default",
    "aten.item.default",
    "aten._local_scalar_dense.default",
    "aten._assert_scalar.default",
    "aten._functional_assert_scalar.default",
    "aten._assert_async.default",
    "aten._assert_async.msg",
    "aten._functional_assert_async.msg",
};

constexpr std::string_view kNoEffect[] = {
    "aten._assert_tensor_metadata.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
    "aten._functional_sym_constrain_range.default",
    "aten._functional_sym_constrain_range_for_size.default",
    "aten._make_dep_token.default",
    "aten.sym_constrain_range_for_size",
    "aten._print.default",
    "aten.record_stream.default",
    "profiler._record_function_enter_new.default",
    "profiler._record_function_exit.default",
    "profiler._record_function_exit._RecordFunction",
};

constexpr std::string_view kSubclass[] = {"export.access_subclass_inner_tensor.default"};

constexpr std::string_view kDuals[] = {"aten._make_dual.default", "aten._unpack_dual.default"};

constexpr std::string_view kControl[] = {"cond",
                                         "while_loop",
                                         "scan",
                                         "map",
                                         "map_impl",
                                         "invoke_subgraph",
                                         "wrap",
                                         "strict_mode",
                                         "tag_activation_checkpoint",
                                         "wrap_with_set_grad_enabled",
                                         "wrap_with_autocast"};

constexpr std::string_view kStrided[] = {"aten.as_strided.default", "aten.as_strided_copy.default",
                                         "aten.as_strided_scatter.default"};

constexpr std::string_view kSpecialMutations[] = {
    "aten::copy_",      "aten::zero_",      "aten::fill_",          "aten::resize_",
    "aten::resize_as_", "aten::set_",       "aten::detach_",        "aten::retain_grad",
    "aten::squeeze_",   "aten::unsqueeze_", "aten::requires_grad_", "aten::transpose_",
    "aten::t_",         "aten::swapaxes_",  "aten::swapdims_",      "aten::as_strided_"};

constexpr std::string_view kNamesScalars[] = {
    "abs",   "acos",     "add", "and_", "asin",  "atan", "ceil", "cos",  "cosh", "eq",      "exp",    "float",
    "floor", "floordiv", "ge",  "gt",   "index", "int",  "ite",  "le",   "log",  "log2",    "lshift", "lt",
    "max",   "min",      "mod", "mul",  "ne",    "neg",  "not",  "not_", "or_",  "pos",     "pow",    "pow_by_natural",
    "round", "rshift",   "sin", "sinh", "sqrt",  "sub",  "sum",  "tan",  "tanh", "truediv", "trunc",  "xor"};

}  // namespace

std::span<const std::string_view> host_names() {
  return kHost;
}
std::span<const std::string_view> names_without_effect() {
  return kNoEffect;
}
std::span<const std::string_view> dual_names() {
  return kDuals;
}
std::span<const std::string_view> subclass_names() {
  return kSubclass;
}
std::span<const std::string_view> control_names() {
  return kControl;
}
std::span<const std::string_view> strided_names() {
  return kStrided;
}
std::span<const std::string_view> special_mutations() {
  return kSpecialMutations;
}
std::span<const std::string_view> scalar_functions() {
  return kNamesScalars;
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace tern::importing
