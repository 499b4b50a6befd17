#include "schema/node_precision.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "schema/node_pattern.h"

namespace tern {

std::optional<Precision> noted_precision(const Node& node) {
  for (const Annotation& a : node.annotations) {
    const auto* value = a.key == kPrecisionKey ? std::get_if<std::string>(&a.value) : nullptr;
    if (value == nullptr) continue;
    if (*value == "bfloat16") return Precision::bfloat16;
    if (*value == "float32") return Precision::exported;
  }
  return std::nullopt;
}

void note_precision(Node& node, Precision precision) {
  std::erase_if(node.annotations, [](const Annotation& a) { return a.key == kPrecisionKey; });
  node.annotations.push_back({kPrecisionKey, std::string(precision == Precision::bfloat16 ? "bfloat16" : "float32")});
}

bool has_precision(Op op) {
  return op == Op::matmul || op == Op::convolution || op == Op::attention;
}

std::size_t note_precision(Program& program, Precision precision,
                           const std::vector<std::string>& full_precision_patterns) {
  std::vector<bool> is_used(full_precision_patterns.size());
  std::size_t count = 0;
  for (Function& f : program.functions) {
    for (Node& n : f.nodes) {
      if (!has_precision(n.op)) continue;
      bool is_full_precision = false;
      for (std::size_t i = 0; i < full_precision_patterns.size(); ++i) {
        if (!matches(program, n, full_precision_patterns[i])) continue;
        is_full_precision = true;
        is_used[i] = true;
      }
      if (!is_full_precision && precision == Precision::exported) continue;
      note_precision(n, is_full_precision ? Precision::exported : precision);
      if (!is_full_precision) ++count;
    }
  }
  const auto unused = std::ranges::find(is_used, false);
  if (unused != is_used.end()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("keep: no product, convolution or attention has a module path, ATen operator or op that matches "
                     "'{}'; 'tern inspect --nodes' shows them",
                     full_precision_patterns[static_cast<std::size_t>(unused - is_used.begin())]));
  }
  return count;
}

}  // namespace tern
