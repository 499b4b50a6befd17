#include "exporter/pt2/aten_schema.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "exporter/pt2/aten_schema_text.h"

namespace tern::pt2 {
namespace {

std::string_view name_in(std::string_view line) {
  return line.substr(0, line.find('('));
}

// All lines, each with its schema after the first request.
struct SchemaTable {
  std::vector<std::string_view> lines;
  std::vector<std::unique_ptr<const Schema>> schemas;
  std::mutex mutex;

  SchemaTable() {
    std::string_view text = aten_schema_text();
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      if (end > 0) lines.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::stable_sort(lines.begin(), lines.end(), [](auto a, auto b) { return name_in(a) < name_in(b); });
    schemas.resize(lines.size());
  }

  struct Range {
    std::size_t begin, end;
  };
  Range find(std::string_view name) const {
    const auto first =
        std::lower_bound(lines.begin(), lines.end(), name, [](auto line, auto n) { return name_in(line) < n; });
    auto last = first;
    while (last != lines.end() && name_in(*last) == name) ++last;
    return {static_cast<std::size_t>(first - lines.begin()), static_cast<std::size_t>(last - lines.begin())};
  }

  const Schema* parsed_schema(std::size_t i) {
    const std::lock_guard lock(mutex);
    if (!schemas[i]) schemas[i] = std::make_unique<const Schema>(parse_schema(lines[i]));
    return schemas[i].get();
  }
};

SchemaTable& table() {
  static SchemaTable table;
  return table;
}

bool has_all_inputs(const Schema& schema, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](const NamedArgument& input) { return schema.find(input.name) != nullptr; });
}

}  // namespace

const SchemaArgument* Schema::find(std::string_view argument) const {
  for (const auto& candidate : arguments)
    if (candidate.name == argument) return &candidate;
  return nullptr;
}

bool Schema::mutates() const {
  return std::any_of(arguments.begin(), arguments.end(), [](const auto& argument) { return argument.is_mutated; });
}

std::string schema_name(std::string_view target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  if (!target.starts_with(kPrefix)) return {};
  target.remove_prefix(kPrefix.size());
  const auto first = target.find('.');
  const auto last = target.rfind('.');
  if (first == std::string_view::npos || last == first) return {};
  const auto overload = target.substr(last);
  std::string name(target.substr(0, first));
  name += "::";
  name += target.substr(first + 1, last - first - 1);
  if (overload != ".default") name += overload;
  return name;
}

const Schema* find_schema(std::string_view name) {
  const auto range = table().find(name);
  return range.begin < range.end ? table().parsed_schema(range.begin) : nullptr;
}

const Schema* find_schema(const Node& node) {
  const auto range = table().find(schema_name(node.target));
  for (auto i = range.begin; i < range.end; ++i)
    if (const Schema* schema = table().parsed_schema(i); has_all_inputs(*schema, node)) return schema;
  return range.begin < range.end ? table().parsed_schema(range.begin) : nullptr;
}

std::span<const std::string_view> schema_lines() {
  return table().lines;
}

}  // namespace tern::pt2
