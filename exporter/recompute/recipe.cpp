#include "exporter/recompute/recipe.h"

#include "schema/op_record.h"

namespace tern::recompute {
namespace {

/// Floating-point operations of a processor per moved byte: a core with AVX2 or AVX-512 computes 30 to 60 GFLOP/s and
/// moves 5 to 10 GB/s.
constexpr double kOperationsPerByte = 6;

std::int64_t value_of(Dim d, std::span<const std::int64_t> expressions) {
  return d.is_const() ? d.value() : expressions[d.index()];
}

std::vector<std::int64_t> sizes_of(const TensorType& type, std::span<const std::int64_t> expressions) {
  std::vector<std::int64_t> sizes;
  for (Dim d : type.shape) sizes.push_back(value_of(d, expressions));
  return sizes;
}

/// Nodes with random numbers, bound sizes, bodies or effects keep their position, and run once.
bool is_repeatable(const Node& n) {
  for (const Trait t : {Trait::effect, Trait::data_sized, Trait::random, Trait::control}) {
    if (has_trait(n.op, t)) return false;
  }
  return n.functions.empty() && n.op != Op::optim && !n.has(AttrKey::symbols);
}

double operations_of(const Function& f, const Node& n, std::span<const std::int64_t> expressions) {
  const OperationsFn operations = op_record(n.op).operations;
  if (operations == nullptr || n.outputs.empty() || n.outputs[0] == kNoValue) return 0;
  std::vector<std::vector<std::int64_t>> sizes;
  for (const auto* list : {&n.inputs, &n.outputs}) {
    for (ValueId v : *list) {
      sizes.push_back(v == kNoValue ? std::vector<std::int64_t>{}
                                    : sizes_of(f.values[static_cast<std::size_t>(v)].type, expressions));
    }
  }
  const std::vector<OperandSizes> all_sizes(sizes.begin(), sizes.end());
  return operations(n, std::span(all_sizes).first(n.inputs.size()), std::span(all_sizes).subspan(n.inputs.size()));
}

}  // namespace

std::uint64_t bytes_of(const TensorType& type, std::span<const std::int64_t> expressions) {
  TensorType known = type;
  for (Dim& d : known.shape) d = value_of(d, expressions);
  std::uint64_t bytes = 0;
  return byte_size(known, &bytes) ? bytes : 0;
}

std::vector<NodeRecipe> recipes_of(const Program& program, const Function& function,
                                   std::span<const std::int64_t> expressions) {
  std::vector<NodeRecipe> recipes;
  for (const Node& n : function.nodes) {
    NodeRecipe r{&n, is_view(n.op), is_repeatable(n), has_trait(n.op, Trait::effect) || n.has(AttrKey::symbols), 0};
    for (std::uint32_t body : n.functions) r.lasting = r.lasting || !program.functions[body].nodes.empty();
    if (!r.view) {
      for (const auto* list : {&n.inputs, &n.outputs}) {
        for (ValueId v : *list) {
          if (v != kNoValue)
            r.cost += static_cast<double>(bytes_of(function.values[static_cast<std::size_t>(v)].type, expressions));
        }
      }
      r.cost += operations_of(function, n, expressions) / kOperationsPerByte;
    }
    for (ValueId v : n.outputs) {
      if (v == kNoValue) continue;
      for (Dim d : function.values[static_cast<std::size_t>(v)].type.shape)
        r.repeatable = r.repeatable && value_of(d, expressions) != kUndefined;
    }
    recipes.push_back(std::move(r));
  }
  return recipes;
}

}  // namespace tern::recompute
