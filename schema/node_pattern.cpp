#include "schema/node_pattern.h"

#include "platform/pattern.h"
#include "schema/op_record.h"

namespace tern {
namespace {

bool matches(const std::string& pattern, const std::string& text) {
  return !text.empty() && platform::matches_pattern(pattern, text);
}

}  // namespace

bool matches(const Program& program, const Node& node, const std::string& pattern) {
  const auto origin = static_cast<std::size_t>(node.origin);
  if (node.origin >= 0 && origin < program.origins.size()) {
    const Origin& o = program.origins[origin];
    if (matches(pattern, o.module) || matches(pattern, o.op)) return true;
  }
  return matches(pattern, std::string(op_name(node.op)));
}

}  // namespace tern
