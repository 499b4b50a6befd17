#include "exporter/import/twins.h"

#include <algorithm>

namespace tern::importing {
namespace {

/// True if `functional` has the arguments of `mutating`, in name and order, except out= arguments.
bool same_arguments(const pt2::Schema& functional, const pt2::Schema& mutating, bool drop_outputs) {
  std::size_t i = 0;
  for (const pt2::SchemaArgument& a : mutating.arguments) {
    if (drop_outputs && a.is_mutated && a.kwarg_only) continue;
    if (i >= functional.arguments.size() || functional.arguments[i].name != a.name) return false;
    if (functional.arguments[i].type.text != a.type.text) return false;
    ++i;
  }
  return i == functional.arguments.size() ||
         std::all_of(functional.arguments.begin() + static_cast<std::ptrdiff_t>(i), functional.arguments.end(),
                     [](const pt2::SchemaArgument& a) { return a.has_default; });
}

/// Excludes number operators of the same name: ldexp.
bool gives_tensor(const pt2::Schema& s) {
  return !s.returns.empty() && s.returns[0].type.base == pt2::SchemaType::Base::tensor;
}

std::string join(std::string_view base, std::string_view overload) {
  return overload == "default" ? std::string(base) : std::string(base) + "." + std::string(overload);
}

/// Finds an overload of `base` without mutation and with the same arguments.
std::string find_overload(const std::string& base, const pt2::Schema& mutating, bool drop_outputs) {
  const auto lines = pt2::schema_lines();
  auto line = std::lower_bound(lines.begin(), lines.end(), std::string_view(base));
  for (; line != lines.end() && line->starts_with(base); ++line) {
    const std::string_view name = line->substr(0, line->find('('));
    if (base_of(name) != base) continue;
    const pt2::Schema* candidate = pt2::find_schema(name);
    if (candidate != nullptr && !candidate->mutates() && same_arguments(*candidate, mutating, drop_outputs)) {
      return target_of(name);
    }
  }
  return {};
}

}  // namespace

std::string_view base_of(std::string_view schema_name) {
  return schema_name.substr(0, schema_name.find('.'));
}

std::string_view overload_of(std::string_view schema_name) {
  const std::size_t dot = schema_name.find('.');
  return dot == std::string_view::npos ? "default" : schema_name.substr(dot + 1);
}

std::string target_of(std::string_view schema_name) {
  std::string s(base_of(schema_name));
  const std::size_t colons = s.find("::");
  if (colons != std::string::npos) s.replace(colons, 2, ".");
  return s + "." + std::string(overload_of(schema_name));
}

std::string functional_twin(const pt2::Schema& schema) {
  std::string base(base_of(schema.name));
  if (base == "aten::_native_batch_norm_legit") return "aten._native_batch_norm_legit_functional.default";
  if (base == "aten::_batch_norm_with_update") return "aten._batch_norm_with_update_functional.default";
  const std::string_view overload = overload_of(schema.name);
  const bool is_out = std::any_of(schema.arguments.begin(), schema.arguments.end(),
                                  [](const pt2::SchemaArgument& a) { return a.is_mutated && a.kwarg_only; });
  if (is_out) return find_overload(base, schema, true);
  if (base.ends_with("__") && base.starts_with("aten::__i")) {  // __iadd__ -> add, __iand__ -> __and__
    const std::string word = base.substr(9, base.size() - 11);
    for (const std::string& name : {"aten::__" + word + "__", "aten::" + word}) {
      if (pt2::find_schema(join(name, overload)) != nullptr) return target_of(join(name, overload));
    }
    return {};
  }
  if (!base.ends_with('_')) return {};
  base.pop_back();
  const std::string same_schema = join(base, overload);
  if (const pt2::Schema* s = pt2::find_schema(same_schema); s != nullptr && !s->mutates() && gives_tensor(*s)) {
    return target_of(same_schema);
  }
  if (std::string found = find_overload(base, schema, false); !found.empty()) return found;
  return pt2::find_schema(base + "_functional") != nullptr ? target_of(base + "_functional") : "";
}

}  // namespace tern::importing
