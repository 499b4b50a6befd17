#include "text/jinja/value.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "text/jinja/failure.h"
#include "text/json.h"
#include "text/unicode.h"

namespace tern::jinja {

std::size_t Dict::size() const {
  return items_.size();
}

const Value* Dict::find(std::string_view key) const {
  if (items_.size() <= 8) {
    const auto found = std::ranges::find(items_, key, &std::pair<std::string, Value>::first);
    return found == items_.end() ? nullptr : &found->second;
  }
  const auto found = positions_.find(std::string(key));
  return found == positions_.end() ? nullptr : &items_[found->second].second;
}

void Dict::set(const std::string& key, Value value) {
  const auto [place, is_new] = positions_.emplace(key, items_.size());
  if (is_new) {
    items_.emplace_back(key, std::move(value));
  } else {
    items_[place->second].second = std::move(value);
  }
}

const Value* Arguments::find(std::size_t position, std::string_view name) const {
  if (position < positional.size()) return &positional[position];
  const auto found = std::ranges::find(keywords, name, &std::pair<std::string, Value>::first);
  return found == keywords.end() ? nullptr : &found->second;
}

Value Value::list(List items, bool is_tuple) {
  Value v;
  v.data_ = std::make_shared<ListData>(ListData{std::move(items), is_tuple});
  return v;
}

Value Value::dict(Dict items, bool is_namespace) {
  Value v;
  v.data_ = std::make_shared<DictData>(DictData{std::move(items), is_namespace});
  return v;
}

Value Value::callable(Callable c) {
  Value v;
  v.data_ = std::make_shared<const Callable>(std::move(c));
  return v;
}

bool Value::is_same(const Value& other) const {
  if (data_.index() != other.data_.index()) return false;
  if (is_list()) return &items() == &other.items();
  if (is_dict()) return &dict() == &other.dict();
  if (kind() == Kind::callable) return &callable() == &other.callable();
  return equal(*this, other);
}

bool Value::truth() const {
  switch (kind()) {
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean: return boolean();
    case Kind::integer: return integer() != 0;
    case Kind::number: return number() != 0;
    case Kind::string: return !string().empty();
    case Kind::list: return !items().empty();
    case Kind::dict: return is_namespace() || dict().size() != 0;
    case Kind::callable: return true;
  }
  return false;
}

const char* Value::type_name() const {
  static constexpr const char* kKindNames[] = {"Undefined", "NoneType", "bool", "int",  "float",
                                               "str",       "list",     "dict", "macro"};
  return is_tuple() ? "tuple" : kKindNames[static_cast<std::size_t>(kind())];
}

bool equal(const Value& a, const Value& b, int depth) {
  if (depth > kMaxValueDepth) fail_rendering("values nest too deep to compare");
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.integer() == b.integer();
    return a.number() == b.number();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::undefined:
    case Value::Kind::none: return true;
    case Value::Kind::string: return a.string() == b.string();
    case Value::Kind::list:
      return a.is_tuple() == b.is_tuple() && a.items().size() == b.items().size() &&
             std::ranges::equal(a.items(), b.items(),
                                [&](const Value& x, const Value& y) { return equal(x, y, depth + 1); });
    case Value::Kind::dict:
      if (a.is_namespace() || b.is_namespace()) return &a.dict() == &b.dict();
      return a.dict().size() == b.dict().size() && std::ranges::all_of(a.dict().items(), [&](const auto& item) {
               const Value* other_value = b.dict().find(item.first);
               return other_value != nullptr && equal(item.second, *other_value, depth + 1);
             });
    default: return a.is_same(b);
  }
}

bool less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number())
    return a.is_integral() && b.is_integral() ? a.integer() < b.integer() : a.number() < b.number();
  if (a.is_string() && b.is_string()) return a.string() < b.string();
  if (a.is_list() && b.is_list()) return std::ranges::lexicographical_compare(a.items(), b.items(), less);
  fail_rendering(fmt::format("'<' is not defined between {} and {}", a.type_name(), b.type_name()));
}

std::string number_text(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char buffer[40];
  const double size = std::abs(d);
  // Python writes an exponent from 1e16 on and below 1e-4.
  const auto format =
      size != 0 && (size < 1e-4 || size >= 1e16) ? std::chars_format::scientific : std::chars_format::fixed;
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, d, format).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

static std::string repr_of_string(const std::string& s) {
  const bool has_single = s.find('\'') != std::string::npos, has_double = s.find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string text_out(1, quote);
  for (std::size_t byte_index = 0; byte_index < s.size();) {
    const text::Character c = text::character_at(s, byte_index);
    const char byte = s[byte_index];
    if (c.code == static_cast<unsigned char>(quote) || c.code == '\\') {
      text_out += '\\';
      text_out += byte;
    } else if (c.code == '\n') {
      text_out += "\\n";
    } else if (c.code == '\r') {
      text_out += "\\r";
    } else if (c.code == '\t') {
      text_out += "\\t";
    } else if (c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0)) {
      text_out += fmt::format("\\x{:02x}", static_cast<unsigned>(c.code));
    } else {
      text_out += std::string_view(s).substr(byte_index, c.size);
    }
    byte_index += c.size;
  }
  return text_out + quote;
}

std::string to_repr(const Value& v, int depth) {
  if (depth > kMaxValueDepth) fail_rendering("values nest too deep to print");
  switch (v.kind()) {
    case Value::Kind::undefined: return depth == 0 ? "" : "Undefined";
    case Value::Kind::none: return "None";
    case Value::Kind::boolean: return v.boolean() ? "True" : "False";
    case Value::Kind::integer: return std::to_string(v.integer());
    case Value::Kind::number: return number_text(v.number());
    case Value::Kind::string: return repr_of_string(v.string());
    case Value::Kind::callable: return fmt::format("<macro '{}'>", v.callable().name);
    case Value::Kind::list: {
      std::string text_out = v.is_tuple() ? "(" : "[";
      for (std::size_t i = 0; i < v.items().size(); ++i) {
        text_out += (i == 0 ? "" : ", ") + to_repr(v.items()[i], depth + 1);
        check_text_size(text_out.size());
      }
      if (v.is_tuple() && v.items().size() == 1) text_out += ",";
      return text_out + (v.is_tuple() ? ")" : "]");
    }
    case Value::Kind::dict: {
      if (v.is_namespace()) return "<Namespace>";
      std::string text_out = "{";
      for (const auto& [key, value] : v.dict().items()) {
        text_out += (text_out.size() == 1 ? "" : ", ") + repr_of_string(key) + ": " + to_repr(value, depth + 1);
        check_text_size(text_out.size());
      }
      return text_out + "}";
    }
  }
  return {};
}

std::string to_text(const Value& v) {
  return v.is_string() ? v.string() : to_repr(v);
}

static std::string json_string(const std::string& s, bool ensure_ascii) {
  std::string text_out = "\"";
  for (std::size_t byte_index = 0; byte_index < s.size();) {
    const text::Character c = text::character_at(s, byte_index);
    switch (c.code) {
      case '"': text_out += "\\\""; break;
      case '\\': text_out += "\\\\"; break;
      case '\n': text_out += "\\n"; break;
      case '\r': text_out += "\\r"; break;
      case '\t': text_out += "\\t"; break;
      case '\b': text_out += "\\b"; break;
      case '\f': text_out += "\\f"; break;
      default:
        if (c.code < 0x20 || (ensure_ascii && c.code >= 0x7f && c.code < 0x10000)) {
          if (c.code == 0x7f) {
            text_out += '\x7f';
          } else {
            text_out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.code));
          }
        } else if (ensure_ascii && c.code >= 0x10000) {
          const auto u = static_cast<unsigned>(c.code) - 0x10000;
          text_out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (u >> 10), 0xdc00 + (u & 0x3ff));
        } else {
          text_out += std::string_view(s).substr(byte_index, c.size);
        }
    }
    byte_index += c.size;
  }
  return text_out + "\"";
}

std::string to_json(const Value& v, const JsonStyle& style, int depth) {
  if (depth > kMaxValueDepth) fail_rendering("values nest too deep for tojson");
  const auto line = [&](int level) {
    return style.indent < 0 ? std::string() : "\n" + std::string(static_cast<std::size_t>(level * style.indent), ' ');
  };
  const std::string separator = style.indent < 0 ? style.item_separator : style.item_separator;
  switch (v.kind()) {
    case Value::Kind::none: return "null";
    case Value::Kind::boolean: return v.boolean() ? "true" : "false";
    case Value::Kind::number:
      if (std::isnan(v.number())) return "NaN";
      if (std::isinf(v.number())) return v.number() < 0 ? "-Infinity" : "Infinity";
      return number_text(v.number());
    case Value::Kind::integer: return std::to_string(v.integer());
    case Value::Kind::string: return json_string(v.string(), style.ensure_ascii);
    case Value::Kind::list: {
      if (v.items().empty()) return "[]";
      std::string text_out = "[";
      for (std::size_t i = 0; i < v.items().size(); ++i) {
        text_out += (i == 0 ? "" : separator) + line(depth + 1) + to_json(v.items()[i], style, depth + 1);
        check_text_size(text_out.size());
      }
      return text_out + line(depth) + "]";
    }
    case Value::Kind::dict: {
      if (v.dict().size() == 0) return "{}";
      std::vector<const std::pair<std::string, Value>*> items;
      for (const auto& item : v.dict().items()) items.push_back(&item);
      if (style.sort_keys)
        std::ranges::sort(items, {}, [](const auto* item) -> const std::string& { return item->first; });
      std::string text_out = "{";
      for (std::size_t i = 0; i < items.size(); ++i) {
        text_out += (i == 0 ? "" : separator) + line(depth + 1) + json_string(items[i]->first, style.ensure_ascii) +
                    style.key_separator + to_json(items[i]->second, style, depth + 1);
        check_text_size(text_out.size());
      }
      return text_out + line(depth) + "}";
    }
    default: fail_rendering(fmt::format("an object of type {} is not JSON serializable", v.type_name()));
  }
}

namespace {

/// Handler of nlohmann's events that builds values and keeps the order of keys.
class ValueEvents {
 public:
  explicit ValueEvents(std::string_view subject) : subject_(subject) {}
  using Json = nlohmann::json;
  bool null() { return add(Value()); }
  bool boolean(bool v) { return add(Value(v)); }
  bool number_integer(Json::number_integer_t v) { return add(Value(static_cast<std::int64_t>(v))); }
  bool number_unsigned(Json::number_unsigned_t v) {
    return add(v > 0x7fffffffffffffffu ? Value(static_cast<double>(v)) : Value(static_cast<std::int64_t>(v)));
  }
  bool number_float(Json::number_float_t v, const std::string&) { return add(Value(v)); }
  bool string(std::string& v) { return add(Value(std::move(v))); }
  bool binary(Json::binary_t&) { return false; }
  bool key(std::string& k) {
    keys_.back() = std::move(k);
    return true;
  }
  bool start_object(std::size_t) { return open(Value::dict({})); }
  bool start_array(std::size_t) { return open(Value::list({})); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) {
    fail(ErrorCode::invalid_argument, fmt::format("{} are not JSON: {}", subject_, e.what()));
  }
  Value take_root() { return std::move(root_); }

 private:
  bool add(Value v) {
    if (open_containers_.empty()) {
      root_ = std::move(v);
    } else if (open_containers_.back().is_list()) {
      open_containers_.back().items().push_back(std::move(v));
    } else {
      open_containers_.back().dict().set(keys_.back(), std::move(v));
    }
    return true;
  }
  bool open(Value v) {
    if (open_containers_.size() >= static_cast<std::size_t>(text::kMaxJsonDepth))
      fail(ErrorCode::invalid_argument, fmt::format("{} nest more than {} deep", subject_, text::kMaxJsonDepth));
    open_containers_.push_back(std::move(v));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Value v = std::move(open_containers_.back());
    open_containers_.pop_back();
    keys_.pop_back();
    return add(std::move(v));
  }
  std::string subject_;
  Value root_;
  std::vector<Value> open_containers_;
  std::vector<std::string> keys_;
};

}  // namespace

Value parse_json_value(std::string_view text, std::string_view subject) {
  ValueEvents events(subject);
  nlohmann::json::sax_parse(text, &events);
  return events.take_root();
}

}  // namespace tern::jinja
