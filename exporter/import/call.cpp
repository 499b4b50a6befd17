// Computing operators: binds arguments to the schema, lowers the call, binds results to names.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <set>

#include "exporter/gradients/detach.h"
#include "exporter/import/calls.h"
#include "exporter/import/refused.h"
#include "exporter/import/twins.h"
#include "exporter/import/views.h"
#include "kernels/custom/library.h"

namespace tern::importing {
namespace {

/// Operators returning their operand itself, or a view of it, although their schema says otherwise. (Dropout: only
/// outside training.)
bool aliases_silently(std::string_view base) {
  static const std::set<std::string_view> names = {
      "aten::type_as",           "aten::atleast_1d",      "aten::atleast_2d",    "aten::atleast_3d",
      "aten::dropout",           "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout",
      "aten::broadcast_tensors", "aten::meshgrid"};
  return names.contains(base);
}

}  // namespace

std::vector<ValueId> Calls::lower(const Call& call) {
  const LowerFn lowering = find_lowering(call.target);
  if (lowering == nullptr) fail(ErrorCode::internal, fmt::format("{} has no lowering", call.target));
  return lowering(builder_, call);
}

void Calls::run(const pt2::Node& node, const pt2::Schema* schema, const Call& call) {
  if (strided_call(node, call)) return;
  if (find_lowering(call.target) == nullptr) {
    if (schema == nullptr && (shared_.options.custom_ops || find_custom_op(custom_op_name(call.target)) != nullptr)) {
      custom_call(node, call);
    } else {
      shared_.missing.add(node, std::string(reason_against(call.target)));
      scope_.substitute(node);
    }
    return;
  }
  const std::size_t first_node = builder_.function().nodes.size();
  std::vector<ValueId> results = lower(call);
  if (is_detach(call.target) && shared_.is_differentiated) results = {detached(builder_, results[0])};
  const pt2::Argument* view_of = nullptr;
  if (schema != nullptr && !schema->arguments.empty()) {
    bool alias = aliases_silently(base_of(schema->name));
    if (schema->find("train") != nullptr && call.flag_or("train", false)) alias = false;
    std::string_view viewed_argument = schema->arguments[0].name;
    for (const pt2::SchemaArgument& r : schema->returns) {
      if (!r.is_alias()) continue;
      alias = true;
      for (const pt2::SchemaArgument& a : schema->arguments) {
        if (a.is_alias()) viewed_argument = a.name;
      }
    }
    if (alias) view_of = node.find_input(viewed_argument);
  }
  results_.bind(node, results, first_node, view_of, call);
}

}  // namespace tern::importing
