#include "schema/op.h"

#include <array>

namespace tern {
namespace {

constexpr auto kTable = [] {
  std::array<OpInfo, kMaxOp + 1> table{};
#define TERN_OP_LINE(number, name, lo, hi, outs, version) \
  table[number] = OpInfo{Op::name, #name, lo, hi, outs, version};
  TERN_OPS(TERN_OP_LINE)
#undef TERN_OP_LINE
  return table;
}();

}  // namespace

const OpInfo& op_info(Op op) {
  const auto i = static_cast<std::size_t>(op);
  return i < kTable.size() ? kTable[i] : kTable[0];
}

Op op_from_name(std::string_view name) {
  for (const OpInfo& info : kTable) {
    if (info.op != Op::invalid && info.name == name) return info.op;
  }
  return Op::invalid;
}

std::string_view attr_name(AttrKey key) {
  switch (key) {
#define TERN_ATTR_NAME(number, name) \
  case AttrKey::name: return #name;
    TERN_ATTRS(TERN_ATTR_NAME)
#undef TERN_ATTR_NAME
  }
  return "unknown";
}

}  // namespace tern
