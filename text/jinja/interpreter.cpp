#include "text/jinja/interpreter.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/failure.h"
#include "text/unicode.h"

namespace tern::jinja {
namespace {

[[noreturn]] void fail_undefined(const Value& v) {
  fail_rendering(fmt::format("'{}' is undefined", v.undefined_name().empty() ? "a value" : v.undefined_name()));
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// Bounds of a Python slice, clamped to a sequence of `size`.
struct SliceBounds {
  std::int64_t begin, end, step;
};

SliceBounds clamp_slice(const Value& begin, const Value& end, const Value& step, std::int64_t size) {
  const auto number = [](const Value& v) {
    if (!v.is_integral()) fail_rendering("the bounds of a slice must be integers");
    return v.integer();
  };
  SliceBounds b{0, size, step.is_none() ? 1 : number(step)};
  if (b.step == 0) fail_rendering("the step of a slice must not be 0");
  const std::int64_t low = b.step < 0 ? -1 : 0, high = b.step < 0 ? size - 1 : size;
  const auto clamp = [&](const Value& v, std::int64_t absent) {
    if (v.is_none()) return absent;
    const std::int64_t i = number(v);
    return std::clamp(i < 0 ? i + size : i, low, high);
  };
  b.begin = clamp(begin, b.step < 0 ? high : low);
  b.end = clamp(end, b.step < 0 ? low : high);
  return b;
}

/// "%s" % value, with %s, %d, %r, %f, %.2f, %%.
std::string format_percent(Interpreter& interpreter, const std::string& format, const Value& v) {
  const List values = v.is_tuple() ? v.items() : List{v};
  std::string text_out;
  std::size_t used_count = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text_out += format[i];
      continue;
    }
    std::size_t end = i + 1;
    while (end < format.size() && std::string_view("0123456789.-+ ").find(format[end]) != std::string_view::npos) ++end;
    const char kind = end < format.size() ? format[end] : '\0';
    const std::string spec = format.substr(i + 1, end - i - 1);
    i = end;
    if (kind == '%') {
      text_out += '%';
      continue;
    }
    if (used_count >= values.size()) fail_rendering("a format has too few arguments");
    const Value& item = values[used_count++];
    if (kind == 's') {
      text_out += to_text(item);
    } else if (kind == 'r') {
      text_out += to_repr(item);
    } else if ((kind == 'd' || kind == 'i') && item.is_number() && spec.size() < 4) {
      text_out += std::to_string(item.is_integral() ? item.integer() : static_cast<std::int64_t>(item.number()));
    } else if (kind == 'f' && item.is_number() && spec.size() < 4) {
      const std::size_t dot = spec.find('.');
      const int digits = dot == std::string::npos ? 6 : std::min(std::atoi(spec.c_str() + dot + 1), 40);
      text_out += fmt::format("{:.{}f}", item.number(), digits);
    } else {
      fail_rendering(fmt::format("the format '%{}{}' is not known", spec, kind));
    }
    interpreter.take_text(text_out.size() / 64);
  }
  return text_out;
}

}  // namespace

Interpreter::Nested::Nested(Interpreter& i) : interpreter(i) {
  if (++interpreter.depth_ > kMaxDepth) {
    --interpreter.depth_;
    fail_rendering("calls nest too deep");
  }
}

void Interpreter::take_steps(std::size_t count) {
  steps_ += count;
  if (steps_ > kMaxSteps) fail_rendering(fmt::format("it takes more than {} steps", kMaxSteps));
}

void Interpreter::take_text(std::size_t size) {
  check_text_size(size);
  take_steps(1 + size / 16);
}

void Interpreter::append(std::string& text_out, std::string_view text) {
  take_text(text.size());
  check_text_size(text_out.size() + text.size());
  text_out += text;
}

std::string Interpreter::render(const Body& body) {
  std::string text_out;
  execute(body, std::make_shared<Scope>(globals_), text_out);
  return text_out;
}

const Value* Interpreter::find(std::string_view name, const Scope& scope) const {
  for (const Scope* s = &scope; s != nullptr; s = s->parent.get()) {
    const auto found = s->variables.find(name);
    if (found != s->variables.end()) return &found->second;
  }
  return nullptr;
}

// Expressions

Value Interpreter::evaluate(const Expression& e, const ScopePtr& scope) {
  const Nested nested(*this);
  take_steps(1);
  const auto operand = [&](std::size_t i) { return evaluate(*e.operands[i], scope); };
  switch (e.kind) {
    case ExpressionKind::constant: return e.constant;
    case ExpressionKind::name: {
      const Value* found = find(e.text, *scope);
      return found != nullptr ? *found : Value::undefined(e.text);
    }
    case ExpressionKind::list:
    case ExpressionKind::tuple: {
      List items;
      for (const auto& operand_expression : e.operands) items.push_back(evaluate(*operand_expression, scope));
      return Value::list(std::move(items), e.kind == ExpressionKind::tuple);
    }
    case ExpressionKind::dict: {
      Dict dict;
      for (std::size_t i = 0; i + 1 < e.operands.size(); i += 2) {
        const Value key = operand(i);
        dict.set(key.is_string() ? key.string() : to_text(key), operand(i + 1));
      }
      return Value::dict(std::move(dict));
    }
    case ExpressionKind::attribute: return attribute(operand(0), e.text);
    case ExpressionKind::item: return item(operand(0), operand(1));
    case ExpressionKind::slice: return evaluate_slice(e, scope);
    case ExpressionKind::call: {
      const Value function = operand(0);
      return call(function, evaluate_arguments(e.arguments, scope));
    }
    case ExpressionKind::filter: {
      const Value v = operand(0);
      return apply_filter(e.text, v, evaluate_arguments(e.arguments, scope));
    }
    case ExpressionKind::test: {
      const Value v = operand(0);
      return Value(apply_test(e.text, v, evaluate_arguments(e.arguments, scope)));
    }
    case ExpressionKind::negate:
    case ExpressionKind::plus: {
      const Value v = operand(0);
      if (v.is_undefined()) fail_undefined(v);
      if (!v.is_number()) fail_rendering(fmt::format("a {} has no sign", v.type_name()));
      if (e.kind == ExpressionKind::plus) return v;
      if (!v.is_integral()) return Value(-v.number());
      return Value(static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(v.integer())));
    }
    case ExpressionKind::logical_not: return Value(!operand(0).truth());
    case ExpressionKind::logical_and: {
      Value left = operand(0);
      return left.truth() ? operand(1) : left;
    }
    case ExpressionKind::logical_or: {
      Value left = operand(0);
      return left.truth() ? left : operand(1);
    }
    case ExpressionKind::binary: {
      const Value left = operand(0);
      return evaluate_binary(e.text, left, operand(1));
    }
    case ExpressionKind::compare: {
      Value left = operand(0);
      for (std::size_t i = 0; i < e.operators.size(); ++i) {
        Value right = operand(i + 1);
        if (!compare(e.operators[i], left, right)) return Value(false);
        left = std::move(right);
      }
      return Value(true);
    }
    case ExpressionKind::conditional:
      if (operand(1).truth()) return operand(0);
      return e.operands[2] != nullptr ? operand(2) : Value::undefined();
  }
  return Value();
}

Value Interpreter::evaluate_binary(const std::string& op, const Value& a, const Value& b) {
  if (op == "~") {
    std::string text = to_text(a) + to_text(b);
    take_text(text.size());
    return Value(std::move(text));
  }
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (op == "+" && a.is_string() && b.is_string()) {
    take_text(a.string().size() + b.string().size());
    return Value(a.string() + b.string());
  }
  if (op == "+" && a.is_list() && b.is_list() && a.is_tuple() == b.is_tuple()) {
    take_steps(a.items().size() + b.items().size());
    List items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    return Value::list(std::move(items), a.is_tuple());
  }
  if (op == "%" && a.is_string()) return Value(format_percent(*this, a.string(), b));
  if (op == "*" && ((a.is_integral() && !b.is_number()) || (b.is_integral() && !a.is_number()))) {
    const Value& sequence = a.is_integral() ? b : a;
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>((a.is_integral() ? a : b).integer(), 0));
    if (sequence.is_string()) {
      const std::size_t size = sequence.string().size();
      if (size != 0 && count > kMaxOutput / size) check_text_size(kMaxOutput + 1);
      take_text(size * count);
      std::string text_out;
      text_out.reserve(size * count);
      for (std::size_t i = 0; i < count && size != 0; ++i) text_out += sequence.string();
      return Value(std::move(text_out));
    }
    if (sequence.is_list()) {
      const std::size_t size = sequence.items().size();
      if (size != 0 && count > kMaxSteps / size) take_steps(kMaxSteps + 1);
      take_steps(size * count);
      List items;
      for (std::size_t i = 0; i < count && size != 0; ++i)
        items.insert(items.end(), sequence.items().begin(), sequence.items().end());
      return Value::list(std::move(items), sequence.is_tuple());
    }
  }
  if (!a.is_number() || !b.is_number())
    fail_rendering(fmt::format("'{}' is not defined between {} and {}", op, a.type_name(), b.type_name()));
  const bool integral = a.is_integral() && b.is_integral();
  const bool is_division = op == "/" || op == "//" || op == "%";
  if (is_division && b.number() == 0) fail_rendering("division by zero");
  if (integral && op != "/") {
    const std::int64_t x = a.integer(), y = b.integer();
    std::int64_t result = 0;
    bool overflows = false;
    if (op == "+") {
      overflows = __builtin_add_overflow(x, y, &result);
    } else if (op == "-") {
      overflows = __builtin_sub_overflow(x, y, &result);
    } else if (op == "*") {
      overflows = __builtin_mul_overflow(x, y, &result);
    } else if (op == "//" || op == "%") {
      overflows = x == INT64_MIN && y == -1;
      if (!overflows) result = op == "//" ? floor_divide(x, y) : x - floor_divide(x, y) * y;
    } else if (y < 0) {
      return Value(std::pow(a.number(), b.number()));
    } else {
      result = 1;
      for (std::int64_t i = 0; i < y && !overflows; ++i) {
        overflows = __builtin_mul_overflow(result, x, &result);
        take_steps(1);
      }
    }
    if (overflows) fail_rendering("an integer has more than 64 bits");
    return Value(result);
  }
  const double x = a.number(), y = b.number();
  if (op == "+") return Value(x + y);
  if (op == "-") return Value(x - y);
  if (op == "*") return Value(x * y);
  if (op == "/") return Value(x / y);
  if (op == "//") return Value(std::floor(x / y));
  if (op == "%") return Value(x - std::floor(x / y) * y);
  return Value(std::pow(x, y));
}

bool Interpreter::compare(const std::string& op, const Value& a, const Value& b) {
  if (op == "==") return equal(a, b);
  if (op == "!=") return !equal(a, b);
  if (op == "in" || op == "not in") {
    bool is_in = false;
    if (b.is_string()) {
      if (!a.is_string()) fail_rendering(fmt::format("'in' needs a string before a string, not a {}", a.type_name()));
      take_steps(1 + b.string().size() / 64);
      is_in = b.string().find(a.string()) != std::string::npos;
    } else if (b.is_list()) {
      take_steps(b.items().size());
      is_in = std::ranges::any_of(b.items(), [&](const Value& item) { return equal(item, a); });
    } else if (b.is_dict()) {
      is_in = a.is_string() && b.dict().find(a.string()) != nullptr;
    } else if (!b.is_undefined()) {
      fail_rendering(fmt::format("a {} has no elements to look for", b.type_name()));
    }
    return is_in == (op == "in");
  }
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (op == "<") return less(a, b);
  if (op == ">") return less(b, a);
  return op == "<=" ? !less(b, a) : !less(a, b);
}

Value Interpreter::evaluate_slice(const Expression& e, const ScopePtr& scope) {
  const Value v = evaluate(*e.operands[0], scope);
  const auto bound = [&](std::size_t i) {
    return e.operands[i] != nullptr ? evaluate(*e.operands[i], scope) : Value();
  };
  const Value begin = bound(1), end = bound(2), step = bound(3);
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_string()) {
    const std::u32string characters = text::to_characters(v.string());
    take_steps(1 + characters.size() / 16);
    const SliceBounds b = clamp_slice(begin, end, step, static_cast<std::int64_t>(characters.size()));
    std::string text_out;
    for (std::int64_t i = b.begin; b.step > 0 ? i < b.end : i > b.end; i += b.step)
      text::append_character(text_out, characters[static_cast<std::size_t>(i)]);
    return Value(std::move(text_out));
  }
  if (!v.is_list()) fail_rendering(fmt::format("a {} has no slices", v.type_name()));
  take_steps(v.items().size());
  const SliceBounds b = clamp_slice(begin, end, step, static_cast<std::int64_t>(v.items().size()));
  List items;
  for (std::int64_t i = b.begin; b.step > 0 ? i < b.end : i > b.end; i += b.step)
    items.push_back(v.items()[static_cast<std::size_t>(i)]);
  return Value::list(std::move(items), v.is_tuple());
}

Arguments Interpreter::evaluate_arguments(const std::vector<Argument>& arguments, const ScopePtr& scope) {
  Arguments text_out;
  for (const Argument& a : arguments) {
    Value v = evaluate(*a.value, scope);
    switch (a.kind) {
      case Argument::Kind::positional: text_out.positional.push_back(std::move(v)); break;
      case Argument::Kind::keyword: text_out.keywords.emplace_back(a.name, std::move(v)); break;
      case Argument::Kind::list:
        for (Value& item : elements(v)) text_out.positional.push_back(std::move(item));
        break;
      case Argument::Kind::mapping:
        if (!v.is_dict()) fail_rendering("'**' needs a mapping");
        for (const auto& [key, value] : v.dict().items()) text_out.keywords.emplace_back(key, value);
    }
  }
  return text_out;
}

Value Interpreter::call(const Value& function, const Arguments& arguments) {
  const Nested nested(*this);
  if (function.is_undefined()) fail_undefined(function);
  if (function.kind() != Value::Kind::callable)
    fail_rendering(fmt::format("a {} cannot be called", function.type_name()));
  return function.callable().call(*this, arguments);
}

List Interpreter::elements(const Value& v) {
  List items_out;
  if (v.is_list()) {
    items_out = v.items();
  } else if (v.is_dict() && !v.is_namespace()) {
    for (const auto& [key, value] : v.dict().items()) items_out.emplace_back(key);
  } else if (v.is_string()) {
    const std::string& s = v.string();
    take_steps(s.size());
    for (std::size_t byte_index = 0; byte_index < s.size();) {
      const std::size_t size = text::character_at(s, byte_index).size;
      items_out.emplace_back(std::string_view(s).substr(byte_index, size));
      byte_index += size;
    }
    return items_out;
  } else if (!v.is_undefined()) {
    fail_rendering(fmt::format("a {} has no elements", v.type_name()));
  }
  take_steps(items_out.size());
  return items_out;
}

Value Interpreter::attribute(const Value& v, const std::string& name) {
  if (v.is_undefined()) fail_undefined(v);
  Value method;
  if (find_method(v, name, method)) return method;
  if (v.is_dict()) {
    if (const Value* found = v.dict().find(name)) return *found;
  }
  return Value::undefined(name);
}

Value Interpreter::item(const Value& v, const Value& key) {
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_dict()) {
    const Value* found = key.is_string() ? v.dict().find(key.string()) : nullptr;
    if (found != nullptr) return *found;
  } else if (key.is_integral() && (v.is_list() || v.is_string())) {
    if (v.is_list()) {
      const auto size = static_cast<std::int64_t>(v.items().size());
      const std::int64_t i = key.integer() < 0 ? key.integer() + size : key.integer();
      return i >= 0 && i < size ? v.items()[static_cast<std::size_t>(i)]
                                : Value::undefined(std::to_string(key.integer()));
    }
    const std::u32string characters = text::to_characters(v.string());
    take_steps(1 + characters.size() / 16);
    const auto size = static_cast<std::int64_t>(characters.size());
    const std::int64_t i = key.integer() < 0 ? key.integer() + size : key.integer();
    if (i < 0 || i >= size) return Value::undefined(std::to_string(key.integer()));
    std::string text_out;
    text::append_character(text_out, characters[static_cast<std::size_t>(i)]);
    return Value(std::move(text_out));
  }
  Value method;
  if (key.is_string() && find_method(v, key.string(), method)) return method;
  return Value::undefined(to_text(key));
}

// Statements

Interpreter::Flow Interpreter::execute(const Body& body, const ScopePtr& scope, std::string& text_out) {
  for (const auto& s : body) {
    const Flow flow = execute(*s, scope, text_out);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

std::string Interpreter::text_of_body(const Body& body, const ScopePtr& scope) {
  std::string text_out;
  execute(body, scope, text_out);
  return text_out;
}

Interpreter::Flow Interpreter::execute(const Statement& s, const ScopePtr& scope, std::string& text_out) {
  const Nested nested(*this);
  take_steps(1);
  switch (s.kind) {
    case StatementKind::text: append(text_out, s.text); break;
    case StatementKind::output: append(text_out, to_text(evaluate(*s.value, scope))); break;
    case StatementKind::loop: return execute_loop(s, scope, text_out);
    case StatementKind::branch:
      for (const auto& [condition, body] : s.branches) {
        if (evaluate(*condition, scope).truth()) return execute(body, scope, text_out);
      }
      return execute(s.otherwise, scope, text_out);
    case StatementKind::set: {
      if (s.value != nullptr) {
        assign(s.target, evaluate(*s.value, scope), scope);
        break;
      }
      const auto inner = std::make_shared<Scope>(scope);
      inner->variables[""] = Value(text_of_body(s.body, inner));
      assign(s.target, s.condition != nullptr ? evaluate(*s.condition, inner) : inner->variables[""], scope);
      break;
    }
    case StatementKind::macro: scope->variables[s.text] = make_macro(s, scope, s.text); break;
    case StatementKind::call: {
      const Value function = evaluate(*s.value->operands[0], scope);
      Arguments arguments = evaluate_arguments(s.value->arguments, scope);
      arguments.keywords.emplace_back("caller", make_macro(s, scope, "caller"));
      append(text_out, to_text(call(function, arguments)));
      break;
    }
    case StatementKind::filter: {
      const auto inner = std::make_shared<Scope>(scope);
      inner->variables[""] = Value(text_of_body(s.body, inner));
      append(text_out, to_text(evaluate(*s.value, inner)));
      break;
    }
    case StatementKind::with: {
      const auto inner = std::make_shared<Scope>(scope);
      for (const auto& [target, value] : s.assignments) assign(target, evaluate(*value, scope), inner);
      return execute(s.body, inner, text_out);
    }
    case StatementKind::group: return execute(s.body, scope, text_out);
    case StatementKind::end_loop: return Flow::end_loop;
    case StatementKind::next_loop: return Flow::next_loop;
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::execute_loop(const Statement& s, const ScopePtr& scope, std::string& text_out) {
  List items = elements(evaluate(*s.value, scope));
  if (s.condition != nullptr) {
    List selected;
    for (Value& item : items) {
      const auto inner = std::make_shared<Scope>(scope);
      assign(s.target, item, inner);
      if (evaluate(*s.condition, inner).truth()) selected.push_back(std::move(item));
    }
    items = std::move(selected);
  }
  const auto count = static_cast<std::int64_t>(items.size());
  const auto last_changed = std::make_shared<Value>(Value::undefined());
  for (std::int64_t i = 0; i < count; ++i) {
    take_steps(8);
    const auto item_at = [&](std::int64_t k) {
      return k >= 0 && k < count ? items[static_cast<std::size_t>(k)] : Value::undefined("item");
    };
    Dict loop;
    loop.set("index", Value(i + 1));
    loop.set("index0", Value(i));
    loop.set("first", Value(i == 0));
    loop.set("last", Value(i + 1 == count));
    loop.set("length", Value(count));
    loop.set("revindex", Value(count - i));
    loop.set("revindex0", Value(count - i - 1));
    loop.set("previtem", item_at(i - 1));
    loop.set("nextitem", item_at(i + 1));
    loop.set("depth", Value(std::int64_t{1}));
    loop.set("depth0", Value(std::int64_t{0}));
    loop.set("cycle", Value::callable({"cycle", [i](Interpreter&, const Arguments& a) {
                                         if (a.positional.empty()) fail_rendering("loop.cycle needs values");
                                         return a.positional[static_cast<std::size_t>(i) % a.positional.size()];
                                       }}));
    loop.set("changed", Value::callable({"changed", [last_changed](Interpreter&, const Arguments& a) {
                                           Value current_value = Value::list(a.positional, true);
                                           const bool differs = !equal(current_value, *last_changed);
                                           *last_changed = std::move(current_value);
                                           return Value(differs);
                                         }}));
    const auto inner = std::make_shared<Scope>(scope);
    inner->variables["loop"] = Value::dict(std::move(loop), true);
    assign(s.target, items[static_cast<std::size_t>(i)], inner);
    if (execute(s.body, inner, text_out) == Flow::end_loop) return Flow::normal;
  }
  if (count == 0) return execute(s.otherwise, scope, text_out);
  return Flow::normal;
}

void Interpreter::assign(const Target& target, Value v, const ScopePtr& scope) {
  if (!target.elements.empty()) {
    List items = elements(v);
    if (items.size() != target.elements.size())
      fail_rendering(fmt::format("{} values cannot be assigned to {} names", items.size(), target.elements.size()));
    for (std::size_t i = 0; i < items.size(); ++i) assign(target.elements[i], std::move(items[i]), scope);
    return;
  }
  if (target.attribute.empty()) {
    scope->variables[target.name] = std::move(v);
    return;
  }
  const Value* object = find(target.name, *scope);
  if (object == nullptr || !object->is_namespace())
    fail_rendering(fmt::format("'{}' is not a namespace, so '{}' cannot be set", target.name, target.attribute));
  Value(*object).dict().set(target.attribute, std::move(v));
}

Value Interpreter::make_macro(const Statement& s, const ScopePtr& scope, std::string name) {
  // A weak reference: the scope holds the macro. Scopes of callers outlive the calls inside them.
  const std::weak_ptr<Scope> outer = scope;
  return Value::callable({name, [&s, outer, name](Interpreter& interpreter, const Arguments& a) {
                            const auto inner = std::make_shared<Scope>(outer.lock());
                            if (a.positional.size() > s.parameters.size())
                              fail_rendering(fmt::format("macro '{}' takes {} arguments, not {}", name,
                                                         s.parameters.size(), a.positional.size()));
                            Dict extra_keywords;
                            for (const auto& [key, value] : a.keywords) {
                              const bool is_known =
                                  std::ranges::find(s.parameters, key, &Parameter::name) != s.parameters.end();
                              if (is_known || key == "caller") {
                                inner->variables[key] = value;
                              } else {
                                extra_keywords.set(key, value);
                              }
                            }
                            inner->variables["kwargs"] = Value::dict(std::move(extra_keywords));
                            inner->variables["varargs"] = Value::list({}, true);
                            for (std::size_t i = 0; i < s.parameters.size(); ++i) {
                              const Parameter& p = s.parameters[i];
                              if (i < a.positional.size()) {
                                inner->variables[p.name] = a.positional[i];
                              } else if (!inner->variables.contains(p.name)) {
                                inner->variables[p.name] = p.value != nullptr ? interpreter.evaluate(*p.value, inner)
                                                                              : Value::undefined(p.name);
                              }
                            }
                            return Value(interpreter.text_of_body(s.body, inner));
                          }});
}

}  // namespace tern::jinja
