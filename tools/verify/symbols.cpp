#include "tools/verify/symbols.h"

#include "exporter/builder.h"
#include "tools/sizes.h"

namespace tern {
namespace {

/// A symbol with a value after the function's run, marked if bound by an input.
struct Bound {
  Dim symbol;
  bool is_input_bound = false;
};

std::vector<Bound> bound_symbols(Program& program, const Function& f) {
  std::vector<Bound> bound;
  for (const std::string& name : size_names(program, f)) bound.push_back({program.pool.symbol(name), true});
  for (const Node& n : f.nodes) {
    for (Dim d : n.dims(AttrKey::symbols)) {
      if (program.pool.symbol_of(d) >= 0) bound.push_back({d, false});
    }
  }
  return bound;
}

std::vector<std::int64_t> evaluated(const ExprPool& pool, const std::vector<std::int64_t>& symbols) {
  std::vector<std::int64_t> values(pool.nodes().size());
  evaluate(pool.nodes(), symbols, values);
  return values;
}

}  // namespace

std::vector<CallSizes> sizes_of(const Side& program_side, const Calls& calls) {
  if (program_side.program->pool.symbols().empty()) return std::vector<CallSizes>(calls.size());
  auto probe = std::make_shared<Program>(*program_side.program);
  Function& f = probe->functions[program_side.function];
  const std::vector<Bound> bound = bound_symbols(*probe, f);
  f.outputs.clear();
  Builder builder(*probe, program_side.function);
  for (const Bound& b : bound) f.outputs.push_back({FunctionOutput::Kind::integer, builder.from_dim(b.symbol), "size"});
  Session session = program_side.session(probe);
  std::vector<CallSizes> sizes;
  for (const std::vector<Tensor>& inputs : calls) {
    const std::vector<Tensor>& outputs = session.run(f.name, copies_of(inputs));
    std::vector<std::int64_t> all_values(probe->pool.symbols().size(), kUndefined), input_values = all_values;
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const auto symbol = static_cast<std::size_t>(probe->pool.symbol_of(bound[i].symbol));
      all_values[symbol] = outputs[i].span<const std::int64_t>()[0];
      if (bound[i].is_input_bound) input_values[symbol] = all_values[symbol];
    }
    sizes.push_back(
        {evaluated(program_side.program->pool, all_values), evaluated(program_side.program->pool, input_values)});
  }
  return sizes;
}

Dim resolve_dim(Dim size, const std::vector<std::int64_t>& values) {
  if (size.is_const() || size.index() >= values.size() || values[size.index()] == kUndefined) return size;
  return values[size.index()];
}

std::optional<std::uint64_t> bytes_of(const TensorType& type, const CallSizes& sizes) {
  TensorType known = type;
  for (Dim& d : known.shape) d = resolve_dim(d, sizes.all_values);
  std::uint64_t bytes = 0;
  if (!byte_size(known, &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace tern
