#include "exporter/gradients/differentiate.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <set>
#include <string>

#include "exporter/gradients/backward_functions.h"
#include "exporter/gradients/detach.h"
#include "exporter/gradients/notes.h"
#include "exporter/gradients/registry.h"

namespace tern {
namespace {

bool carries(const TensorType& t) {
  return (is_floating(t.dtype) || is_complex(t.dtype)) && !t.quantized();
}

/// Nodes between `wrt` and the seeds, and the backward walk over them.
class Walk {
 public:
  Walk(Builder& b, std::span<const GradientSeed> seeds, std::span<const ValueId> wrt, BackwardFunctions& functions)
      : b_(b),
        backward_functions_(functions),
        nodes_(b.function().nodes.size()),
        depends_(values(), false),
        reaches_(values(), false) {
    find_dependent(wrt);
    refuse_states_of_bodies(wrt);
    for (const GradientSeed& s : seeds) reaches_[index_of(s.value)] = true;
    find_reaching();
    refuse_missing();
    grads_.assign(values(), kNoValue);
    for (const GradientSeed& s : seeds) {
      if (depends_[index_of(s.value)]) add(s.value, gradient_like(b_, s.gradient, s.value));
    }
  }

  std::vector<ValueId> run(std::span<const ValueId> wrt) {
    for (std::size_t n = nodes_; n-- > 0;) visit(n);
    std::vector<ValueId> result;
    for (ValueId v : wrt) result.push_back(grads_[index_of(v)]);
    return result;
  }

 private:
  static std::size_t index_of(ValueId v) { return static_cast<std::size_t>(v); }
  std::size_t values() const { return b_.function().values.size(); }
  const Node& node(std::size_t n) const { return b_.function().nodes[n]; }

  /// Marks the values depending on `wrt` through differentiable ops.
  void find_dependent(std::span<const ValueId> wrt) {
    for (ValueId v : wrt) {
      if (v < 0 || index_of(v) >= values()) fail(ErrorCode::internal, "differentiate: the value does not exist");
      if (!carries(b_.type(v))) {
        fail(ErrorCode::invalid_argument,
             fmt::format("value '{}' is {}: only floating and complex values have gradients",
                         b_.function().values[index_of(v)].name, text_of(b_.type(v), b_.pool())));
      }
      depends_[index_of(v)] = true;
    }
    for (std::size_t n = 0; n < nodes_; ++n) {
      const NoGradient* none = find_no_gradient(node(n).op);
      if (none != nullptr && none->kind == NoGradient::Kind::zero) continue;
      if (!reads_dependent(n)) continue;
      for (ValueId v : node(n).outputs) {
        if (v != kNoValue && carries(b_.type(v))) depends_[index_of(v)] = true;
      }
    }
  }

  /// Marks the values with a gradient among `depends_`.
  void find_reaching() {
    for (std::size_t n = nodes_; n-- > 0;) {
      bool is_dependent = false;
      for (ValueId v : node(n).outputs)
        is_dependent = is_dependent || (v != kNoValue && depends_[index_of(v)] && reaches_[index_of(v)]);
      if (!is_dependent) continue;
      for (std::size_t i = 0; i < node(n).inputs.size(); ++i) {
        const ValueId v = node(n).inputs[i];
        if (v != kNoValue && flows_to(node(n), i)) reaches_[index_of(v)] = true;
      }
    }
  }

  /// A body reading a state of `wrt` directly, not as an operand, would withhold its part of the gradient.
  void refuse_states_of_bodies(std::span<const ValueId> wrt) const {
    for (const FunctionInput& input : b_.function().inputs) {
      if (input.kind != FunctionInput::Kind::state || std::ranges::find(wrt, input.value) == wrt.end()) continue;
      std::set<std::uint32_t> visited;
      for (std::size_t n = 0; n < nodes_; ++n) {
        if (!reads_state(node(n), input.state, visited)) continue;
        fail(ErrorCode::unsupported,
             fmt::format("state '{}' has no gradient: {} reads it inside its body; make it an operand",
                         b_.program().states[input.state].name, describe(b_.program(), b_.function(), n)));
      }
    }
  }
  /// `visited`: functions known not to read the state.
  bool reads_state(const Node& n, std::uint32_t state, std::set<std::uint32_t>& visited) const {
    return std::ranges::any_of(n.functions, [&](std::uint32_t number) {
      if (!visited.insert(number).second) return false;  // the first function with the state ends the search
      const Function& f = b_.program().functions[number];
      const auto is_state = [&](const FunctionInput& input) {
        return input.kind == FunctionInput::Kind::state && input.state == state;
      };
      return std::ranges::any_of(f.inputs, is_state) ||
             std::ranges::any_of(f.nodes, [&](const Node& inner) { return reads_state(inner, state, visited); });
    });
  }

  bool reads_dependent(std::size_t n) const {
    const std::vector<ValueId>& inputs = node(n).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != kNoValue && depends_[index_of(inputs[i])] && flows_to(node(n), i)) return true;
    }
    return false;
  }

  bool is_on_path(std::size_t n) const {
    const bool reads_wrt = reads_dependent(n);
    bool reaches_result = false;
    for (ValueId v : node(n).outputs)
      reaches_result = reaches_result || (v != kNoValue && depends_[index_of(v)] && reaches_[index_of(v)]);
    return reads_wrt && reaches_result;
  }

  /// Reports all ops on the path without a gradient, in one message.
  void refuse_missing() const {
    constexpr int kListed = 20;
    std::string list;
    int count = 0;
    for (std::size_t n = 0; n < nodes_; ++n) {
      if (!is_on_path(n) || find_gradient_rule(node(n).op) != nullptr) continue;
      if (++count > kListed) continue;
      const NoGradient* none = find_no_gradient(node(n).op);
      list += fmt::format("{}{}: {}", list.empty() ? "" : "; ", describe(b_.program(), b_.function(), n),
                          none != nullptr ? none->reason : "this op has no gradient rule yet");
    }
    if (count == 0) return;
    if (count > kListed) list += fmt::format("; and {} more", count - kListed);
    fail(ErrorCode::unsupported, "no gradient of " + list);
  }

  void add(ValueId v, ValueId gradient) { grads_[index_of(v)] = add_gradients(b_, grads_[index_of(v)], gradient); }

  void visit(std::size_t n) {
    if (!is_on_path(n)) return;
    std::vector<ValueId> grads;
    bool has_gradient = false;
    for (ValueId v : node(n).outputs) {
      grads.push_back(v == kNoValue ? kNoValue : grads_[index_of(v)]);
      has_gradient = has_gradient || grads.back() != kNoValue;
    }
    if (!has_gradient) return;
    std::vector<bool> operand_needs_gradient;
    for (ValueId v : node(n).inputs) operand_needs_gradient.push_back(v != kNoValue && depends_[index_of(v)]);
    b_.set_origin(origin_of_gradient(node(n).origin), annotations_of_gradient(node(n)));
    GradientCall call(b_, n, std::move(grads), std::move(operand_needs_gradient), backward_functions_, producers_);
    find_gradient_rule(call.node.op)(call);
    for (std::size_t i = 0; i < call.input_count(); ++i) {
      if (call.needs_gradient(i) && call.operand_gradient(i) != kNoValue)
        add(call.operand(i), call.operand_gradient(i));
    }
  }

  /// Origin with the forward node's line and its own operator name: the forward operator's gradient rules do not apply
  /// to a gradient node.
  std::int32_t origin_of_gradient(std::int32_t forward) {
    std::vector<Origin>& origins = b_.program().origins;
    if (forward < 0) return forward;
    const std::string& op = origins[static_cast<std::size_t>(forward)].op;
    if (op.empty() || op.starts_with(kGradientOf)) return forward;
    const auto [functions, added] =
        backward_functions_.origins.try_emplace(forward, static_cast<std::int32_t>(origins.size()));
    if (added) {
      Origin origin = origins[static_cast<std::size_t>(forward)];
      origin.op = std::string(kGradientOf) + origin.op;
      origins.push_back(std::move(origin));
    }
    return functions->second;
  }

  Builder& b_;
  BackwardFunctions& backward_functions_;
  Producers producers_;
  const std::size_t nodes_;
  std::vector<bool> depends_, reaches_;  ///< cover the values of the original function
  std::vector<ValueId> grads_;
};

}  // namespace

std::vector<ValueId> differentiate(Builder& b, std::span<const GradientSeed> seeds, std::span<const ValueId> wrt) {
  BackwardFunctions functions;
  return differentiate(b, seeds, wrt, functions);
}

std::vector<ValueId> differentiate(Builder& b, std::span<const GradientSeed> seeds, std::span<const ValueId> wrt,
                                   BackwardFunctions& functions) {
  std::vector<ValueId> gradients = Walk(b, seeds, wrt, functions).run(wrt);
  b.set_origin(-1);
  return gradients;
}

ValueId zeros_like(Builder& b, ValueId value) {
  return b.full(Dims(b.shape(value)), 0, b.dtype(value));
}

ValueId gradient_like(Builder& b, ValueId gradient, ValueId like) {
  const DType target_dtype = b.dtype(like);
  if (is_complex(b.dtype(gradient)) && !is_complex(target_dtype)) {
    gradient = b.expr("real(x)", {{"x", gradient}}, b.dtype(gradient), target_dtype);
  }
  Dims gradient_shape = b.shape(gradient);
  const Dims sizes = b.shape(like);
  const std::size_t extra = gradient_shape.size() > sizes.size() ? gradient_shape.size() - sizes.size() : 0;
  std::vector<std::int64_t> summed;
  for (std::size_t i = 0; i < extra; ++i) summed.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = extra; i < gradient_shape.size(); ++i) {
    if (sizes[i - extra].is(1) && !gradient_shape[i].is(1)) summed.push_back(static_cast<std::int64_t>(i));
  }
  if (!summed.empty())
    gradient = b.reduce(
        gradient, "sum", summed, true,
        compute_type(target_dtype) == compute_type(b.dtype(gradient)) ? target_dtype : compute_type(b.dtype(gradient)));
  for (std::int64_t a : summed) gradient_shape[static_cast<std::size_t>(a)] = 1;
  gradient_shape.erase(gradient_shape.begin(), gradient_shape.begin() + static_cast<std::ptrdiff_t>(extra));
  if (extra > 0) gradient = b.reshape(gradient, gradient_shape);
  gradient = b.cast(gradient, target_dtype);
  return b.expand(gradient, sizes);
}

ValueId add_gradients(Builder& b, ValueId a, ValueId c) {
  if (a == kNoValue) return c;
  if (c == kNoValue) return a;
  return b.expr("a + c", {{"a", a}, {"c", c}}, b.dtype(a));
}

}  // namespace tern
