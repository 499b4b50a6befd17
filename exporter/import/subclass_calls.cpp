#include "exporter/import/subclass_calls.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/import/names.h"

namespace tern::importing {
namespace {

using ArgumentKind = pt2::Argument::Kind;

/// Operators answered by torchao's classes with a tensor of the same class: identities and views.
constexpr std::string_view kIdentities[] = {"aten.alias.default", "aten.clone.default", "aten.contiguous.default",
                                            "aten.detach.default"};
constexpr std::string_view kSubclassViews[] = {
    "aten.permute.default", "aten.select.int",    "aten.slice.Tensor",      "aten.squeeze.dim",
    "aten.t.default",       "aten.transpose.int", "aten.unsqueeze.default", "aten.view.default",
};
constexpr std::size_t kMaxViews = 16;

/// Products with a quantized weight: the names of the other operand, the weight and the bias.
struct ProductArguments {
  std::string_view target, x, weight, bias;
};
constexpr ProductArguments kProductArguments[] = {
    {"aten.linear.default", "input", "weight", "bias"}, {"aten.mm.default", "self", "mat2", ""},
    {"aten.matmul.default", "self", "other", ""},       {"aten.bmm.default", "self", "mat2", ""},
    {"aten.addmm.default", "mat1", "mat2", "self"},
};

CallArgument& operand(Call& call, std::string_view name) {
  const auto it = std::ranges::find_if(call.args, [&](const auto& a) { return a.first == name; });
  if (it == call.args.end()) fail(ErrorCode::internal, fmt::format("{} has no argument '{}'", call.target, name));
  return it->second;
}

}  // namespace

std::shared_ptr<QuantizedTensor> SubclassCalls::quantized(const pt2::Argument* a) const {
  if (a == nullptr || a->kind != ArgumentKind::tensor) return nullptr;
  const Binding* b = scope_.find(a->name);
  return b == nullptr || b->kind != BindingKind::quantized ? nullptr : b->quantized;
}

bool SubclassCalls::call(const pt2::Node& node, std::string_view target) {
  if (contains(subclass_names(), target)) {
    access(node);
    return true;
  }
  return view(node, target) || product(node, target);
}

/// access_subclass_inner_tensor(tensor, attribute)
void SubclassCalls::access(const pt2::Node& node) {
  if (node.inputs.size() != 2 || node.inputs[1].arg.kind != ArgumentKind::string || node.outputs.size() != 1)
    fail(ErrorCode::bad_file, "it needs a tensor and a name as operands, and one result");
  const std::string& name = node.inputs[1].arg.text;
  const auto base = quantized(&node.inputs[0].arg);
  if (base == nullptr) fail(ErrorCode::bad_file, "the operand is not a tensor subclass of the file");
  if (base->base != nullptr)
    fail(ErrorCode::unsupported, "the inner tensors of a view of a tensor subclass are not supported");
  if (const auto nested = base->nested.find(name); nested != base->nested.end())
    return scope_.bind(node.outputs[0].name, Binding::quantized_tensor(nested->second));
  base->value(name);  // names the class if the tensor is absent
  scope_.bind(node.outputs[0].name, Binding::tensor(base->inner.find(name)->second.ref));
}

bool SubclassCalls::view(const pt2::Node& node, std::string_view target) {
  const bool identity = contains(kIdentities, target);
  if (node.inputs.empty() || node.outputs.size() != 1 || (!identity && !contains(kSubclassViews, target))) return false;
  const auto base = quantized(&node.inputs[0].arg);
  if (base == nullptr) return false;
  if (identity) {
    scope_.bind(node.outputs[0].name, Binding::quantized_tensor(base));
    return true;
  }
  const LowerFn lowering = find_lowering(target);
  if (lowering == nullptr) return false;
  if (base->views.size() == kMaxViews)
    fail(ErrorCode::unsupported, fmt::format("a tensor subclass has more than {} nested views", kMaxViews));
  auto result = std::make_shared<QuantizedTensor>();
  result->tensor = base->tensor;
  result->base = base->base != nullptr ? base->base : base;
  result->views = base->views;
  result->views.emplace_back([call = arguments_.bind(node, pt2::find_schema(node)), lowering](Builder& b, ValueId v) {
    Call c = call;
    c.args.at(0).second.value = v;
    return lowering(b, c).at(0);
  });
  scope_.bind(node.outputs[0].name, Binding::quantized_tensor(std::move(result)));
  return true;
}

bool SubclassCalls::product(const pt2::Node& node, std::string_view target) {
  const auto* rule = std::ranges::find(kProductArguments, target, &ProductArguments::target);
  if (rule == std::end(kProductArguments)) return false;
  const auto weight = quantized(node.find_input(rule->weight));
  if (weight == nullptr) return false;
  const pt2::Schema* schema = pt2::find_schema(node);
  Call call = arguments_.bind(node, schema);
  CallArgument& x = operand(call, rule->x);
  if (x.kind != CallArgument::Kind::tensor) fail(ErrorCode::bad_file, fmt::format("'{}' is not a tensor", rule->x));
  const QuantizedProduct product = quantized_product(builder_, *weight, x.value);
  x.value = product.x;
  operand(call, rule->weight).value = product.weight;
  if (product.scale == kNoValue) {
    calls_.run(node, schema, call);
    return true;
  }
  const DType dtype = builder_.dtype(product.x);
  // The bias is unscaled: added last.
  ValueId bias = kNoValue;
  if (target == "aten.addmm.default") {
    bias = call.tensor("self");
    call.target = "aten.mm.default";
    call.args = {{"self", operand(call, "mat1")}, {"mat2", operand(call, "mat2")}};
  } else if (!rule->bias.empty()) {
    bias = call.tensor_or_none("bias");
    operand(call, rule->bias) = CallArgument{};
  }
  ValueId y = calls_.lower(call).at(0);
  y = builder_.expr("x * s", {{"x", y}, {"s", builder_.cast(product.scale, dtype)}}, dtype);
  if (bias != kNoValue) y = builder_.expr("x + b", {{"x", y}, {"b", builder_.cast(bias, dtype)}}, dtype);
  results_.bind(node, {y}, 0, nullptr, call);
  return true;
}

}  // namespace tern::importing
