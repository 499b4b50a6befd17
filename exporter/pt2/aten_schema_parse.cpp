#include <fmt/format.h>
#include <tern/error.h>

#include <charconv>

#include "exporter/ascii.h"
#include "exporter/pt2/aten_schema.h"
#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

using Base = SchemaType::Base;
using ArgumentKind = Argument::Kind;

struct BaseName {
  std::string_view name;
  Base base;
};

constexpr BaseName kBases[] = {
    {"Tensor", Base::tensor},       {"int", Base::integer},     {"SymInt", Base::sym_int},
    {"float", Base::real},          {"complex", Base::complex}, {"Scalar", Base::number},
    {"bool", Base::boolean},        {"str", Base::string},      {"ScalarType", Base::scalar_type},
    {"Layout", Base::layout},       {"Device", Base::device},   {"MemoryFormat", Base::memory_format},
    {"Generator", Base::generator},
};

// Schemas number dtypes as c10 does (c10/core/ScalarType.h), the file as its own enum.
std::int64_t scalar_type_from_c10(std::int64_t number) {
  switch (number) {
    case 15: return 13;  // bfloat16
    case 23: return 30;  // float8_e5m2
    case 24: return 29;  // float8_e4m3fn
    default: return number <= 11 ? number + 1 : 0;
  }
}

class AtenSchemaParseParser {
 public:
  explicit AtenSchemaParseParser(std::string_view line) : line_(line) {}

  Schema parse() {
    Schema schema;
    schema.text = line_;
    while (position_ < line_.size() && line_[position_] != '(') ++position_;
    schema.name = line_.substr(0, position_);
    if (schema.name.find("::") == std::string_view::npos) fail_at_column("expected a name as in 'aten::add.Tensor'");
    schema.arguments = parse_list(/*named=*/true);
    schema.is_vararg = is_vararg_;
    expect(" -> ");
    if (peek() == '(')
      schema.returns = parse_list(/*named=*/false);
    else
      schema.returns.push_back(parse_argument(/*named=*/false));
    if (position_ != line_.size()) fail_at_column("expected the end");
    return schema;
  }

 private:
  [[noreturn]] void fail_at_column(const std::string& problem) const {
    fail(ErrorCode::bad_file, fmt::format("operator schema {}: column {}: {}", quote(line_), position_ + 1, problem));
  }
  char peek() const { return position_ < line_.size() ? line_[position_] : '\0'; }
  bool consume(std::string_view text) {
    if (!line_.substr(position_).starts_with(text)) return false;
    position_ += text.size();
    return true;
  }
  void expect(std::string_view text) {
    if (!consume(text)) fail_at_column(fmt::format("expected '{}'", text));
  }
  std::string_view word() {
    const std::size_t start = position_;
    while (is_word(peek())) ++position_;
    if (position_ == start) fail_at_column("expected a name");
    return line_.substr(start, position_ - start);
  }
  // Reads up to the matching parenthesis.
  std::string_view parenthesised() {
    const std::size_t start = position_;
    int depth = 0;
    for (; position_ < line_.size(); ++position_) {
      if (line_[position_] == '(') ++depth;
      if (line_[position_] == ')' && --depth == 0) return line_.substr(start, ++position_ - start);
    }
    fail_at_column("a parenthesis is not closed");
  }

  std::vector<SchemaArgument> parse_list(bool is_named) {
    std::vector<SchemaArgument> list;
    bool kwarg_only = false;
    expect("(");
    while (!consume(")")) {
      if ((!list.empty() || kwarg_only)) expect(", ");
      if (is_named && consume("*")) {
        kwarg_only = true;
        continue;
      }
      if (is_named && consume("...")) {
        is_vararg_ = true;
        continue;
      }
      list.push_back(parse_argument(is_named));
      list.back().kwarg_only = kwarg_only;
    }
    return list;
  }

  SchemaArgument parse_argument(bool is_named) {
    SchemaArgument argument;
    argument.type = parse_type(argument.alias);
    argument.is_mutated = argument.alias.find('!') != std::string_view::npos;
    if (is_named) expect(" ");
    if (is_named || consume(" ")) argument.name = word();
    if (consume("=")) {
      argument.has_default = true;
      argument.default_value = parse_default(argument.type);
    }
    return argument;
  }

  SchemaType parse_type(std::string_view& alias) {
    SchemaType type;
    const std::size_t start = position_;
    if (peek() == '(') {
      parenthesised();
    } else {
      const auto name = word();
      for (const auto& known : kBases)
        if (known.name == name) type.base = known.base;
      if ((name == "Dict" || name == "Future" || name == "RRef") && peek() == '(') parenthesised();
    }
    type.text = line_.substr(start, position_ - start);
    while (true) {
      const std::size_t suffix = position_;
      if (peek() == '(') {
        const auto inside = parenthesised();
        if (alias.empty()) alias = inside.substr(1, inside.size() - 2);
        continue;  // not a part of the type
      }
      if (consume("?")) {
        type.optional = true;
      } else if (consume("[")) {
        if (type.is_list) type.base = Base::other;  // a list of lists
        type.is_list = true;
        type.element_optional = std::exchange(type.optional, false);
        while (peek() >= '0' && peek() <= '9' && type.list_size < 1000)
          type.list_size = type.list_size * 10 + (line_[position_++] - '0');
        expect("]");
      } else {
        break;
      }
      type.text += line_.substr(suffix, position_ - suffix);
    }
    return type;
  }

  // ---- defaults

  Argument parse_default(const SchemaType& type) {
    if (consume("None")) return {};
    if (peek() == '[') return parse_list_default(type);
    Argument value = parse_scalar_default(type.base);
    if (!type.is_list) return value;
    // int[2] stride=1
    Argument list = empty_list(type.base);
    for (int i = 0; i < std::max(type.list_size, 1); ++i) append(list, value);
    return list;
  }

  Argument parse_list_default(const SchemaType& type) {
    Argument list = empty_list(type.base);
    expect("[");
    for (bool first = true; !consume("]"); first = false) {
      if (!first) {
        expect(",");
        consume(" ");
      }
      append(list, parse_scalar_default(type.base));
    }
    return list;
  }

  Argument empty_list(Base base) const {
    Argument list;
    switch (base) {
      case Base::integer:
      case Base::sym_int: list.kind = ArgumentKind::ints; break;
      case Base::real:
      case Base::number: list.kind = ArgumentKind::reals; break;
      case Base::boolean: list.kind = ArgumentKind::bools; break;
      case Base::string: list.kind = ArgumentKind::strings; break;
      case Base::tensor: list.kind = ArgumentKind::tensors; break;
      default: fail_at_column("a list of this type cannot have a default");
    }
    return list;
  }

  void append(Argument& list, const Argument& value) const {
    switch (list.kind) {
      case ArgumentKind::ints: list.ints.push_back(value.integer); break;
      case ArgumentKind::reals:
        list.reals.push_back(value.kind == ArgumentKind::integer ? static_cast<double>(value.integer) : value.real);
        break;
      case ArgumentKind::bools: list.ints.push_back(value.boolean ? 1 : 0); break;
      case ArgumentKind::strings: list.names.push_back(value.text); break;
      default: fail_at_column("a list of this type cannot have elements by default");
    }
  }

  Argument parse_scalar_default(Base base) {
    Argument value;
    if (consume("True") || consume("False")) {
      value.kind = ArgumentKind::boolean;
      value.boolean = line_[position_ - 2] == 'u';  // Tr(u)e
      return value;
    }
    if (peek() == '"') {
      value.kind = ArgumentKind::string;
      value.text = parse_string();
      return value;
    }
    parse_number(value);
    if (value.kind != ArgumentKind::integer) {
      if (base != Base::real && base != Base::number && base != Base::complex)
        fail_at_column("the default is a fraction, but its type is not");
      return value;
    }
    switch (base) {
      case Base::real:
        value.kind = ArgumentKind::real;
        value.real = static_cast<double>(std::exchange(value.integer, 0));
        break;
      case Base::scalar_type:
        value.kind = ArgumentKind::scalar_type;
        value.integer = scalar_type_from_c10(value.integer);
        break;
      case Base::memory_format:  // c10: 0 contiguous, 1 preserve, 2 channels last, 3 channels last 3d
        value.kind = ArgumentKind::memory_format;
        value.integer = value.integer == 0 ? 1 : value.integer == 1 ? 4 : value.integer;
        break;
      case Base::integer:
      case Base::sym_int:
      case Base::number: break;
      default: fail_at_column("a number cannot be the default of this type");
    }
    return value;
  }

  void parse_number(Argument& value) {
    const char* begin = line_.data() + position_;
    const char* end = line_.data() + line_.size();
    double real = 0;
    const auto as_real = std::from_chars(begin, end, real);
    if (as_real.ec != std::errc()) fail_at_column("expected a number");
    const auto as_int = std::from_chars(begin, end, value.integer);
    if (as_int.ec == std::errc() && as_int.ptr == as_real.ptr) {
      value.kind = ArgumentKind::integer;
    } else {
      value.kind = ArgumentKind::real;
      value.integer = 0;
      value.real = real;
    }
    position_ += static_cast<std::size_t>(as_real.ptr - begin);
  }

  std::string parse_string() {
    constexpr std::string_view kEscapes = "n\nt\tf\fv\vr\r";
    std::string text;
    expect("\"");
    while (!consume("\"")) {
      if (position_ >= line_.size()) fail_at_column("a string is not closed");
      char c = line_[position_++];
      if (c == '\\') {
        c = peek();
        ++position_;
        for (std::size_t i = 0; i < kEscapes.size(); i += 2)
          if (kEscapes[i] == c) {
            c = kEscapes[i + 1];
            break;
          }
      }
      text += c;
    }
    return text;
  }

  std::string_view line_;
  std::size_t position_ = 0;
  bool is_vararg_ = false;
};

}  // namespace

Schema parse_schema(std::string_view line) {
  return AtenSchemaParseParser(line).parse();
}

}  // namespace tern::pt2
