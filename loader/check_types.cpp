// Compares declared types with the results of shape rules.
#include <fmt/format.h>

#include <algorithm>

#include "loader/rules.h"
#include "schema/forms.h"
#include "schema/infer.h"
#include "schema/linear.h"
#include "schema/op_record.h"
#include "schema/work.h"

namespace tern {
namespace {

bool provably_differ(ExprPool& pool, Dim a, Dim b) {
  if (a == b) return false;
  if (a.is_const() && b.is_const()) return true;
  const Interval d = difference(pool, a, b);
  return d.min > 0 || d.max < 0;
}

bool agree(ExprPool& pool, const TensorType& inferred, const TensorType& declared) {
  if (inferred.dtype != declared.dtype || inferred.rank() != declared.rank() || inferred.blocks != declared.blocks) {
    return false;
  }
  for (std::size_t i = 0; i < inferred.shape.size(); ++i) {
    if (provably_differ(pool, inferred.shape[i], declared.shape[i])) return false;
  }
  return true;
}

/// Data-dependent sizes are declared as the symbols bound by the node.
bool names_symbols(const Node& n, const TensorType& inferred, const TensorType& declared) {
  if (!n.has(AttrKey::symbols)) return true;
  const Dims& symbols = n.dims(AttrKey::symbols);
  for (std::size_t i = 0; i < inferred.shape.size(); ++i) {
    const bool found = std::ranges::find(symbols, inferred.shape[i]) != symbols.end();
    if (found && !(inferred.shape[i] == declared.shape[i])) return false;
  }
  return true;
}

struct TypeProblem {
  const char* rule = nullptr;
  std::string message;
  ErrorCode code = ErrorCode::bad_file;
};

TypeProblem find_problem(const Program& program, ExprPool& pool, const Function& f, const Node& n,
                         std::vector<const TensorType*>& inputs) {
  inputs.clear();
  for (ValueId v : n.inputs) inputs.push_back(v == kNoValue ? nullptr : &f.values[static_cast<std::size_t>(v)].type);
  try {
    const std::vector<TensorType> types = infer(program, pool, n, inputs);
    if (types.size() != n.outputs.size()) {
      return {"types.count", fmt::format("{} results are declared, but it has {}", n.outputs.size(), types.size())};
    }
    for (std::size_t k = 0; k < types.size(); ++k) {
      if (n.outputs[k] == kNoValue) continue;
      const TensorType& declared = f.values[static_cast<std::size_t>(n.outputs[k])].type;
      if (declared.dtype == DType::invalid || (agree(pool, types[k], declared) && names_symbols(n, types[k], declared)))
        continue;
      return {"types.result",
              fmt::format("result {} is declared {}, but is {}", k, text_of(declared, pool), text_of(types[k], pool))};
    }
  } catch (const WorkExceeded&) {
    throw;
  } catch (const Error& e) {
    return {"types.rule", e.what(), e.code() == ErrorCode::unsupported ? e.code() : ErrorCode::bad_file};
  }
  return {};
}

}  // namespace

void check_types(const Checked& c) {
  ExprPool pool = c.program.pool;  // rules add expressions
  std::vector<const TensorType*> inputs;
  for (std::size_t f = 0; f < c.program.functions.size(); ++f) {
    const Function& function = c.program.functions[f];
    const std::vector<std::uint32_t> first = first_of_form(function);
    std::vector<bool> right(function.nodes.size());
    for (std::size_t i = 0; i < function.nodes.size(); ++i) {
      if (right[first[i]]) continue;
      const Node& n = function.nodes[i];
      const OpRecord& info = op_record(n.op);
      if (info.op == Op::invalid || n.version > info.version) continue;  // reported already
      TypeProblem p = find_problem(c.program, pool, function, n, inputs);
      right[i] = p.rule == nullptr;
      if (p.rule != nullptr) c.node(p.rule, f, i, std::move(p.message), p.code);
    }
  }
}

}  // namespace tern
