#include "schema/infer/control_types.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "schema/work.h"

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

Dependence::Dependence(const ExprPool& pool, std::vector<std::int64_t> symbols)
    : pool_(pool), symbols_(std::move(symbols)) {
  std::sort(symbols_.begin(), symbols_.end());
}

bool Dependence::operator()(Dim size) {
  if (size.is_const() || symbols_.empty()) return false;
  std::vector<std::uint32_t> open = {size.index()};
  while (!open.empty()) {
    const std::uint32_t node_index = open.back();
    const ExprNode& n = pool_.nodes()[node_index];
    charge_work(8);
    if (n.op == ExprOp::symbol) {
      depends_[node_index] = std::binary_search(symbols_.begin(), symbols_.end(), n.value);
      open.pop_back();
      continue;
    }
    const std::uint32_t operands[3] = {n.a, n.b, n.c};
    bool found = false, waiting = false;
    for (int k = 0; k < operand_count(n.op); ++k) {
      const auto it = depends_.find(operands[k]);
      if (it == depends_.end()) {
        if (!waiting) open.push_back(operands[k]);
        waiting = true;
      } else {
        found = found || it->second;
      }
    }
    if (waiting) continue;
    depends_[node_index] = found;
    open.pop_back();
  }
  return depends_[size.index()];
}

std::vector<std::pair<Dim, Dim>> differing_sizes(const Program& program, ExprPool& pool, std::uint32_t on_true,
                                                 std::uint32_t on_false) {
  const Function &t = program.functions.at(on_true), &f = program.functions.at(on_false);
  std::vector<std::pair<Dim, Dim>> result;
  if (t.outputs.size() != f.outputs.size()) {
    fail(ErrorCode::bad_file,
         fmt::format("cond: one branch has {} results, the other {}", t.outputs.size(), f.outputs.size()));
  }
  Dependence local_t(pool, bound_symbols(program, on_true)), local_f(pool, bound_symbols(program, on_false));
  for (std::size_t i = 0; i < t.outputs.size(); ++i) {
    const TensorType& a = t.values.at(static_cast<std::size_t>(t.outputs[i].value)).type;
    const TensorType& b = f.values.at(static_cast<std::size_t>(f.outputs[i].value)).type;
    if (a.dtype != b.dtype || a.rank() != b.rank() || a.blocks != b.blocks) {
      fail(ErrorCode::bad_file, fmt::format("cond: result {} is {} in one branch and {} in the other", i,
                                            text_of(a, pool), text_of(b, pool)));
    }
    for (std::size_t k = 0; k < a.shape.size(); ++k) {
      const bool same_size = pool.proved_equal(a.shape[k], b.shape[k]);
      if (!same_size || local_t(a.shape[k]) || local_f(b.shape[k])) {
        result.emplace_back(a.shape[k], b.shape[k]);
      }
    }
  }
  return result;
}

}  // namespace tern
