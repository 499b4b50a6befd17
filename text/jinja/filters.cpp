// Filters and tests of jinja2, with tojson as transformers defines it.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja/failure.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/strings.h"
#include "text/unicode.h"

namespace tern::jinja {
namespace {

using Filter = Value (*)(Interpreter&, const Value&, const Arguments&);

Value argument(const Arguments& a, std::size_t i, const char* name, Value absent = Value()) {
  const Value* found = a.find(i, name);
  return found != nullptr ? *found : std::move(absent);
}

std::string counted_text(Interpreter& interpreter, std::string text) {
  interpreter.take_text(text.size());
  return text;
}

std::int64_t integer_of(const Value& v, const char* subject) {
  if (!v.is_integral()) fail_rendering(fmt::format("{} must be an integer, not a {}", subject, v.type_name()));
  return v.integer();
}

Value filter_default(Interpreter&, const Value& v, const Arguments& a) {
  const bool replaces = v.is_undefined() || (argument(a, 1, "boolean", Value(false)).truth() && !v.truth());
  return replaces ? argument(a, 0, "default_value", Value("")) : v;
}

Value filter_length(Interpreter&, const Value& v, const Arguments&) {
  if (v.is_string()) return Value(static_cast<std::int64_t>(text::count_characters(v.string())));
  if (v.is_list()) return Value(static_cast<std::int64_t>(v.items().size()));
  if (v.is_dict()) return Value(static_cast<std::int64_t>(v.dict().size()));
  if (v.is_undefined()) return Value(std::int64_t{0});
  fail_rendering(fmt::format("a {} has no length", v.type_name()));
}

/// Value of an attribute by a path such as "function.name" or 0.
Value attribute_of(Interpreter& interpreter, Value v, const Value& path) {
  if (path.is_integral()) return interpreter.item(v, path);
  std::string_view remaining = path.string();
  while (true) {
    const std::size_t dot = remaining.find('.');
    const std::string name(remaining.substr(0, dot));
    std::int64_t index = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    v = parsed.ptr == name.data() + name.size() && !name.empty() ? interpreter.item(v, Value(index))
                                                                 : interpreter.item(v, Value(name));
    if (dot == std::string_view::npos) return v;
    remaining = remaining.substr(dot + 1);
  }
}

Value filter_join(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const std::string separator = to_text(argument(a, 0, "d", Value("")));
  const Value path = argument(a, 1, "attribute");
  std::string text_out;
  bool is_first = true;
  for (const Value& item : interpreter.elements(v)) {
    if (!is_first) text_out += separator;
    is_first = false;
    text_out += to_text(path.is_none() ? item : attribute_of(interpreter, item, path));
    check_text_size(text_out.size());
  }
  return Value(counted_text(interpreter, std::move(text_out)));
}

Value filter_items(Interpreter& interpreter, const Value& v, const Arguments&) {
  if (v.is_undefined()) return Value::list({});
  if (!v.is_dict()) fail_rendering("items needs a mapping");
  interpreter.take_steps(v.dict().size());
  List items_out;
  for (const auto& [key, value] : v.dict().items()) items_out.push_back(Value::list({Value(key), value}, true));
  return Value::list(std::move(items_out));
}

Value filter_tojson(Interpreter& interpreter, const Value& v, const Arguments& a) {
  JsonStyle style;
  style.ensure_ascii = argument(a, 0, "ensure_ascii", Value(false)).truth();
  const Value indent = argument(a, 1, "indent");
  if (!indent.is_none()) {
    style.indent = static_cast<int>(std::clamp<std::int64_t>(integer_of(indent, "indent"), 0, 64));
    style.item_separator = ",";
  }
  const Value separators = argument(a, 2, "separators");
  if (separators.is_list() && separators.items().size() == 2) {
    style.item_separator = to_text(separators.items()[0]);
    style.key_separator = to_text(separators.items()[1]);
  }
  style.sort_keys = argument(a, 3, "sort_keys", Value(false)).truth();
  return Value(counted_text(interpreter, to_json(v, style)));
}

/// The truth of an element for select(), selectattr() and their opposites.
bool is_selected(Interpreter& interpreter, const Value& item, const Arguments& a, bool by_attribute) {
  Value v = item;
  std::size_t first = 0;
  if (by_attribute) {
    const Value path = argument(a, 0, "attribute");
    if (!path.is_string() && !path.is_integral()) fail_rendering("selectattr needs the name of an attribute");
    v = attribute_of(interpreter, v, path);
    first = 1;
  }
  if (a.positional.size() <= first) return v.truth();
  Arguments tail;
  tail.positional.assign(a.positional.begin() + static_cast<std::ptrdiff_t>(first) + 1, a.positional.end());
  return interpreter.apply_test(to_text(a.positional[first]), v, tail);
}

template <bool by_attribute, bool wanted>
Value filter_select(Interpreter& interpreter, const Value& v, const Arguments& a) {
  List items_out;
  for (Value& item : interpreter.elements(v)) {
    if (is_selected(interpreter, item, a, by_attribute) == wanted) items_out.push_back(std::move(item));
  }
  return Value::list(std::move(items_out));
}

Value filter_map(Interpreter& interpreter, const Value& v, const Arguments& a) {
  List items_out;
  const Value path = argument(a, 1000, "attribute");
  const Value absent = argument(a, 1000, "default");
  if (path.is_none() && a.positional.empty()) fail_rendering("map needs the name of a filter or an attribute");
  Arguments tail;
  if (path.is_none()) {
    tail.positional.assign(a.positional.begin() + 1, a.positional.end());
    tail.keywords = a.keywords;
  }
  for (const Value& item : interpreter.elements(v)) {
    if (path.is_none()) {
      items_out.push_back(interpreter.apply_filter(to_text(a.positional[0]), item, tail));
    } else {
      Value found = attribute_of(interpreter, item, path);
      items_out.push_back(found.is_undefined() && !absent.is_none() ? absent : std::move(found));
    }
  }
  return Value::list(std::move(items_out));
}

Value filter_first(Interpreter& interpreter, const Value& v, const Arguments&) {
  const List items = interpreter.elements(v);
  return items.empty() ? Value::undefined("first") : items.front();
}
Value filter_last(Interpreter& interpreter, const Value& v, const Arguments&) {
  const List items = interpreter.elements(v);
  return items.empty() ? Value::undefined("last") : items.back();
}
Value filter_list(Interpreter& interpreter, const Value& v, const Arguments&) {
  return Value::list(interpreter.elements(v));
}
Value filter_string(Interpreter& interpreter, const Value& v, const Arguments&) {
  return Value(counted_text(interpreter, to_text(v)));
}

Value filter_int(Interpreter&, const Value& v, const Arguments& a) {
  if (v.is_integral()) return Value(v.integer());
  if (v.is_number() && std::abs(v.number()) < 9e18) return Value(static_cast<std::int64_t>(v.number()));
  if (v.is_string()) {
    const std::string text = strip(v.string());
    double d = 0;
    std::int64_t i = 0;
    const char* end = text.data() + text.size();
    if (!text.empty() && std::from_chars(text.data(), end, i).ptr == end) return Value(i);
    if (!text.empty() && std::from_chars(text.data(), end, d).ptr == end && std::abs(d) < 9e18)
      return Value(static_cast<std::int64_t>(d));
  }
  return argument(a, 0, "default", Value(std::int64_t{0}));
}

Value filter_float(Interpreter&, const Value& v, const Arguments& a) {
  if (v.is_number()) return Value(v.number());
  if (v.is_string()) {
    const std::string text = strip(v.string());
    double d = 0;
    if (!text.empty() && std::from_chars(text.data(), text.data() + text.size(), d).ptr == text.data() + text.size())
      return Value(d);
  }
  return argument(a, 0, "default", Value(0.0));
}

Value filter_abs(Interpreter&, const Value& v, const Arguments&) {
  if (v.is_integral() && v.integer() != INT64_MIN) return Value(std::abs(v.integer()));
  if (!v.is_number()) fail_rendering("abs needs a number");
  return Value(std::abs(v.number()));
}

Value filter_round(Interpreter&, const Value& v, const Arguments& a) {
  if (!v.is_number()) fail_rendering("round needs a number");
  const std::int64_t digits =
      std::clamp<std::int64_t>(integer_of(argument(a, 0, "precision", Value(std::int64_t{0})), "precision"), -300, 300);
  const std::string method = to_text(argument(a, 1, "method", Value("common")));
  const double scale = std::pow(10.0, static_cast<double>(digits)), scaled = v.number() * scale;
  const double rounded = method == "ceil"    ? std::ceil(scaled)
                         : method == "floor" ? std::floor(scaled)
                                             : std::nearbyint(scaled);
  return Value(rounded / scale);
}

bool less_folded(const Value& a, const Value& b, bool is_case_sensitive) {
  if (a.is_string() && b.is_string() && !is_case_sensitive)
    return text::lower_case(a.string()) < text::lower_case(b.string());
  return less(a, b);
}

Value filter_sort(Interpreter& interpreter, const Value& v, const Arguments& a) {
  List items_out = interpreter.elements(v);
  const bool reverse = argument(a, 0, "reverse", Value(false)).truth();
  const bool is_case_sensitive = argument(a, 1, "case_sensitive", Value(false)).truth();
  const Value path = argument(a, 2, "attribute");
  interpreter.take_steps(items_out.size() * 16);
  for (const Value& item : items_out) {  // fails before the sort, whose comparison must be an order
    const Value key = path.is_none() ? item : attribute_of(interpreter, item, path);
    if (!key.is_string() && !key.is_number()) fail_rendering("sort needs strings or numbers");
    const Value first = path.is_none() ? items_out.front() : attribute_of(interpreter, items_out.front(), path);
    if (key.is_string() != first.is_string()) fail_rendering("sort cannot compare strings with numbers");
    if (key.is_number() && std::isnan(key.number())) fail_rendering("sort cannot compare NaN");
  }
  std::ranges::stable_sort(items_out, [&](const Value& x, const Value& y) {
    const Value& p = reverse ? y : x;
    const Value& q = reverse ? x : y;
    if (path.is_none()) return less_folded(p, q, is_case_sensitive);
    return less_folded(attribute_of(interpreter, p, path), attribute_of(interpreter, q, path), is_case_sensitive);
  });
  return Value::list(std::move(items_out));
}

Value filter_dictsort(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const Value items = filter_items(interpreter, v, {});
  Arguments sort_arguments;
  sort_arguments.keywords = {
      {"attribute", Value(std::int64_t{to_text(argument(a, 1, "by", Value("key"))) == "value" ? 1 : 0})},
      {"case_sensitive", argument(a, 0, "case_sensitive", Value(false))},
      {"reverse", argument(a, 2, "reverse", Value(false))}};
  return filter_sort(interpreter, items, sort_arguments);
}

Value filter_reverse(Interpreter& interpreter, const Value& v, const Arguments&) {
  List items_out = interpreter.elements(v);
  std::ranges::reverse(items_out);
  if (!v.is_string()) return Value::list(std::move(items_out));
  std::string s;
  for (const Value& item : items_out) s += item.string();
  return Value(std::move(s));
}

Value filter_unique(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const Value path = argument(a, 1, "attribute");
  const bool is_case_sensitive = argument(a, 0, "case_sensitive", Value(false)).truth();
  List items_out, keys;
  for (Value& item : interpreter.elements(v)) {
    Value key = path.is_none() ? item : attribute_of(interpreter, item, path);
    if (key.is_string() && !is_case_sensitive) key = Value(text::lower_case(key.string()));
    interpreter.take_steps(keys.size());
    if (std::ranges::any_of(keys, [&](const Value& k) { return equal(k, key); })) continue;
    keys.push_back(std::move(key));
    items_out.push_back(std::move(item));
  }
  return Value::list(std::move(items_out));
}

Value filter_sum(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const Value path = argument(a, 0, "attribute");
  double sum = 0;
  std::int64_t integers = 0;
  bool is_integral = true;
  for (const Value& item : interpreter.elements(v)) {
    const Value x = path.is_none() ? item : attribute_of(interpreter, item, path);
    if (!x.is_number()) fail_rendering("sum needs numbers");
    sum += x.number();
    is_integral = is_integral && x.is_integral() && !__builtin_add_overflow(integers, x.integer(), &integers);
  }
  return is_integral ? Value(integers) : Value(sum);
}

template <bool wants_largest>
Value filter_extreme(Interpreter& interpreter, const Value& v, const Arguments&) {
  Value extreme = Value::undefined("min");
  for (const Value& item : interpreter.elements(v)) {
    if (extreme.is_undefined() || (wants_largest ? less(extreme, item) : less(item, extreme))) extreme = item;
  }
  return extreme;
}

Value filter_batch(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const std::int64_t count = integer_of(argument(a, 0, "linecount"), "linecount");
  if (count < 1) fail_rendering("batch needs a size of at least 1");
  const Value fill = argument(a, 1, "fill_with");
  List items_out, row;
  for (Value& item : interpreter.elements(v)) {
    row.push_back(std::move(item));
    if (static_cast<std::int64_t>(row.size()) == count) items_out.push_back(Value::list(std::exchange(row, {})));
  }
  if (!row.empty()) {
    while (!fill.is_none() && static_cast<std::int64_t>(row.size()) < count) {
      interpreter.take_steps(1);
      row.push_back(fill);
    }
    items_out.push_back(Value::list(std::move(row)));
  }
  return Value::list(std::move(items_out));
}

Value filter_indent(Interpreter& interpreter, const Value& v, const Arguments& a) {
  const Value width = argument(a, 0, "width", Value(std::int64_t{4}));
  const bool first = argument(a, 1, "first", Value(false)).truth(),
             blank = argument(a, 2, "blank", Value(false)).truth();
  const std::string margin =
      width.is_string()
          ? width.string()
          : std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(integer_of(width, "width"), 0, 1000)), ' ');
  const std::string source = to_text(v);
  std::string text_out;
  std::size_t line_begin = 0;
  for (bool is_first = true;; is_first = false) {
    const std::size_t end = source.find('\n', line_begin);
    const std::string line = source.substr(line_begin, end - line_begin);
    if (is_first ? first : blank || !line.empty()) text_out += margin;
    text_out += line;
    check_text_size(text_out.size());
    if (end == std::string::npos) break;
    text_out += '\n';
    line_begin = end + 1;
  }
  return Value(counted_text(interpreter, std::move(text_out)));
}

Value filter_escape(Interpreter& interpreter, const Value& v, const Arguments&) {
  std::string text_out;
  for (const char c : to_text(v)) {
    switch (c) {
      case '&': text_out += "&amp;"; break;
      case '<': text_out += "&lt;"; break;
      case '>': text_out += "&gt;"; break;
      case '"': text_out += "&#34;"; break;
      case '\'': text_out += "&#39;"; break;
      default: text_out += c;
    }
  }
  return Value(counted_text(interpreter, std::move(text_out)));
}

/// A filter that is a method of strings.
template <const char* name>
Value filter_method(Interpreter& interpreter, const Value& v, const Arguments& a) {
  Value method;
  find_method(Value(to_text(v)), name, method);
  return interpreter.call(method, a);
}
constexpr char kStrip[] = "strip", kUpper[] = "upper", kLower[] = "lower", kTitle[] = "title",
               kCapitalize[] = "capitalize", kReplace[] = "replace";

Value filter_same(Interpreter&, const Value& v, const Arguments&) {
  return v;
}

Value filter_attr(Interpreter& interpreter, const Value& v, const Arguments& a) {
  return interpreter.attribute(v, to_text(argument(a, 0, "name")));
}

struct NamedFilter {
  std::string_view name;
  Filter filter;
};
constexpr NamedFilter kFilters[] = {{"abs", filter_abs},
                                    {"attr", filter_attr},
                                    {"batch", filter_batch},
                                    {"capitalize", filter_method<kCapitalize>},
                                    {"count", filter_length},
                                    {"d", filter_default},
                                    {"default", filter_default},
                                    {"dictsort", filter_dictsort},
                                    {"e", filter_escape},
                                    {"escape", filter_escape},
                                    {"first", filter_first},
                                    {"float", filter_float},
                                    {"indent", filter_indent},
                                    {"int", filter_int},
                                    {"items", filter_items},
                                    {"join", filter_join},
                                    {"last", filter_last},
                                    {"length", filter_length},
                                    {"list", filter_list},
                                    {"lower", filter_method<kLower>},
                                    {"map", filter_map},
                                    {"max", filter_extreme<true>},
                                    {"min", filter_extreme<false>},
                                    {"reject", filter_select<false, false>},
                                    {"rejectattr", filter_select<true, false>},
                                    {"replace", filter_method<kReplace>},
                                    {"reverse", filter_reverse},
                                    {"round", filter_round},
                                    {"safe", filter_same},
                                    {"select", filter_select<false, true>},
                                    {"selectattr", filter_select<true, true>},
                                    {"sort", filter_sort},
                                    {"string", filter_string},
                                    {"sum", filter_sum},
                                    {"title", filter_method<kTitle>},
                                    {"tojson", filter_tojson},
                                    {"trim", filter_method<kStrip>},
                                    {"unique", filter_unique},
                                    {"upper", filter_method<kUpper>}};

using Test = bool (*)(Interpreter&, const Value&, const Value&);

struct NamedTest {
  std::string_view name;
  Test test;
};

bool is_even(Interpreter&, const Value& v, const Value&) {
  return integer_of(v, "the operand of a test") % 2 == 0;
}
bool is_divisible(Interpreter&, const Value& v, const Value& divisor_value) {
  const std::int64_t divisor = integer_of(divisor_value, "the operand of a test");
  if (divisor == 0) fail_rendering("division by zero");
  return divisor == -1 || integer_of(v, "the operand of a test") % divisor == 0;
}
bool is_in_case(const Value& v, bool upper) {
  const std::string s = to_text(v);
  const std::string folded = upper ? text::upper_case(s) : text::lower_case(s);
  return s == folded && std::ranges::any_of(text::to_characters(s), text::is_cased);
}

constexpr NamedTest kTests[] = {
    {"defined", [](Interpreter&, const Value& v, const Value&) { return !v.is_undefined(); }},
    {"undefined", [](Interpreter&, const Value& v, const Value&) { return v.is_undefined(); }},
    {"none", [](Interpreter&, const Value& v, const Value&) { return v.is_none(); }},
    {"string", [](Interpreter&, const Value& v, const Value&) { return v.is_string(); }},
    {"mapping", [](Interpreter&, const Value& v, const Value&) { return v.is_dict() && !v.is_namespace(); }},
    {"iterable",
     [](Interpreter&, const Value& v, const Value&) {
       return v.is_string() || v.is_list() || (v.is_dict() && !v.is_namespace()) || v.is_undefined();
     }},
    {"sequence",
     [](Interpreter&, const Value& v, const Value&) {
       return v.is_string() || v.is_list() || (v.is_dict() && !v.is_namespace()) || v.is_undefined();
     }},
    {"number", [](Interpreter&, const Value& v, const Value&) { return v.is_number(); }},
    {"integer", [](Interpreter&, const Value& v, const Value&) { return v.kind() == Value::Kind::integer; }},
    {"float", [](Interpreter&, const Value& v, const Value&) { return v.kind() == Value::Kind::number; }},
    {"boolean", [](Interpreter&, const Value& v, const Value&) { return v.kind() == Value::Kind::boolean; }},
    {"true",
     [](Interpreter&, const Value& v, const Value&) { return v.kind() == Value::Kind::boolean && v.boolean(); }},
    {"false",
     [](Interpreter&, const Value& v, const Value&) { return v.kind() == Value::Kind::boolean && !v.boolean(); }},
    {"callable", [](Interpreter&, const Value& v, const Value&) { return v.kind() == Value::Kind::callable; }},
    {"even", is_even},
    {"odd", [](Interpreter& interpreter, const Value& v, const Value& o) { return !is_even(interpreter, v, o); }},
    {"divisibleby", is_divisible},
    {"sameas", [](Interpreter&, const Value& v, const Value& o) { return v.is_same(o); }},
    {"lower", [](Interpreter&, const Value& v, const Value&) { return is_in_case(v, false); }},
    {"upper", [](Interpreter&, const Value& v, const Value&) { return is_in_case(v, true); }},
    {"filter", [](Interpreter&, const Value& v, const Value&) {
       return std::ranges::find(kFilters, to_text(v), &NamedFilter::name) != std::end(kFilters);
     }}};

/// Tests that are operators: "equalto" is "==".
struct OperatorTest {
  std::string_view name, symbol;
};
constexpr OperatorTest kOperatorTests[] = {{"eq", "=="},      {"equalto", "=="}, {"ne", "!="}, {"lt", "<"},
                                           {"lessthan", "<"}, {"le", "<="},      {"gt", ">"},  {"greaterthan", ">"},
                                           {"ge", ">="},      {"in", "in"}};

}  // namespace

Value Interpreter::apply_filter(const std::string& name, const Value& v, const Arguments& arguments) {
  const auto found = std::ranges::find(kFilters, name, &NamedFilter::name);
  if (found == std::end(kFilters))
    fail(ErrorCode::unsupported, fmt::format("the chat template uses the filter '{}', which is not known", name));
  return found->filter(*this, v, arguments);
}

bool Interpreter::apply_test(const std::string& name, const Value& v, const Arguments& arguments) {
  const Value operand = argument(arguments, 0, "other");
  const auto found = std::ranges::find(kTests, name, &NamedTest::name);
  if (found != std::end(kTests)) return found->test(*this, v, operand);
  const auto comparison = std::ranges::find(kOperatorTests, name, &OperatorTest::name);
  if (comparison != std::end(kOperatorTests)) return compare(std::string(comparison->symbol), v, operand);
  fail(ErrorCode::unsupported, fmt::format("the chat template uses the test '{}', which is not known", name));
}

}  // namespace tern::jinja
