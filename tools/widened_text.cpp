#include "tools/widened_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

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

nlohmann::ordered_json widened_json(const std::vector<WidenedNode>& nodes) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const WidenedNode& n : nodes) {
    list.push_back({{"weight", n.weight.empty() ? Json(nullptr) : Json(n.weight)},
                    {"function", n.function},
                    {"node", n.node},
                    {"op", n.op},
                    {"module", n.module},
                    {"bytes", n.bytes == 0 ? Json(nullptr) : Json(n.bytes)},
                    {"when", n.once ? "once" : "each run"}});
  }
  return list;
}

}  // namespace tern
