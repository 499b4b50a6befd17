#include "runtime/trace/call_stack.h"

#include <algorithm>
#include <string_view>

namespace tern {
namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    parts.push_back(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return parts;
}

}  // namespace

void CallStack::shrink(std::size_t depth, const Put& put) {
  while (open_.size() > depth) {
    put(open_.back());
    if (open_.size() > 1) open_[open_.size() - 2].end = std::max(open_[open_.size() - 2].end, open_.back().end);
    open_.pop_back();
    parts_.pop_back();
  }
}

void CallStack::add(const TraceEvent& node, const Put& put) {
  const std::vector<std::string_view> parts = split(node.label->module);
  std::size_t same = 0;
  while (same < parts.size() && same < parts_.size() && parts[same] == parts_[same]) ++same;
  // A node that began before the frames did ran around them: its bodies' nodes come first.
  if (!open_.empty() && node.begin < open_.front().begin) return;
  shrink(same, put);
  const auto parent = [&] { return open_.empty() ? 0 : open_.back().id; };
  for (std::size_t i = same; i < parts.size(); ++i) {
    const auto end = static_cast<std::size_t>(parts[i].data() - node.label->module.data()) + parts[i].size();
    open_.push_back({"nn.Module: " + node.label->module.substr(0, end), node.begin, node.end, ++ids_, parent()});
    parts_.emplace_back(parts[i]);
  }
  if (!open_.empty()) open_.back().end = node.end;
  if (!node.label->source.empty()) put({node.label->source, node.begin, node.end, ++ids_, parent()});
}

}  // namespace tern
