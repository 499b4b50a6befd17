// Numbers computed by Python on the host during tracing: integers and booleans become sizes, floats tensors of no
// dimensions.
#include "exporter/import/scalars.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cmath>

#include "schema/linear.h"

namespace tern::importing {
namespace {

using ArgumentKind = pt2::Argument::Kind;

/// "add" of "_operator.add", "torch.sym_sqrt" and "torch._sym_sqrt" become "sqrt".
std::string_view function_name(std::string_view target) {
  for (std::string_view prefix : {"_operator.", "math.", "torch.sym_", "torch._sym_"}) {
    if (target.starts_with(prefix)) return target.substr(prefix.size());
  }
  const std::size_t sym = target.rfind("._sym_");  // torch.fx.experimental.symbolic_shapes._sym_sqrt
  return sym == std::string_view::npos ? std::string_view{} : target.substr(sym + 6);
}

struct RealFormula {
  std::string_view name, text;
  int operands;
  bool is_boolean;  ///< the result is a boolean
};
constexpr RealFormula kRealFormulas[] = {
    {"add", "a + b", 2, false},
    {"sub", "a - b", 2, false},
    {"mul", "a * b", 2, false},
    {"truediv", "a / b", 2, false},
    {"pow", "pow(a, b)", 2, false},
    {"mod", "remainder(a, b)", 2, false},
    {"floordiv", "floor(a / b)", 2, false},
    {"min", "min(a, b)", 2, false},
    {"max", "max(a, b)", 2, false},
    {"neg", "-a", 1, false},
    {"pos", "a", 1, false},
    {"abs", "abs(a)", 1, false},
    {"sqrt", "sqrt(a)", 1, false},
    {"exp", "exp(a)", 1, false},
    {"log", "log(a)", 1, false},
    {"log2", "log2(a)", 1, false},
    {"sin", "sin(a)", 1, false},
    {"cos", "cos(a)", 1, false},
    {"tan", "tan(a)", 1, false},
    {"tanh", "tanh(a)", 1, false},
    {"sinh", "sinh(a)", 1, false},
    {"cosh", "cosh(a)", 1, false},
    {"asin", "asin(a)", 1, false},
    {"acos", "acos(a)", 1, false},
    {"atan", "atan(a)", 1, false},
    {"float", "a", 1, false},
    {"eq", "a == b", 2, true},
    {"ne", "a != b", 2, true},
    {"lt", "a < b", 2, true},
    {"le", "a <= b", 2, true},
    {"gt", "a > b", 2, true},
    {"ge", "a >= b", 2, true},
};

}  // namespace

/// Scalar read off a tensor; a node `item` binds it at run time.
Binding Scalars::from_tensor(const pt2::Node& node, ValueId value) {
  const pt2::Argument& output = node.outputs.at(0);
  if (builder_.rank(value) != 0) value = builder_.reshape(value, {});
  if (output.kind == ArgumentKind::sym_float || output.kind == ArgumentKind::tensor) {
    return Binding::real_value(builder_.cast(value, DType::f64));
  }
  const bool is_boolean = output.kind == ArgumentKind::sym_bool;
  if (!is_integral(builder_.dtype(value)) && builder_.dtype(value) != DType::boolean) {
    value = builder_.expr(is_boolean ? "x != 0" : "trunc(x)", {{"x", value}}, builder_.dtype(value), DType::i64);
  }
  Dim expected;
  const bool is_recorded = scope_.recorded(output, &expected);
  // PyTorch names the result by a new symbol; a boolean is written Eq(u0, 1).
  if (is_recorded && !is_boolean && pool().symbol_of(expected) >= 0) {
    builder_.add_all(Op::item, {value}, {attr(AttrKey::symbols, expected)});
    return Binding::integer(expected);
  }
  Dim symbol = is_boolean ? pool().new_symbol("truth", 0, 1) : pool().new_symbol("item", -kNoBound, kNoBound);
  if (is_boolean && is_recorded && !expected.is_const()) {
    const ExprNode n = pool().nodes()[expected.index()];
    if (n.op == ExprOp::eq) {
      for (std::uint32_t side : {n.a, n.b}) {
        if (pool().nodes()[side].op == ExprOp::symbol) symbol = Dim::node(side);
      }
    }
  }
  builder_.add_all(Op::item, {value}, {attr(AttrKey::symbols, symbol)});
  if (is_boolean) return Binding::boolean(pool().ne(symbol, 0));
  if (is_recorded)
    assert_dim(pool().eq(symbol, expected), "a number read off a tensor has the value that tracing assumed");
  return Binding::integer(is_recorded ? expected : symbol);
}

void Scalars::assert_dim(Dim condition, const std::string& text) {
  const Interval range = pool().bounds(condition);
  if (range.min > 0 || range.max < 0) return;  // true for all sizes in the symbols' ranges
  builder_.add_all(Op::assert_dim, {}, {attr(AttrKey::dim, condition), attr_text(AttrKey::text, text)});
}

void Scalars::bind_number(const pt2::Graph& graph, const pt2::Argument& argument, ValueId value) {
  scope_.enter(graph);
  pt2::Node node;
  node.outputs = {argument};
  scope_.bind(argument.name, from_tensor(node, value));
}

/// Prefers the recorded expression to a computed scalar of floats if integers can express it: the value is then known
/// without a run.
Binding Scalars::prefer_recorded(const pt2::Node& node, Binding fallback) {
  Dim d;
  const pt2::Argument& output = node.outputs.at(0);
  if (fallback.is_dim() || !scope_.recorded(output, &d)) return fallback;
  return output.kind == ArgumentKind::sym_int ? Binding::integer(d) : Binding::boolean(d);
}

Binding Scalars::compute_real(const pt2::Node& node, std::string_view function, const std::vector<Binding>& args) {
  const pt2::Argument& output = node.outputs.at(0);
  const auto tensor = [&](const Binding& b) {
    if (b.is_dim()) return builder_.cast(builder_.from_dim(b.dim), DType::f64);
    return scope_.value_of(b);
  };
  const bool rounds_to_integer =
      function == "trunc" || function == "ceil" || function == "floor" || function == "int" || function == "round";
  if (rounds_to_integer) {
    if (args.size() != 1) fail(ErrorCode::unsupported, fmt::format("{} with {} arguments", function, args.size()));
    if (Binding b = prefer_recorded(node, Binding{}); b.is_dim()) return b;
    const std::string text = fmt::format("{}(a)", function == "int" ? "trunc" : function);
    return from_tensor(node, builder_.expr(text, {{"a", tensor(args[0])}}, DType::f64, DType::i64));
  }
  for (const RealFormula& f : kRealFormulas) {
    if (f.name != function || static_cast<std::size_t>(f.operands) != args.size()) continue;
    if (f.is_boolean) {
      if (Binding b = prefer_recorded(node, Binding{}); b.is_dim()) return b;
    }
    std::vector<ExprArg> operands = {{"a", tensor(args[0])}};
    if (f.operands == 2) operands.emplace_back("b", tensor(args[1]));
    const ValueId value = builder_.expr(f.text, operands, DType::f64, f.is_boolean ? DType::boolean : DType::f64);
    if (f.is_boolean || output.kind != ArgumentKind::sym_float) return from_tensor(node, value);
    return Binding::real_value(value);
  }
  if (function == "ite" && args.size() == 3) {
    return Binding::real_value(builder_.expr(
        "where(c, a, b)", {{"c", scope_.value_of(args[0])}, {"a", tensor(args[1])}, {"b", tensor(args[2])}}, DType::f64,
        DType::f64));
  }
  fail(ErrorCode::unsupported, fmt::format("the function {} of floating-point numbers on the host", function));
}

Binding Scalars::compute(const pt2::Node& node, std::string_view f, const std::vector<Binding>& args) {
  ExprPool& p = pool();
  bool is_real = f == "float" || f == "truediv" || f == "sqrt";
  for (const Binding& b : args) {
    if (b.kind == BindingKind::real) is_real = true;
    if (!b.is_dim() && b.kind != BindingKind::real)
      fail(ErrorCode::bad_file, fmt::format("an operand of {} is not a number", f));
  }
  if (f == "pow" && args.size() == 2 && (!args[1].dim.is_const() || args[1].dim.value() < 0) &&
      p.bounds(args[1].dim).min < 0)
    is_real = true;
  if (is_real) return compute_real(node, f, args);
  const auto d = [&](std::size_t i) { return args.at(i).dim; };
  const auto all_booleans = [&] {
    for (const Binding& b : args) {
      if (b.kind != BindingKind::boolean) return false;
    }
    return true;
  };
  if (args.size() == 2) {
    if (f == "add") return Binding::integer(p.add(d(0), d(1)));
    if (f == "sub") return Binding::integer(p.sub(d(0), d(1)));
    if (f == "mul") return Binding::integer(p.mul(d(0), d(1)));
    if (f == "floordiv") return Binding::integer(p.floordiv(d(0), d(1)));
    if (f == "mod") return Binding::integer(p.mod(d(0), d(1)));
    if (f == "pow" || f == "pow_by_natural") return Binding::integer(p.pow(d(0), d(1)));
    if (f == "lshift") return Binding::integer(p.shift(ExprOp::shl, d(0), d(1)));
    if (f == "rshift") return Binding::integer(p.shift(ExprOp::shr, d(0), d(1)));
    if (f == "eq") return Binding::boolean(p.eq(d(0), d(1)));
    if (f == "ne") return Binding::boolean(p.ne(d(0), d(1)));
    if (f == "lt") return Binding::boolean(p.lt(d(0), d(1)));
    if (f == "le") return Binding::boolean(p.le(d(0), d(1)));
    if (f == "gt") return Binding::boolean(p.lt(d(1), d(0)));
    if (f == "ge") return Binding::boolean(p.le(d(1), d(0)));
    if (all_booleans() && f == "and_") return Binding::boolean(p.logical_and(d(0), d(1)));
    if (all_booleans() && f == "or_") return Binding::boolean(p.logical_or(d(0), d(1)));
    if (all_booleans() && f == "xor") return Binding::boolean(p.ne(d(0), d(1)));
  }
  if (f == "min" || f == "max") {
    Dim result = d(0);
    for (std::size_t i = 1; i < args.size(); ++i) result = f == "min" ? p.min(result, d(i)) : p.max(result, d(i));
    return Binding::integer(result);
  }
  if (f == "sum") {
    Dims terms;
    for (const Binding& b : args) terms.push_back(b.dim);
    return Binding::integer(sum(p, terms));
  }
  if (f == "ite" && args.size() == 3) {
    Binding result = args[1];
    result.dim = p.select(d(0), d(1), d(2));
    return result;
  }
  if (args.size() == 1) {
    if (f == "neg") return Binding::integer(p.neg(d(0)));
    if (f == "abs") return Binding::integer(p.max(d(0), p.neg(d(0))));
    if (f == "not" || f == "not_") return Binding::boolean(p.logical_not(d(0)));
    for (std::string_view identity : {"pos", "int", "trunc", "ceil", "floor", "round", "index"}) {
      if (f == identity) return Binding::integer(d(0));
    }
  }
  if (Binding b = prefer_recorded(node, Binding{}); b.is_dim()) return b;
  return compute_real(node, f, args);
}

bool Scalars::call(const pt2::Node& node) {
  const std::string_view function = function_name(node.target);
  if (function.empty() || node.outputs.size() != 1) return false;
  std::vector<Binding> args;
  for (const pt2::NamedArgument& argument : node.inputs) {
    if (argument.arg.kind == ArgumentKind::sym_ints) {
      for (const auto& s : argument.arg.sym_ints) {
        pt2::Argument element;
        element.kind = ArgumentKind::sym_int;
        element.name = s.name;
        element.integer = s.value;
        args.push_back(scope_.binding_of(element));
      }
    } else if (argument.arg.kind == ArgumentKind::ints) {
      for (std::int64_t v : argument.arg.ints) args.push_back(Binding::integer(v));
    } else {
      args.push_back(scope_.binding_of(argument.arg));
      if (args.back().kind == BindingKind::none) args.pop_back();
      // Python's operators apply to tensors only in rare cases: scalars from .item().
      if (!args.empty() && args.back().kind == BindingKind::tensor) {
        args.back() =
            Binding::real_value(builder_.cast(builder_.reshape(scope_.value_of(args.back()), {}), DType::f64));
      }
    }
  }
  if (args.empty()) return false;
  scope_.bind(node.outputs[0].name, compute(node, function, args));
  return true;
}

}  // namespace tern::importing
