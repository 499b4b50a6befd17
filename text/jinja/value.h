// Values of templates, with Python's meaning.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace tern::jinja {

class Value;
class Interpreter;

/// An undefined variable, with the name for messages.
struct Undefined {
  std::string name;
};

using List = std::vector<Value>;

/// A mapping that keeps the order of its keys. Keys are strings.
class Dict {
 public:
  const Value* find(std::string_view key) const;
  void set(const std::string& key, Value value);
  std::size_t size() const;
  const std::vector<std::pair<std::string, Value>>& items() const { return items_; }

 private:
  std::vector<std::pair<std::string, Value>> items_;
  std::unordered_map<std::string, std::size_t> positions_;
};

/// Arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;
  /// Argument by position or name, or null.
  const Value* find(std::size_t position, std::string_view name) const;
};

/// A macro or a function of the environment.
struct Callable {
  std::string name;
  std::function<Value(Interpreter&, const Arguments&)> call;
};

class Value {
 public:
  enum class Kind { undefined, none, boolean, integer, number, string, list, dict, callable };

  Value() : data_(nullptr) {}
  static Value undefined(std::string name = {}) {
    Value v;
    v.data_ = std::make_shared<const Undefined>(Undefined{std::move(name)});
    return v;
  }
  Value(bool b) : data_(b) {}          // NOLINT(google-explicit-constructor)
  Value(std::int64_t i) : data_(i) {}  // NOLINT(google-explicit-constructor)
  Value(double d) : data_(d) {}        // NOLINT(google-explicit-constructor)
  Value(std::string s)
      : data_(std::make_shared<const std::string>(std::move(s))) {}  // NOLINT(google-explicit-constructor)
  Value(std::string_view s) : Value(std::string(s)) {}               // NOLINT(google-explicit-constructor)
  Value(const char* s) : Value(std::string(s)) {}                    // NOLINT(google-explicit-constructor)
  static Value list(List items, bool is_tuple = false);
  static Value dict(Dict items, bool is_namespace = false);
  static Value callable(Callable c);

  Kind kind() const { return static_cast<Kind>(kKinds[data_.index()]); }
  bool is_undefined() const { return kind() == Kind::undefined; }
  bool is_none() const { return kind() == Kind::none; }
  bool is_string() const { return kind() == Kind::string; }
  bool is_list() const { return kind() == Kind::list; }
  bool is_dict() const { return kind() == Kind::dict; }
  bool is_integral() const { return kind() == Kind::integer || kind() == Kind::boolean; }
  bool is_number() const { return is_integral() || kind() == Kind::number; }
  bool is_namespace() const { return is_dict() && dict_data().is_namespace; }
  bool is_tuple() const { return is_list() && list_data().is_tuple; }

  bool boolean() const { return std::get<bool>(data_); }
  std::int64_t integer() const { return kind() == Kind::boolean ? boolean() : std::get<std::int64_t>(data_); }
  double number() const { return kind() == Kind::number ? std::get<double>(data_) : static_cast<double>(integer()); }
  const std::string& string() const { return *std::get<std::shared_ptr<const std::string>>(data_); }
  const List& items() const { return list_data().items; }
  List& items() { return std::get<std::shared_ptr<ListData>>(data_)->items; }
  const Dict& dict() const { return dict_data().items; }
  Dict& dict() { return std::get<std::shared_ptr<DictData>>(data_)->items; }
  const Callable& callable() const { return *std::get<std::shared_ptr<const Callable>>(data_); }
  const std::string& undefined_name() const { return std::get<std::shared_ptr<const Undefined>>(data_)->name; }
  /// True if both are one object.
  bool is_same(const Value& other) const;

  bool truth() const;
  /// "str", "list": the name of the type in Python.
  const char* type_name() const;

 private:
  struct ListData {
    List items;
    bool is_tuple = false;
  };
  struct DictData {
    Dict items;
    bool is_namespace = false;
  };
  const ListData& list_data() const { return *std::get<std::shared_ptr<ListData>>(data_); }
  const DictData& dict_data() const { return *std::get<std::shared_ptr<DictData>>(data_); }
  static constexpr int kKinds[] = {1, 2, 3, 4, 5, 6, 7, 8, 0};
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::shared_ptr<const std::string>,
               std::shared_ptr<ListData>, std::shared_ptr<DictData>, std::shared_ptr<const Callable>,
               std::shared_ptr<const Undefined>>
      data_;
};

inline constexpr int kMaxValueDepth = 128;

/// Python's ==. Lists and dictionaries compare their elements.
bool equal(const Value& a, const Value& b, int depth = 0);
/// Python's <. Throws for types without an order.
bool less(const Value& a, const Value& b);
/// Python's str() and repr().
std::string to_text(const Value& v);
std::string to_repr(const Value& v, int depth = 0);
/// Python's text of a float.
std::string number_text(double d);

struct JsonStyle {
  int indent = -1;  ///< -1: one line
  std::string item_separator = ", ", key_separator = ": ";
  bool ensure_ascii = false, sort_keys = false;
};
/// Python's json.dumps.
std::string to_json(const Value& v, const JsonStyle& style, int depth = 0);

/// Value of a JSON text. Throws bad_file, with `what` in the message.
Value parse_json_value(std::string_view text, std::string_view subject);

}  // namespace tern::jinja
