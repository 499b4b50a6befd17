#include "exporter/import/origins.h"

#include <fmt/format.h>

#include <charconv>

#include "exporter/gradients/notes.h"
#include "exporter/pt2/metadata.h"

namespace tern::importing {
namespace {

/// Drops folders: they are the exporting machine's.
std::string source_of(const pt2::SourceInfo& info) {
  if (info.file.empty()) return {};
  const std::size_t slash = info.file.find_last_of("/\\");
  return fmt::format("{}:{}", slash == std::string_view::npos ? info.file : info.file.substr(slash + 1), info.line);
}

}  // namespace

std::string_view short_target(std::string_view target) {
  constexpr std::string_view prefix = "torch.ops.";
  return target.starts_with(prefix) ? target.substr(prefix.size()) : target;
}

std::string position_text(const pt2::Node& node) {
  const pt2::SourceInfo info = pt2::source_info(node);
  std::string s(info.module_path);
  const auto append = [&s](const std::string& text) {
    if (!text.empty()) s += (s.empty() ? "" : ", ") + text;
  };
  append(source_of(info));
  std::string name = node.name;
  for (const pt2::Argument& output : node.outputs) {
    if (name.empty()) name = !output.name.empty() ? output.name : !output.names.empty() ? output.names[0] : "";
  }
  if (!name.empty()) append(fmt::format("node '{}'", name));
  return s;
}

std::int32_t Origins::origin_of(const pt2::Node& node) {
  const pt2::SourceInfo info = pt2::source_info(node);
  auto key = std::tuple(std::string(short_target(node.target)), std::string(info.module_path), source_of(info));
  const auto found = origin_indices_.find(key);
  if (found != origin_indices_.end()) return found->second;
  const auto number = static_cast<std::int32_t>(program_.origins.size());
  program_.origins.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key)});
  origin_indices_.emplace(std::move(key), number);
  return number;
}

std::vector<Annotation> annotations_of(const pt2::Node& node) {
  std::vector<Annotation> result;
  for (auto& [key, json] : pt2::custom_annotations(node)) {
    Annotation a{is_reserved_annotation(key) ? "user." + key : key, json};
    const char *first = json.data(), *last = first + json.size();
    std::int64_t integer = 0;
    double real = 0;
    if (json == "true" || json == "false") {
      a.value = json == "true";
    } else if (const auto r = std::from_chars(first, last, integer); r.ec == std::errc{} && r.ptr == last) {
      a.value = integer;
    } else if (const auto d = std::from_chars(first, last, real); d.ec == std::errc{} && d.ptr == last) {
      a.value = real;
    } else if (json.size() >= 2 && json.front() == '"' && json.find('\\') == std::string::npos) {
      a.value = json.substr(1, json.size() - 2);
    }
    result.push_back(std::move(a));
  }
  return result;
}

}  // namespace tern::importing
