#include <fmt/format.h>

#include "exporter/pt2/parse_parts.h"
#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

using ArgumentKind = Argument::Kind;

template <class T, class Read>
std::vector<T> read_list(JsonValue value, Read read_element) {
  std::vector<T> list;
  list.reserve(value.array().size());
  for (const JsonValue element : value) list.push_back(read_element(element));
  return list;
}

// {"as_name": ...} or a literal under the other tag.
template <class T, class Read>
SymArgument<T> read_sym(JsonValue value, std::string_view literal_tag, Read read_element) {
  const JsonValue content = value.require_single_element();
  SymArgument<T> sym;
  if (content.key() == "as_name")
    sym.name = parse_identifier(content);
  else if (content.key() == literal_tag)
    sym.value = read_element(content);
  else
    content.bad(fmt::format("unknown tag {}; expected 'as_name' or '{}'", quote(content.key()), literal_tag));
  return sym;
}

SymIntArgument read_sym_int(JsonValue value) {
  return read_sym<std::int64_t>(value, "as_int", [](JsonValue v) { return v.as_int(); });
}
SymFloatArgument read_sym_float(JsonValue value) {
  return read_sym<double>(value, "as_float", [](JsonValue v) { return v.as_double(); });
}
SymBoolArgument read_sym_bool(JsonValue value) {
  return read_sym<bool>(value, "as_bool", [](JsonValue v) { return v.as_bool(); });
}

void read_none(JsonValue, Argument&) {}
void read_tensor(JsonValue v, Argument& a) {
  a.name = parse_name(v);
}
void read_tensors(JsonValue v, Argument& a) {
  a.names = read_list<std::string>(v, parse_name);
}
void read_int(JsonValue v, Argument& a) {
  a.integer = v.as_int();
}
void read_ints(JsonValue v, Argument& a) {
  a.ints = read_list<std::int64_t>(v, [](JsonValue e) { return e.as_int(); });
}
void read_float(JsonValue v, Argument& a) {
  a.real = v.as_double();
}
void read_floats(JsonValue v, Argument& a) {
  a.reals = read_list<double>(v, [](JsonValue e) { return e.as_double(); });
}
void read_complex(JsonValue v, Argument& a) {
  a.real = v["real"].as_double();
  a.imag = v["imag"].as_double();
}
void read_bool(JsonValue v, Argument& a) {
  a.boolean = v.as_bool();
}
void read_bools(JsonValue v, Argument& a) {
  a.ints = read_list<std::int64_t>(v, [](JsonValue e) { return e.as_bool() ? 1 : 0; });
}
void read_string(JsonValue v, Argument& a) {
  a.text = v.as_string();
}
void read_strings(JsonValue v, Argument& a) {
  a.names = parse_strings(v);
}
void read_device(JsonValue v, Argument& a) {
  a.text = parse_device(v);
}

void read_sym_int_argument(JsonValue v, Argument& a) {
  auto sym = read_sym_int(v);
  a.name = std::move(sym.name);
  a.integer = sym.value;
}
void read_sym_float_argument(JsonValue v, Argument& a) {
  auto sym = read_sym_float(v);
  a.name = std::move(sym.name);
  a.real = sym.value;
}
void read_sym_bool_argument(JsonValue v, Argument& a) {
  auto sym = read_sym_bool(v);
  a.name = std::move(sym.name);
  a.boolean = sym.value;
}
void read_sym_ints(JsonValue v, Argument& a) {
  a.sym_ints = read_list<SymIntArgument>(v, read_sym_int);
}
void read_sym_floats(JsonValue v, Argument& a) {
  a.sym_floats = read_list<SymFloatArgument>(v, read_sym_float);
}
void read_sym_bools(JsonValue v, Argument& a) {
  a.sym_bools = read_list<SymBoolArgument>(v, read_sym_bool);
}

// "" for {"as_none": true}.
std::string read_optional_name(JsonValue value) {
  const JsonValue content = value.require_single_element();
  if (content.key() == "as_none") return {};
  if (content.key() == "as_tensor") return parse_name(content);
  content.bad(fmt::format("unknown tag {}; expected 'as_tensor' or 'as_none'", quote(content.key())));
}

void read_optional_tensor(JsonValue v, Argument& a) {
  a.name = read_optional_name(v);
  a.kind = a.name.empty() ? ArgumentKind::none : ArgumentKind::tensor;
}
void read_optional_tensors(JsonValue v, Argument& a) {
  a.names = read_list<std::string>(v, read_optional_name);
}

template <void (*read)(JsonValue, Argument&), ArgumentKind kind>
void read_items(JsonValue v, Argument& a) {
  a.items = read_list<Argument>(v, [](JsonValue e) {
    Argument item;
    item.kind = kind;
    read(e, item);
    return item;
  });
}

void read_graph(JsonValue v, Argument& a) {
  a.name = v["name"].as_string();
  a.graph = std::make_shared<const Graph>(parse_graph(v["graph"]));
}
void read_custom_obj(JsonValue v, Argument& a) {
  a.name = parse_name(v);
  a.text = v["class_fqn"].as_string();
}
void read_dict(JsonValue v, Argument& a) {
  for (const JsonValue member : v.object()) {
    a.names.emplace_back(member.key());
    a.items.push_back(parse_argument(member));
  }
}

struct Tag {
  const char* tag;
  ArgumentKind kind;
  void (*read)(JsonValue, Argument&);
};

// Frequent kinds first.
constexpr Tag kTags[] = {
    {"as_tensor", ArgumentKind::tensor, read_tensor},
    {"as_int", ArgumentKind::integer, read_int},
    {"as_ints", ArgumentKind::ints, read_ints},
    {"as_bool", ArgumentKind::boolean, read_bool},
    {"as_float", ArgumentKind::real, read_float},
    {"as_none", ArgumentKind::none, read_none},
    {"as_scalar_type", ArgumentKind::scalar_type, read_int},
    {"as_device", ArgumentKind::device, read_device},
    {"as_layout", ArgumentKind::layout, read_int},
    {"as_memory_format", ArgumentKind::memory_format, read_int},
    {"as_string", ArgumentKind::string, read_string},
    {"as_sym_int", ArgumentKind::sym_int, read_sym_int_argument},
    {"as_sym_ints", ArgumentKind::sym_ints, read_sym_ints},
    {"as_sym_bool", ArgumentKind::sym_bool, read_sym_bool_argument},
    {"as_sym_float", ArgumentKind::sym_float, read_sym_float_argument},
    {"as_tensors", ArgumentKind::tensors, read_tensors},
    {"as_optional_tensors", ArgumentKind::optional_tensors, read_optional_tensors},
    {"as_optional_tensor", ArgumentKind::tensor, read_optional_tensor},
    {"as_floats", ArgumentKind::reals, read_floats},
    {"as_bools", ArgumentKind::bools, read_bools},
    {"as_strings", ArgumentKind::strings, read_strings},
    {"as_complex", ArgumentKind::complex, read_complex},
    {"as_graph", ArgumentKind::graph, read_graph},
    {"as_custom_obj", ArgumentKind::custom_obj, read_custom_obj},
    {"as_operator", ArgumentKind::op, read_string},
    {"as_sym_floats", ArgumentKind::sym_floats, read_sym_floats},
    {"as_sym_bools", ArgumentKind::sym_bools, read_sym_bools},
    {"as_nested_tensors", ArgumentKind::nested_tensors, read_items<read_tensors, ArgumentKind::tensors>},
    {"as_int_lists", ArgumentKind::int_lists, read_items<read_ints, ArgumentKind::ints>},
    {"as_float_lists", ArgumentKind::real_lists, read_items<read_floats, ArgumentKind::reals>},
    {"as_string_to_argument", ArgumentKind::dict, read_dict},
};

}  // namespace

const char* tag_of(Argument::Kind kind) {
  for (const Tag& tag : kTags)
    if (tag.kind == kind) return tag.tag;
  return "?";
}

Argument parse_argument(JsonValue value) {
  const JsonValue content = value.require_single_element();
  for (const Tag& tag : kTags)
    if (content.key() == tag.tag) {
      Argument argument;
      argument.kind = tag.kind;
      tag.read(content, argument);
      return argument;
    }
  value.bad(fmt::format("unknown tag {}", quote(content.key())));
}

std::vector<Argument> parse_arguments(JsonValue value) {
  return read_list<Argument>(value, parse_argument);
}

}  // namespace tern::pt2
