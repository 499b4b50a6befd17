#include "tools/widened_text.h"

#include <fmt/format.h>

#include "tools/text.h"

namespace tern {

std::string widened_text(const std::vector<WidenedNode>& nodes) {
  std::string out;
  for (const WidenedNode& n : nodes) {
    const std::string what =
        n.weight.empty() ? "a quantized value of the run" : fmt::format("'{}'", escape_name(n.weight));
    const std::string size = n.bytes == 0 ? "floats" : human_bytes(n.bytes) + " of floats";
    out += fmt::format("widened: {} by {}:{} ({}), {} {}\n", what, escape_name(n.function), n.node, escape_name(n.op),
                       size, n.once ? "once" : "in each run");
  }
  return out;
}

std::string widened_json(const std::vector<WidenedNode>& nodes) {
  std::string out;
  for (const WidenedNode& n : nodes) {
    const std::string weight = n.weight.empty() ? "null" : fmt::format("\"{}\"", json_escape(n.weight));
    out += fmt::format(
        "{}{{\"weight\": {}, \"function\": \"{}\", \"node\": {}, \"op\": \"{}\", \"module\": \"{}\", \"bytes\": {}, "
        "\"when\": \"{}\"}}",
        out.empty() ? "" : ", ", weight, json_escape(n.function), n.node, json_escape(n.op), json_escape(n.module),
        n.bytes == 0 ? "null" : std::to_string(n.bytes), n.once ? "once" : "each run");
  }
  return "[" + out + "]";
}

}  // namespace tern
