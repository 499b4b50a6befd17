#include "runtime/trace/call_stack.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tern {
namespace {

constexpr std::string_view kModule = "nn.Module: ";

}  // namespace

void CallStack::shrink(std::size_t depth, const FrameSink& sink) {
  while (open_.size() > depth) {
    sink(open_.back());
    if (open_.size() > 1) open_[open_.size() - 2].end = std::max(open_[open_.size() - 2].end, open_.back().end);
    open_.pop_back();
  }
}

void CallStack::add(const TraceEvent& node, const FrameSink& sink) {
  const std::string& module = node.label->module;
  // Frames stay open if their path equals the module or is a prefix of the module.
  std::size_t same = 0, next = 0;  // next: offset of the module's first path component not covered by open frames
  for (; same < open_.size(); ++same) {
    const std::string_view path = std::string_view(open_[same].name).substr(kModule.size());
    if (!module.starts_with(path) || (path.size() < module.size() && module[path.size()] != '.')) break;
    next = path.size() + 1;
  }
  // A node beginning before the open frames encloses them: the nodes of its bodies come first.
  if (!open_.empty() && node.begin < open_.front().begin) return;
  shrink(same, sink);
  const auto parent = [&] { return open_.empty() ? 0 : open_.back().id; };
  while (next < module.size()) {
    const std::size_t end = std::min(module.find('.', next), module.size());
    std::string name(kModule);
    name.append(module, 0, end);
    open_.push_back({std::move(name), node.begin, node.end, ++ids_, parent()});
    next = end + 1;
  }
  if (!open_.empty()) open_.back().end = node.end;
  if (!node.label->source.empty()) sink({node.label->source, node.begin, node.end, ++ids_, parent()});
}

}  // namespace tern
