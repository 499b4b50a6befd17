#include "exporter/operator_names.h"

#include <algorithm>
#include <array>
#include <map>

#include "exporter/import/names.h"
#include "exporter/import/prims.h"
#include "exporter/import/twins.h"
#include "exporter/lower/lower.h"
#include "exporter/pt2/aten_schema.h"

namespace tern {
namespace {

constexpr std::array<std::string_view, 6> kKinds = {"lowered", "written", "memory", "host", "no effect", "control"};

/// Adds operators with written arguments, by their schemas.
void add_mutating(std::map<std::string, OperatorName>* names) {
  for (const std::string_view line : pt2::schema_lines()) {
    const std::string_view name = line.substr(0, line.find('('));
    const pt2::Schema* schema = pt2::find_schema(name);
    if (schema == nullptr || !schema->mutates()) continue;
    const std::string target = importing::target_of(name);
    const std::string_view base = importing::base_of(name);
    if (importing::contains(importing::special_mutations(), base) &&
        (base != "aten::set_" || importing::overload_of(name) == "source_Tensor")) {
      (*names)[target] = {target, OperatorKind::memory, {}};
    } else if (const std::string twin = importing::functional_twin(*schema);
               !twin.empty() && find_lowering(twin) != nullptr) {
      (*names)[target] = {target, OperatorKind::written, twin};
    } else if (find_lowering(target) != nullptr) {
      (*names)[target] = {target, OperatorKind::written, {}};
    } else {
      names->erase(target);
    }
  }
}

}  // namespace

std::string_view operator_kind_name(OperatorKind kind) {
  return kKinds.at(static_cast<std::size_t>(kind));
}

std::vector<OperatorName> operator_names() {
  std::map<std::string, OperatorName> names;
  for (const Lowering& l : all_lowerings()) {
    names[std::string(l.target)] = {std::string(l.target), OperatorKind::lowered, {}};
  }
  for (const auto& [prim, aten] : importing::prims_as_aten()) names[prim] = {prim, OperatorKind::lowered, aten};
  add_mutating(&names);
  const auto add = [&](std::span<const std::string_view> list, OperatorKind kind, const std::string& prefix = {}) {
    for (const std::string_view name : list) names[prefix + std::string(name)] = {prefix + std::string(name), kind, {}};
  };
  add(importing::strided_names(), OperatorKind::memory);
  add(importing::host_names(), OperatorKind::host);
  add(importing::subclass_names(), OperatorKind::memory);
  add(importing::names_without_effect(), OperatorKind::no_effect);
  add(importing::control_names(), OperatorKind::control, "higher_order.");
  add(importing::dual_names(), OperatorKind::control);
  std::vector<OperatorName> result;
  result.reserve(names.size());
  for (auto& [name, line] : names) result.push_back(std::move(line));
  return result;
}

}  // namespace tern
