#include "schema/infer/control_types.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

namespace tern {

std::vector<std::int64_t> bound_symbols(const Program& program, std::uint32_t function) {
  std::vector<std::int64_t> result;
  for (const Node& n : program.functions.at(function).nodes) {
    const AttrData* data = n.find(AttrKey::symbols);
    const Dims* symbols = data == nullptr ? nullptr : std::get_if<Dims>(data);
    if (symbols == nullptr) continue;
    for (Dim d : *symbols) {
      const int s = program.pool.symbol_of(d);
      if (s >= 0) result.push_back(s);
    }
  }
  return result;
}

bool depends_on(const ExprPool& pool, Dim size, const std::vector<std::int64_t>& symbols) {
  if (size.is_const() || symbols.empty()) return false;
  std::vector<std::uint32_t> open = {size.index()}, seen;
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    if (std::find(seen.begin(), seen.end(), at) != seen.end()) continue;
    seen.push_back(at);
    const ExprNode& n = pool.nodes()[at];
    if (n.op == ExprOp::symbol) {
      if (std::find(symbols.begin(), symbols.end(), n.value) != symbols.end()) return true;
      continue;
    }
    const int count = operand_count(n.op);
    const std::uint32_t operands[3] = {n.a, n.b, n.c};
    open.insert(open.end(), operands, operands + count);
  }
  return false;
}

std::vector<std::pair<Dim, Dim>> differing_sizes(const Program& program, ExprPool& pool, std::uint32_t on_true,
                                                 std::uint32_t on_false) {
  const Function &t = program.functions.at(on_true), &f = program.functions.at(on_false);
  std::vector<std::pair<Dim, Dim>> result;
  if (t.outputs.size() != f.outputs.size()) {
    fail(ErrorCode::bad_file,
         fmt::format("cond: one branch gives {} results, the other {}", t.outputs.size(), f.outputs.size()));
  }
  const auto local_t = bound_symbols(program, on_true), local_f = bound_symbols(program, on_false);
  for (std::size_t i = 0; i < t.outputs.size(); ++i) {
    const TensorType& a = t.values.at(static_cast<std::size_t>(t.outputs[i].value)).type;
    const TensorType& b = f.values.at(static_cast<std::size_t>(f.outputs[i].value)).type;
    if (a.dtype != b.dtype || a.rank() != b.rank() || a.block != b.block) {
      fail(ErrorCode::bad_file, fmt::format("cond: result {} is {} in one branch and {} in the other", i,
                                            text_of(a, pool), text_of(b, pool)));
    }
    for (std::size_t k = 0; k < a.shape.size(); ++k) {
      const bool same = pool.proved_equal(a.shape[k], b.shape[k]);
      if (!same || depends_on(pool, a.shape[k], local_t) || depends_on(pool, b.shape[k], local_f)) {
        result.emplace_back(a.shape[k], b.shape[k]);
      }
    }
  }
  return result;
}

}  // namespace tern
