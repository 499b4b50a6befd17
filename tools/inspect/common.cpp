#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "schema/op_record.h"
#include "tools/inspect/inspect.h"

namespace tern {

std::uint64_t storage_bytes(const Program& program, const State& state) {
  return state.storage < program.storages.size() ? program.storages[state.storage].size : 0;
}

std::string op_text(Op op) {
  const OpRecord& info = op_record(op);
  return info.op == Op::invalid ? fmt::format("op {}", static_cast<int>(op)) : std::string(info.name);
}

std::vector<std::pair<std::string, std::size_t>> count_ops(const Program& program) {
  std::map<Op, std::size_t> counts;
  for (const Function& f : program.functions) {
    for (const Node& n : f.nodes) ++counts[n.op];
  }
  std::vector<std::pair<std::string, std::size_t>> result;
  for (const auto& [op, count] : counts) result.emplace_back(op_text(op), count);
  std::ranges::stable_sort(result, [](const auto& a, const auto& b) { return a.second > b.second; });
  return result;
}

const char* kind_text(State::Kind kind) {
  switch (kind) {
    case State::Kind::parameter: return "parameter";
    case State::Kind::buffer: return "buffer";
    case State::Kind::constant: return "constant";
  }
  return "unknown";
}

std::vector<std::string> assumed_relations(const Function& f) {
  std::vector<std::string> texts;
  for (const Node& n : f.nodes) {
    if (n.op == Op::assert_dim && n.has(AttrKey::sizes)) texts.push_back(n.text(AttrKey::text));
  }
  return texts;
}

}  // namespace tern
