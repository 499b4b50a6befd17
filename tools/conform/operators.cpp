#include "tools/conform/operators.h"

#include <fmt/format.h>

#include <map>

#include "schema/def_use.h"

namespace tern {
namespace {

std::string type_name(const TensorType& type) {
  const std::string_view name = name_of(type.dtype);
  if (!type.quantized()) return std::string(name);
  if (type.blocks.sparse()) return fmt::format("sparse {}", name);
  return fmt::format("{} {}", type.blocks.scale == DType::f8_e8m0 ? "mx" : "blocks of", name);
}

/// Records, for each origin (an ATen call), the types of the tensors that it reads from and passes to other origins,
/// and of the function's results.
void add_types(const Program& program, const Function& f, std::map<std::string, OperatorUse>* operator_uses) {
  const DefUse values(f);
  const auto origin_of = [&](ValueId v) {
    const Node* n = values.producing_node(f, v);
    return n == nullptr ? -1 : n->origin;
  };
  const auto add = [&](std::int32_t origin, ValueId v) {
    if (origin < 0) return;
    OperatorUse& operator_use = (*operator_uses)[program.origins[static_cast<std::size_t>(origin)].op];
    operator_use.dtypes.insert(type_name(f.values[static_cast<std::size_t>(v)].type));
  };
  for (const Node& n : f.nodes) {
    for (const ValueId v : n.inputs) {
      if (v == kNoValue || (n.origin >= 0 && origin_of(v) == n.origin)) continue;
      add(n.origin, v);
      add(origin_of(v), v);
    }
  }
  const auto add_producer = [&](ValueId v) {
    if (v != kNoValue) add(origin_of(v), v);
  };
  for (const FunctionOutput& output : f.outputs) add_producer(output.value);
  for (const WriteBack& w : f.writebacks) add_producer(w.value);
}

}  // namespace

std::vector<OperatorUse> operators_of(const Program& program) {
  std::map<std::string, OperatorUse> operator_uses;
  for (const Origin& o : program.origins) operator_uses[o.op].name = o.op;
  for (const Function& f : program.functions) {
    for (const Node& n : f.nodes) {
      if (n.origin < 0) continue;
      operator_uses[program.origins[static_cast<std::size_t>(n.origin)].op].ops.emplace(op_name(n.op));
    }
    add_types(program, f, &operator_uses);
  }
  std::vector<OperatorUse> result;
  result.reserve(operator_uses.size());
  for (auto& [name, use] : operator_uses) result.push_back(std::move(use));
  return result;
}

}  // namespace tern
