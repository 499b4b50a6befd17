#include "tools/relations.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "platform/pattern.h"
#include "tools/names.h"
#include "tools/text.h"

namespace tern {
namespace {

/// Pattern in which each backslash stands for itself.
std::string escape_backslashes(const std::string& pattern) {
  std::string text;
  for (const char c : pattern) text += c == '\\' ? std::string("\\\\") : std::string(1, c);
  return text;
}

}  // namespace

void leave_out_relations(Program& program, const std::vector<std::string>& patterns) {
  std::vector<std::string> known;
  std::vector<bool> is_used(patterns.size());
  for (Function& f : program.functions) {
    std::erase_if(f.nodes, [&](const Node& n) {
      if (n.op != Op::assert_dim || !n.has(AttrKey::sizes)) return false;
      const std::string& text = n.text(AttrKey::text);
      known.push_back(text);
      bool leaves = false;
      for (std::size_t i = 0; i < patterns.size(); ++i) {
        if (text != patterns[i] && !platform::matches_pattern(escape_backslashes(patterns[i]), text)) continue;
        is_used[i] = leaves = true;
      }
      return leaves;
    });
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!is_used[i])
      fail(ErrorCode::invalid_argument, "--ignore-guard: " + unknown_name("relation", patterns[i], known));
  }
}

}  // namespace tern
