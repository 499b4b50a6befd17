// Operators of other libraries: one custom node each, with the original arguments.
#include <fmt/format.h>

#include <span>

#include "exporter/import/calls.h"
#include "kernels/custom/library.h"
#include "schema/custom_arguments.h"

namespace tern::importing {

void Calls::custom_call(const pt2::Node& node, const Call& call) {
  Node n;
  n.op = Op::custom;
  n.set(AttrKey::name, custom_op_name(call.target));
  std::vector<CustomArgument> arguments;
  Dims integers;
  std::vector<double> numbers;
  const auto tensors = [&](std::span<const ValueId> values) {
    n.inputs.insert(n.inputs.end(), values.begin(), values.end());
    return CustomArgument::Kind::tensors;
  };
  for (const auto& [name, o] : call.args) {
    using Kind = CustomArgument::Kind;
    const std::size_t argument_count = n.inputs.size() + integers.size() + numbers.size();
    CustomArgument a{std::string(name), Kind::none, 0, {}};
    switch (o.kind) {
      case CallArgument::Kind::none: break;
      case CallArgument::Kind::tensor: a.kind = tensors({&o.value, 1}); break;
      case CallArgument::Kind::tensors: a.kind = tensors(o.values); break;
      case CallArgument::Kind::integer:
      case CallArgument::Kind::boolean:
        a.kind = Kind::integers;
        integers.push_back(o.integer);
        break;
      case CallArgument::Kind::integers:
      case CallArgument::Kind::booleans:
        a.kind = Kind::integers;
        integers.insert(integers.end(), o.integers.begin(), o.integers.end());
        break;
      case CallArgument::Kind::number:
        a.kind = Kind::numbers;
        numbers.push_back(o.number);
        break;
      case CallArgument::Kind::numbers:
        a.kind = Kind::numbers;
        numbers.insert(numbers.end(), o.numbers.begin(), o.numbers.end());
        break;
      case CallArgument::Kind::dtype:
        a.kind = Kind::integers;
        integers.emplace_back(static_cast<std::int64_t>(o.dtype));
        break;
      case CallArgument::Kind::text:
      case CallArgument::Kind::device:
        a.kind = Kind::text;
        a.text = o.text;
        break;
      default: call.unsupported(fmt::format("argument '{}' of a custom operator has an unsupported kind", name));
    }
    a.count = static_cast<std::int32_t>(
        a.kind == Kind::text ? a.text.size() : n.inputs.size() + integers.size() + numbers.size() - argument_count);
    arguments.push_back(std::move(a));
  }
  for (const ValueId v : n.inputs) {
    if (v == kNoValue) call.unsupported("a list of tensors that holds None cannot be passed to a custom operator");
  }
  n.set(AttrKey::text, format_custom_arguments(arguments));
  if (!integers.empty()) n.set(AttrKey::value, integers);
  if (!numbers.empty()) n.set(AttrKey::hyper, numbers);
  Dims dtypes, ranks, sizes;
  for (const TensorType& t : call.declared) {
    dtypes.emplace_back(static_cast<std::int64_t>(t.dtype));
    ranks.emplace_back(t.rank());
    sizes.insert(sizes.end(), t.shape.begin(), t.shape.end());
  }
  n.set(AttrKey::dtype, dtypes);
  n.set(AttrKey::counts, ranks);
  n.set(AttrKey::sizes, sizes);
  const std::size_t first = builder_.function().nodes.size();
  results_.bind(node, builder_.add(std::move(n)), first, nullptr, call);
}

}  // namespace tern::importing
