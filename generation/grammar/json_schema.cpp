#include "generation/grammar/json_schema.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "generation/grammar/characters.h"
#include "generation/grammar/integers.h"
#include "generation/grammar/pattern.h"

namespace tern::grammar {
namespace {

using Schema = nlohmann::ordered_json;

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxCount = 65536;     ///< limit of counted characters and items
constexpr std::size_t kMaxIndentation = 20;  ///< a model that only indents would never end
constexpr std::size_t kMaxName = 256;        ///< characters of a name that others must differ from

const std::set<std::string, std::less<>> kAnnotations = {
    "title",      "description", "default",     "examples",      "$schema",        "$id",     "$comment",
    "deprecated", "readOnly",    "writeOnly",   "$defs",         "definitions",    "$anchor", "contentMediaType",
    "nullable",   "example",     "$vocabulary", "discriminator", "contentEncoding"};

/// Keywords of each type.
const std::map<std::string, std::set<std::string, std::less<>>, std::less<>> kKeywords = {
    {"object", {"properties", "required", "additionalProperties"}},
    {"array", {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}},
    {"string", {"minLength", "maxLength", "pattern", "format"}},
    {"integer", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}},
    {"number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}},
    {"boolean", {}},
    {"null", {}}};
const std::set<std::string, std::less<>> kGeneral = {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"};

/// Patterns of formats. Other formats restrict nothing, as in validators.
const std::map<std::string, const char*, std::less<>> kFormats = {
    {"date", "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$"},
    {"time", "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"date-time",
     "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?"
     "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"},
    {"duration", "^P([0-9]{1,4}Y)?([0-9]{1,2}M)?([0-9]{1,3}D)(T[0-9]{1,2}H([0-9]{1,2}M)?)?$"},
    {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
    {"email", "^[A-Za-z0-9_+-]+(\\.[A-Za-z0-9_+-]+)*@[A-Za-z0-9]+(-[A-Za-z0-9]+)*(\\.[A-Za-z0-9]+(-[A-Za-z0-9]+)*)+$"},
    {"hostname", "^[A-Za-z0-9]+(-[A-Za-z0-9]+)*(\\.[A-Za-z0-9]+(-[A-Za-z0-9]+)*)*$"},
    {"ipv4", "^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$"},
    {"ipv6", "^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$"},
    {"uri", "^[a-z][a-z0-9+.-]*://[A-Za-z0-9.-]+(/[A-Za-z0-9_.~%-]*)*(\\?[A-Za-z0-9_.~%=&-]*)?$"}};

[[noreturn]] void refuse(const std::string& message) {
  fail(ErrorCode::invalid_argument, "JSON schema: " + message);
}

const Schema* member(const Schema& schema, const char* name) {
  if (!schema.is_object()) return nullptr;
  const auto found = schema.find(name);
  return found == schema.end() ? nullptr : &*found;
}

std::size_t count_of(const Schema& schema, const char* name, std::size_t otherwise) {
  const Schema* value = member(schema, name);
  if (value == nullptr) return otherwise;
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() > kMaxCount)
    refuse(fmt::format("'{}' must be an integer from 0 to {}", name, kMaxCount));
  return value->get<std::size_t>();
}

bool is_of_type(const Schema& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer" && value.is_number_float()) return std::floor(value.get<double>()) == value.get<double>();
  return value.is_number();
}

class SchemaReader {
 public:
  SchemaReader(Builder& builder, const Schema& root) : b_(builder), root_(root) {}

  Symbol read_root() { return value(root_, 0); }

 private:
  /// A value of any type.
  Symbol any_value() {
    if (any_value_) return *any_value_;
    any_value_ = b_.declare();
    const Schema object = Schema::object();
    b_.add_alternative(*any_value_, {open_object(object, 0)});
    b_.add_alternative(*any_value_, {array(object, 0)});
    b_.add_alternative(*any_value_, {string(object)});
    b_.add_alternative(*any_value_, {number()});
    for (const char* word : {"true", "false", "null"}) b_.add_alternative(*any_value_, b_.literal(word));
    return *any_value_;
  }

  /// Space that JSON allows between two parts: none, one space, or a line's end and indentation.
  Symbol space() {
    if (!space_) {
      ByteSet indentation;
      indentation.set(' ');
      indentation.set('\t');
      const Symbol line =
          b_.one_of({joined({b_.literal("\n"), {b_.repeat({b_.bytes(indentation)}, 0, kMaxIndentation)}})});
      space_ = b_.one_of({{}, b_.literal(" "), {line}});
    }
    return *space_;
  }

  Symbol value(const Schema& schema, int depth) {
    if (depth > kMaxDepth) refuse(fmt::format("it has more than {} levels", kMaxDepth));
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) return b_.declare();  // no text
      return any_value();
    }
    if (!schema.is_object()) refuse("a schema must be an object, true or false");
    check_keywords(schema);
    if (const Schema* list = member(schema, "allOf")) return value(all_of(schema, *list, depth), depth + 1);
    if (const Schema* path = member(schema, "$ref")) return reference(schema, *path, depth);
    if (const Schema* values = member(schema, "enum")) return constants(schema, *values);
    if (const Schema* constant_schema = member(schema, "const"))
      return constants(schema, Schema::array({*constant_schema}));
    for (const char* name : {"anyOf", "oneOf"}) {
      if (const Schema* list = member(schema, name)) return one_of(schema, name, *list, depth);
    }
    std::vector<Symbols> alternatives;
    const std::vector<std::string> types = types_of(schema);
    if (types.empty()) return any_value();
    for (const std::string& type : types) alternatives.push_back({type_symbol(type, schema, depth)});
    return b_.one_of(std::move(alternatives));
  }

  static void check_keywords(const Schema& schema) {
    for (const auto& [key, unused] : schema.items()) {
      const bool is_known = kAnnotations.contains(key) || kGeneral.contains(key) || key.starts_with("x-") ||
                            key == "strict" ||
                            std::ranges::any_of(kKeywords, [&](const auto& type) { return type.second.contains(key); });
      if (!is_known) refuse(fmt::format("'{}' is not supported", key));
    }
  }

  /// Empty: any type.
  static std::vector<std::string> types_of(const Schema& schema) {
    std::vector<std::string> types;
    if (const Schema* type = member(schema, "type")) {
      const Schema list = type->is_array() ? *type : Schema::array({*type});
      for (const Schema& item_schema : list) {
        if (!item_schema.is_string() || !kKeywords.contains(item_schema.get<std::string>()))
          refuse("'type' has an unknown type");
        types.push_back(item_schema.get<std::string>());
      }
      if (types.empty()) refuse("'type' has no type");
      const bool has_number = std::ranges::find(types, "number") != types.end();
      if (has_number) std::erase(types, "integer");
      return types;
    }
    for (const auto& [type, keywords] : kKeywords) {
      const bool applies = std::ranges::any_of(keywords, [&](const auto& key) { return schema.contains(key); });
      if (applies && type != "integer" && (type != "number" || !schema.contains("format"))) types.push_back(type);
    }
    return types;
  }

  Symbol type_symbol(const std::string& type, const Schema& schema, int depth) {
    if (type == "object") return open_object(schema, depth);
    if (type == "array") return array(schema, depth);
    if (type == "string") return string(schema);
    if (type == "integer") return integer(schema);
    if (type == "number") return has_bounds(schema) ? bounded_number(schema) : number();
    if (type == "boolean") return b_.one_of({b_.literal("true"), b_.literal("false")});
    return b_.one_of({b_.literal("null")});
  }

  // Combinations.

  const Schema& resolved(const Schema& path) const {
    if (!path.is_string() || !path.get<std::string>().starts_with('#'))
      refuse("'$ref' must be a path in the same schema, such as #/$defs/name");
    try {
      return root_.at(Schema::json_pointer(path.get<std::string>().substr(1)));
    } catch (const nlohmann::json::exception&) {
      refuse(fmt::format("'$ref' names '{}', which the schema lacks", path.get<std::string>()));
    }
  }

  static Schema remove_keyword(const Schema& schema, const char* keyword) {
    Schema result = Schema::object();
    for (const auto& [key, part] : schema.items()) {
      if (key != keyword && !kAnnotations.contains(key)) result[key] = part;
    }
    return result;
  }

  Symbol reference(const Schema& schema, const Schema& path, int depth) {
    const Schema& target = resolved(path);
    const Schema other_keywords = remove_keyword(schema, "$ref");
    if (!other_keywords.empty()) return value(merged(other_keywords, target, depth), depth + 1);
    const auto key = path.get<std::string>();
    if (const auto found = references_.find(key); found != references_.end()) return found->second;
    const Symbol rule = b_.declare();
    references_.emplace(key, rule);
    b_.add_alternative(rule, {value(target, depth + 1)});
    return rule;
  }

  /// A schema of both schemas' keywords.
  Schema merged(Schema a, const Schema& other_schema, int depth) const {
    if (depth > kMaxDepth) refuse(fmt::format("it has more than {} levels", kMaxDepth));
    if (other_schema.is_boolean() && other_schema.get<bool>()) return a;
    if (!other_schema.is_object() || !a.is_object()) refuse("'allOf' and '$ref' can only join objects");
    Schema b = remove_keyword(other_schema, "");
    while (b.contains("$ref")) {
      if (++depth > kMaxDepth) refuse(fmt::format("it has more than {} levels", kMaxDepth));
      const Schema target = resolved(b["$ref"]);
      b.erase("$ref");
      b = merged(std::move(b), target, depth);
    }
    const auto has_both = [&](const char* first_key, const char* second_key) {
      return a.contains(first_key) && b.contains(second_key);
    };
    if (has_both("additionalProperties", "properties") || has_both("properties", "additionalProperties"))
      refuse("schemas with 'additionalProperties' cannot be joined");
    for (const auto& [key, part] : b.items()) {
      if (!a.contains(key)) {
        a[key] = part;
      } else if (key == "properties" && part.is_object() && a[key].is_object()) {
        for (const auto& [name, property] : part.items()) {
          if (a[key].contains(name) && a[key][name] != property) refuse(fmt::format("two schemas of '{}'", name));
          a[key][name] = property;
        }
      } else if (key == "required" && part.is_array() && a[key].is_array()) {
        for (const Schema& name : part) a[key].push_back(name);
      } else if (a[key] != part) {
        refuse(fmt::format("two joined schemas have different '{}'", key));
      }
    }
    return a;
  }

  Schema all_of(const Schema& schema, const Schema& list, int depth) const {
    if (!list.is_array() || list.empty()) refuse("'allOf' must be an array of schemas");
    Schema schemas = remove_keyword(schema, "allOf");
    for (const Schema& item_schema : list) schemas = merged(std::move(schemas), item_schema, depth + 1);
    return schemas;
  }

  Symbol one_of(const Schema& schema, const char* name, const Schema& list, int depth) {
    if (!list.is_array() || list.empty()) refuse(fmt::format("'{}' must be an array of schemas", name));
    const Schema other_keywords = remove_keyword(schema, name);
    std::vector<Schema> options;
    for (const Schema& item_schema : list)
      options.push_back(other_keywords.empty() ? item_schema : merged(other_keywords, item_schema, depth + 1));
    const bool is_exclusive = std::string_view(name) == "oneOf";
    for (std::size_t i = 0; is_exclusive && i < options.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (!is_disjoint(options[i], options[j], 0))
          refuse(
              "a value could follow two schemas of 'oneOf'; use 'anyOf', or a required property with different "
              "constants");
      }
    }
    std::vector<Symbols> alternatives;
    for (const Schema& item_schema : options) alternatives.push_back({value(item_schema, depth + 1)});
    return b_.one_of(std::move(alternatives));
  }

  /// Values of `const` or `enum`; empty without both.
  static std::vector<Schema> values_of(const Schema& schema) {
    if (const Schema* constant_schema = member(schema, "const")) return {*constant_schema};
    const Schema* list = member(schema, "enum");
    return list != nullptr && list->is_array() ? std::vector<Schema>(list->begin(), list->end())
                                               : std::vector<Schema>();
  }

  /// True if surely no value follows both schemas.
  bool is_disjoint(const Schema& x, const Schema& y, int depth) const {
    if (depth > 8 || !x.is_object() || !y.is_object()) return false;
    if (const Schema* path = member(x, "$ref")) return is_disjoint(resolved(*path), y, depth + 1);
    if (member(y, "$ref") != nullptr) return is_disjoint(y, x, depth + 1);
    const std::vector<Schema> a = values_of(x), b = values_of(y);
    if (!a.empty() && !b.empty())
      return std::ranges::none_of(a, [&](const Schema& v) { return std::ranges::find(b, v) != b.end(); });
    if (!x.contains("type") || !y.contains("type")) return false;
    const auto can_be = [](const std::vector<Schema>& values, const std::vector<std::string>& types) {
      return std::ranges::any_of(values, [&](const Schema& v) {
        return std::ranges::any_of(types, [&](const auto& t) { return is_of_type(v, t); });
      });
    };
    const std::vector<std::string> s = types_of(x), t = types_of(y);
    if (!a.empty()) return !can_be(a, t);
    if (!b.empty()) return !can_be(b, s);
    const auto group = [](const std::string& type) { return type == "integer" ? std::string("number") : type; };
    std::set<std::string> common;
    for (const std::string& type_name : s) {
      for (const std::string& other_type : t) {
        if (group(type_name) == group(other_type)) common.insert(group(type_name));
      }
    }
    if (common.empty()) return true;
    return common == std::set<std::string>{"object"} && has_disjoint_property(x, y, depth);
  }

  bool has_disjoint_property(const Schema& x, const Schema& y, int depth) const {
    const std::set<std::string> in_x = required_names(x), in_y = required_names(y);
    for (const std::string& name : in_x) {
      if (!in_y.contains(name)) continue;
      const Schema *p = member(x, "properties"), *q = member(y, "properties");
      if (p == nullptr || q == nullptr || !p->contains(name) || !q->contains(name)) continue;
      if (is_disjoint(p->at(name), q->at(name), depth + 1)) return true;
    }
    return false;
  }

  Symbol constants(const Schema& schema, const Schema& values) {
    if (!values.is_array() || values.empty()) refuse("'enum' must be an array of values");
    const Schema other_keywords = remove_keyword(schema, "");
    for (const auto& [key, unused] : other_keywords.items()) {
      if (key != "enum" && key != "const" && key != "type")
        refuse(fmt::format("'enum' beside '{}' is not supported", key));
    }
    const std::vector<std::string> types = schema.contains("type") ? types_of(schema) : std::vector<std::string>();
    const Schema* constant = member(schema, "const");
    std::vector<Symbols> alternatives;
    for (const Schema& enum_value : values) {
      const bool has_type = types.empty() || std::ranges::any_of(types, [&](const std::string& type) {
                              return is_of_type(enum_value, type);
                            });
      if (has_type && (constant == nullptr || *constant == enum_value))
        alternatives.push_back(b_.literal(enum_value.dump()));
    }
    if (alternatives.empty()) return b_.declare();  // no text
    return b_.one_of(std::move(alternatives));
  }

  // Strings and numbers.

  Symbol string(const Schema& schema) {
    const std::size_t min_length = count_of(schema, "minLength", 0);
    const bool has_most = schema.contains("maxLength");
    const std::size_t max_length = count_of(schema, "maxLength", kMaxCount);
    const Schema* pattern = member(schema, "pattern");
    const Schema* format = member(schema, "format");
    const Symbols quote = b_.literal("\"");
    std::optional<Symbol> body;
    if (pattern != nullptr) {
      if (!pattern->is_string()) refuse("'pattern' must be a string");
      body = json_pattern(b_, pattern->get<std::string>());
    } else if (format != nullptr && format->is_string() && kFormats.contains(format->get<std::string>())) {
      body = json_pattern(b_, kFormats.find(format->get<std::string>())->second);
    }
    if (body) {
      if (min_length > 0 || has_most)
        refuse("'pattern' and 'format' beside 'minLength' or 'maxLength' are not supported");
    } else {
      if (has_most && max_length < min_length) return b_.declare();  // no text
      body = b_.repeat({character()}, min_length, has_most ? std::optional(max_length) : std::nullopt);
    }
    return b_.one_of({joined({quote, {*body}, quote})});
  }

  Symbol character() {
    if (!character_) character_ = any_json_character(b_);
    return *character_;
  }

  Symbol number() {
    if (!number_) {
      const Symbol digit = b_.byte_range('0', '9');
      ByteSet e, sign;
      for (const char c : {'e', 'E'}) e.set(static_cast<unsigned char>(c));
      for (const char c : {'+', '-'}) sign.set(static_cast<unsigned char>(c));
      const Symbol fraction = b_.optional(joined({b_.literal("."), {b_.repeat({digit}, 1, kMaxDigits)}}));
      const Symbol exponent = b_.optional({b_.bytes(e), b_.optional({b_.bytes(sign)}), b_.repeat({digit}, 1, 2)});
      number_ = b_.one_of({{b_.optional(b_.literal("-")), integers(b_, 0, kLargestInteger), fraction, exponent}});
    }
    return *number_;
  }

  static bool has_bounds(const Schema& schema) {
    return std::ranges::any_of(
        std::initializer_list<const char*>{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
        [&](const char* name) { return schema.contains(name); });
  }

  static std::optional<double> bound(const Schema& schema, const char* name) {
    const Schema* value = member(schema, name);
    if (value == nullptr) return {};
    if (!value->is_number()) refuse(fmt::format("'{}' must be a number", name));
    return value->get<double>();
  }

  struct Bounds {
    double low, high;
    bool takes_low, takes_high;
  };
  static Bounds bounds_of(const Schema& schema) {
    constexpr auto kLargest = static_cast<double>(kLargestInteger);
    Bounds r{-kLargest, kLargest, true, true};
    const auto raise = [&](std::optional<double> x, bool is_inclusive) {
      if (x && (*x > r.low || (*x == r.low && !is_inclusive))) r.low = *x, r.takes_low = is_inclusive;
    };
    const auto lower = [&](std::optional<double> x, bool is_inclusive) {
      if (x && (*x < r.high || (*x == r.high && !is_inclusive))) r.high = *x, r.takes_high = is_inclusive;
    };
    raise(bound(schema, "minimum"), true);
    raise(bound(schema, "exclusiveMinimum"), false);
    lower(bound(schema, "maximum"), true);
    lower(bound(schema, "exclusiveMaximum"), false);
    return r;
  }

  Symbol integer(const Schema& schema) {
    if (const auto step = bound(schema, "multipleOf"); step && *step != 1) refuse("'multipleOf' is not supported");
    const Bounds r = bounds_of(schema);
    double low = std::ceil(r.low), high = std::floor(r.high);
    if (low == r.low && !r.takes_low) ++low;
    if (high == r.high && !r.takes_high) --high;
    if (low > high) return b_.declare();  // no text
    return integers(b_, static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
  }

  /// Integers in the bounds, and fractions between two neighbouring integers in them.
  Symbol bounded_number(const Schema& schema) {
    if (schema.contains("multipleOf")) refuse("'multipleOf' is not supported");
    const Bounds r = bounds_of(schema);
    std::vector<Symbols> alternatives = {{integer(schema)}};
    // Few digits, so that no number rounds to the next integer.
    constexpr double kMaxWhole = 9999999;
    constexpr std::size_t kMaxFraction = 7;
    const Symbol digit = b_.byte_range('0', '9'), positive = b_.byte_range('1', '9');
    std::vector<Symbols> fractions;
    for (std::size_t zeros = 0; zeros < kMaxFraction; ++zeros) {
      fractions.push_back(joined(
          {b_.literal("." + std::string(zeros, '0')), {positive, b_.repeat({digit}, 0, kMaxFraction - 1 - zeros)}}));
    }
    const Symbol fraction = b_.one_of(std::move(fractions));
    const auto add = [&](const Symbols& sign, double low, double high) {
      low = std::max(low, 0.0);
      high = std::min(high, kMaxWhole);
      if (low > high) return;
      const Symbol integer_range = integers(b_, static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
      alternatives.push_back(joined({sign, {integer_range, fraction}}));
    };
    add({}, std::ceil(r.low), std::floor(r.high) - 1);
    add(b_.literal("-"), -std::floor(r.high), -std::ceil(r.low) - 1);
    return b_.one_of(std::move(alternatives));
  }

  // Arrays and objects.

  Symbol array(const Schema& schema, int depth) {
    const std::size_t min_items = count_of(schema, "minItems", 0);
    const bool has_most = schema.contains("maxItems");
    std::size_t max_items = count_of(schema, "maxItems", kMaxCount);
    const Schema* unique = member(schema, "uniqueItems");
    if (unique != nullptr && *unique != false && !(has_most && max_items < 2)) refuse("'uniqueItems' is not supported");
    const Schema* items = member(schema, "items");
    std::vector<Symbol> first;
    if (const Schema* list = member(schema, "prefixItems")) {
      if (!list->is_array()) refuse("'prefixItems' must be an array of schemas");
      for (const Schema& one : *list) first.push_back(value(one, depth + 1));
    }
    const bool has_more = items == nullptr || *items != false;
    bool is_limited = has_most;
    if (!has_more) {
      max_items = std::min(max_items, first.size());
      is_limited = true;
    }
    if (is_limited && max_items < min_items) return b_.declare();  // no text
    const Symbol other_item = items != nullptr && has_more ? value(*items, depth + 1)
                              : has_more                   ? any_value()
                                                           : Symbol();
    const Symbols comma = joined({b_.literal(","), {space()}});
    // Rules of the items from each place to the end, the last place first.
    const std::size_t item_count = is_limited ? max_items : std::max({min_items, first.size(), std::size_t{1}});
    Symbol tail = b_.declare();
    b_.add_alternative(tail, {});
    if (!is_limited) b_.add_alternative(tail, joined({comma, {other_item, tail}}));
    for (std::size_t i = item_count; i-- > 0;) {
      const Symbol repetition = b_.declare();
      if (i >= min_items) b_.add_alternative(repetition, {});
      const Symbol item = i < first.size() ? first[i] : other_item;
      b_.add_alternative(repetition, i == 0 ? Symbols{item, tail} : joined({comma, {item, tail}}));
      tail = repetition;
    }
    return b_.one_of({joined({b_.literal("["), {space(), tail, space()}, b_.literal("]")})});
  }

  static std::set<std::string> required_names(const Schema& schema) {
    std::set<std::string> names;
    const Schema* list = member(schema, "required");
    if (list == nullptr) return names;
    if (!list->is_array()) refuse("'required' must be an array of names");
    for (const Schema& name : *list) {
      if (!name.is_string()) refuse("'required' must be an array of names");
      names.insert(name.get<std::string>());
    }
    return names;
  }

  Symbol open_object(const Schema& schema, int depth) {
    struct Property {
      Symbols pair;
      bool is_required;
    };
    const Schema* declared = member(schema, "properties");
    if (declared != nullptr && !declared->is_object()) refuse("'properties' must be an object");
    std::set<std::string> required = required_names(schema);
    const Schema* additional = member(schema, "additionalProperties");
    std::vector<Property> properties;
    std::vector<std::string> names;
    const auto pair = [&](Symbols name, Symbol content) {
      return joined({std::move(name), b_.literal(":"), {space(), content}});
    };
    if (declared != nullptr) {
      for (const auto& [name, property] : declared->items()) {
        properties.push_back(
            {pair(b_.literal(Schema(name).dump()), value(property, depth + 1)), required.erase(name) > 0});
        names.push_back(name);
      }
    }
    const bool closed = additional != nullptr && *additional == false;
    for (const std::string& name : required) {
      if (closed) return b_.declare();  // no text
      const Symbol content = additional != nullptr ? value(*additional, depth + 1) : any_value();
      properties.push_back({pair(b_.literal(Schema(name).dump()), content), true});
      names.push_back(name);
    }
    const Symbols comma = joined({b_.literal(","), {space()}});
    // Rules of the members from each property to the end: behind other members, and as the first ones.
    Symbol members_after = b_.declare(), first = b_.declare();
    b_.add_alternative(members_after, {});
    b_.add_alternative(first, {});
    const bool has_more = !closed && (additional != nullptr || (declared == nullptr && required.empty()));
    if (has_more) {
      const Symbol content = additional != nullptr ? value(*additional, depth + 1) : any_value();
      const Symbols member_pair = pair({other_name(names)}, content);
      b_.add_alternative(members_after, joined({comma, member_pair, {members_after}}));
      b_.add_alternative(first, joined({member_pair, {members_after}}));
    }
    for (std::size_t i = properties.size(); i-- > 0;) {
      const Symbol new_after = b_.declare(), new_first = b_.declare();
      if (!properties[i].is_required) {
        b_.add_alternative(new_after, {members_after});
        b_.add_alternative(new_first, {first});
      }
      b_.add_alternative(new_after, joined({comma, properties[i].pair, {members_after}}));
      b_.add_alternative(new_first, joined({properties[i].pair, {members_after}}));
      members_after = new_after;
      first = new_first;
    }
    return b_.one_of({joined({b_.literal("{"), {space(), first, space()}, b_.literal("}")})});
  }

  /// A member's name other than these.
  Symbol other_name(const std::vector<std::string>& names) {
    const Symbols quote = b_.literal("\"");
    std::vector<std::u32string> texts;
    for (const std::string& name : names) {
      if (name.size() > kMaxName) refuse(fmt::format("a property's name has more than {} bytes", kMaxName));
      texts.push_back(characters_of(name));
    }
    return b_.one_of({joined({quote, {name_rest(texts, 0)}})});
  }

  static std::u32string characters_of(const std::string& text) {
    std::u32string result;
    for (std::size_t i = 0; i < text.size();) {
      const auto lead = static_cast<unsigned char>(text[i++]);
      const int tails = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
      char32_t c = tails == 0 ? lead : lead & (0x3FU >> tails);
      for (int t = 0; t < tails && i < text.size(); ++t) c = c << 6 | (static_cast<unsigned char>(text[i++]) & 0x3FU);
      result += c;
    }
    return result;
  }

  /// The rest of a name, and its quote, behind a begin that these names share.
  Symbol name_rest(const std::vector<std::u32string>& names, std::size_t size) {
    const Symbols quote = b_.literal("\"");
    std::map<char32_t, std::vector<std::u32string>> next;
    bool is_name = false;
    for (const std::u32string& name : names) {
      if (name.size() == size) {
        is_name = true;
      } else {
        next[name[size]].push_back(name);
      }
    }
    if (next.empty() && !is_name) return b_.one_of({joined({{b_.repeat({character()}, 0, {})}, quote})});
    std::vector<Symbols> alternatives;
    if (!is_name) alternatives.push_back(quote);
    Characters used_characters;
    for (const auto& [c, repetition] : next) {
      used_characters.emplace_back(c, c);
      alternatives.push_back({json_character(b_, {{c, c}}), name_rest(repetition, size + 1)});
    }
    // Another character, in a single spelling: an escape could spell a character of the names.
    alternatives.push_back(
        joined({{json_character(b_, complement(used_characters)), b_.repeat({character()}, 0, {})}, quote}));
    return b_.one_of(std::move(alternatives));
  }

  Builder& b_;
  const Schema& root_;
  std::map<std::string, Symbol> references_;
  std::optional<Symbol> any_value_, space_, character_, number_;
};

Schema parse_schema(std::string_view text) {
  const auto limit = [](int depth, nlohmann::detail::parse_event_t, Schema&) {
    if (depth > kMaxDepth) refuse(fmt::format("it has more than {} levels", kMaxDepth));
    return true;
  };
  Schema schema = Schema::parse(text, limit, false);
  if (schema.is_discarded()) refuse("the text is not JSON");
  return schema;
}

}  // namespace

Grammar json_schema_grammar(std::string_view text) {
  const Schema schema = parse_schema(text);
  Builder builder;
  const Symbol start = SchemaReader(builder, schema).read_root();
  try {
    return {builder, start};
  } catch (const Error& e) {
    refuse(e.what());
  }
}

}  // namespace tern::grammar
