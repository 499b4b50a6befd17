// JSON text as one flat array of values; errors name a value's path.
#pragma once

#include <tern/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::pt2 {

/// Limits on texts and on their values: a value in memory takes several times its text.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxJsonValues = std::size_t{8} << 20;
/// Nesting beyond this is refused. A subgraph within a graph takes 8 levels.
inline constexpr int kMaxJsonDepth = 512;

class JsonDocument;

/// Value in a document; the document must outlive it. The as_... functions throw bad_file for other kinds.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };

  JsonValue(const JsonDocument& document, std::uint32_t index) : document_(&document), index_(index) {}

  Kind kind() const;
  bool is_null() const { return kind() == Kind::null; }
  bool is_string() const { return kind() == Kind::string; }

  bool as_bool() const;
  std::int64_t as_int() const;
  /// Integers too, and the strings "Infinity", "-Infinity" and "NaN".
  double as_double() const;
  std::string_view as_string() const;

  /// Key of this value in its object.
  std::string_view key() const;
  /// Member of an object; throws bad_file if absent.
  JsonValue operator[](std::string_view key) const;
  /// A member of an object, unless absent or null.
  std::optional<JsonValue> find(std::string_view key) const;
  /// The only member of an object, the notation of unions; throws bad_file for other member counts.
  JsonValue require_single_element() const;

  /// Number of elements or members.
  std::size_t size() const;
  class Iterator;
  /// Elements or members, in order.
  Iterator begin() const;
  Iterator end() const;
  /// Returns this value after a check for an array (an object).
  JsonValue array() const;
  JsonValue object() const;

  /// Throws bad_file: "entry: path: what".
  [[noreturn]] void bad(const std::string& problem) const { fail_here(ErrorCode::bad_file, problem); }
  [[noreturn]] void fail_here(ErrorCode code, const std::string& problem) const;
  /// "graph_module.graph.nodes[3]"
  std::string path() const;

 private:
  const JsonDocument* document_;
  std::uint32_t index_;
};

class JsonDocument {
 public:
  /// `entry` names the source in messages. Throws Error: bad_file, for example for a repeated key in an object.
  JsonDocument(std::string_view text, std::string entry);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonValue root() const { return {*this, 0}; }
  const std::string& entry() const { return entry_; }

 private:
  friend class JsonValue;
  friend class JsonBuilder;
  struct StringRange {
    std::uint32_t offset, size;
  };
  struct StoredValue {
    JsonValue::Kind kind = JsonValue::Kind::null;
    bool too_large = false;  ///< an integer beyond 64 bits
    std::uint32_t end = 0;   ///< index after the last value inside this value
    std::uint32_t count = 0;
    StringRange key{};
    union {
      std::int64_t integer = 0;
      double real;
      StringRange string;
    };
  };
  std::string_view view(StringRange text) const { return std::string_view(strings_).substr(text.offset, text.size); }

  std::string entry_;
  std::string strings_;
  std::vector<StoredValue> stored_values_;  ///< a container precedes its contents
};

class JsonValue::Iterator {
 public:
  Iterator(const JsonDocument& document, std::uint32_t index) : document_(&document), index_(index) {}
  JsonValue operator*() const { return {*document_, index_}; }
  Iterator& operator++();
  bool operator!=(const Iterator& other) const { return index_ != other.index_; }

 private:
  const JsonDocument* document_;
  std::uint32_t index_;
};

}  // namespace tern::pt2
