// _foreach_ operators: the operator itself for each tensor of the lists.
#include <map>

#include "exporter/lower/call_argument.h"
#include "exporter/pt2/aten_schema.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// "add" and "List" of "aten._foreach_add.List".
std::pair<std::string, std::string> parts_of(const std::string& target) {
  constexpr std::string_view prefix = "aten._foreach_";
  const std::size_t dot = target.rfind('.');
  return {target.substr(prefix.size(), dot - prefix.size()), target.substr(dot + 1)};
}

/// Single-tensor overloads able to stand for an overload on lists, the likeliest first.
std::vector<std::string_view> overloads_for(const std::string& overload) {
  if (overload == "List") return {"Tensor", "Tensor_Tensor", "default"};
  if (overload == "Scalar" || overload == "ScalarList") return {"Scalar", "Tensor_Scalar", "default", "Tensor"};
  if (overload == "Tensor") return {"Tensor", "default"};
  if (overload == "ScalarAndTensor") return {"Scalar"};
  return {"default"};
}

const pt2::Schema* element_schema(const std::string& op, const std::string& overload, std::string* target) {
  static const std::map<std::string, std::string> renamed = {
      {"norm", "linalg_vector_norm"}, {"maximum", "clamp_min"}, {"minimum", "clamp_max"}};
  const bool scalar = overload.starts_with("Scalar");
  const auto found = renamed.find(op);
  const std::string name = found != renamed.end() && (scalar || op == "norm") ? found->second : op;
  for (std::string_view o : overloads_for(overload)) {
    *target = "aten." + name + "." + std::string(o);
    const pt2::Schema* s = pt2::find_schema(pt2::schema_name("torch.ops." + *target));
    if (s != nullptr && find_lowering(*target) != nullptr) return s;
  }
  return nullptr;
}

/// Element of a list, or the operand common to all elements.
CallArgument element(const CallArgument& o, std::size_t i) {
  if (o.kind == CallArgumentKind::tensors) return tensor_argument(o.values.at(i));
  if (o.kind == CallArgumentKind::integers) return integer_argument(o.integers.at(i));
  if (o.kind == CallArgumentKind::booleans) return boolean_argument(o.integers.at(i));
  if (o.kind == CallArgumentKind::numbers) return number_argument(o.numbers.at(i));
  return o;
}

CallArgument constant(const pt2::Argument& a) {
  if (a.kind == pt2::Argument::Kind::integer) return integer_argument(a.integer);
  if (a.kind == pt2::Argument::Kind::boolean) return boolean_argument(a.boolean);
  if (a.kind == pt2::Argument::Kind::real) return number_argument(a.real);
  return {};
}

Values foreach (Builder& b, const Call& c) {
  const auto [op, overload] = parts_of(c.target);
  std::size_t count = 0;
  for (const auto& [name, o] : c.args) {
    if (o.kind == CallArgumentKind::tensors) count = std::max(count, o.values.size());
  }
  std::string target;
  const pt2::Schema* schema = element_schema(op, overload, &target);
  if (schema == nullptr) c.unsupported("the operator for single tensors has no lowering");
  Values results;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::pair<std::string_view, CallArgument>> args;
    for (std::size_t k = 0; k < schema->arguments.size(); ++k) {
      const pt2::SchemaArgument& a = schema->arguments[k];
      const CallArgument* argument = nullptr;  // found by name, else by position
      for (const auto& [name, o] : c.args) {
        if (name == a.name) argument = &o;
      }
      if (argument == nullptr && k < c.args.size() && schema->find(c.args[k].first) == nullptr)
        argument = &c.args[k].second;
      args.emplace_back(a.name, argument != nullptr ? element(*argument, i) : constant(a.default_value));
    }
    std::vector<TensorType> declared;
    if (i < c.declared.size()) declared.push_back(c.declared[i]);
    results.push_back(lower_call(b, make_call(b, target, std::move(args), std::move(declared), c.torch_version)).at(0));
  }
  return results;
}

Values zero_foreach(Builder& b, const Call& c) {
  Values results;
  for (ValueId v : c.tensors("self")) results.push_back(b.full(Dims(b.shape(v)), 0, b.dtype(v)));
  return results;
}

Values copy_foreach(Builder& b, const Call& c) {
  Values results;
  const Values targets = c.tensors("self"), sources = c.tensors("src");
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Dims shape = b.shape(targets[i]);
    results.push_back(b.expand(b.cast(sources.at(i), b.dtype(targets[i])), shape));
  }
  return results;
}

Values clone(Builder&, const Call& c) {
  return c.tensors("self");
}

// clang-format off
constexpr std::string_view kUnary[] = {
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma", "log", "log10", "log1p", "log2",
    "max", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"};
constexpr std::string_view kForeachOverloads[] = {
    "add.List", "add.Scalar", "add.ScalarList", "add.Tensor", "addcdiv.Scalar", "addcdiv.ScalarList", "addcmul.Scalar", "addcmul.ScalarList",
    "clamp_max.List", "clamp_max.Scalar", "clamp_max.ScalarList", "clamp_min.List", "clamp_min.Scalar", "clamp_min.ScalarList",
    "div.List", "div.Scalar", "div.ScalarList", "div.Tensor", "lerp.List", "lerp.Scalar", "lerp.ScalarList",
    "maximum.List", "maximum.Scalar", "maximum.ScalarList", "minimum.List", "minimum.Scalar", "minimum.ScalarList",
    "mul.List", "mul.Scalar", "mul.ScalarList", "mul.Tensor", "norm.Scalar",
    "pow.List", "pow.Scalar", "pow.ScalarAndTensor", "pow.ScalarList", "sub.List", "sub.Scalar", "sub.ScalarList"};
// clang-format on

}  // namespace

std::span<const Lowering> foreach_lowerings() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> n;
    for (std::string_view op : kUnary) n.push_back("aten._foreach_" + std::string(op) + ".default");
    for (std::string_view op : kForeachOverloads) n.push_back("aten._foreach_" + std::string(op));
    return n;
  }();
  static const std::vector<Lowering> table = [] {
    std::vector<Lowering> t = {{"aten._foreach_clone.default", clone},
                               {"aten._foreach_copy.default", copy_foreach},
                               {"aten._foreach_zero.default", zero_foreach}};
    for (const std::string& n : names) t.push_back({n, foreach});
    return t;
  }();
  return table;
}

}  // namespace tern
