// Reads JSON (RFC 8259) value by value, in text order. Uses no recursion and no document tree: the caller knows the
// nesting of its file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tern {

/// Every function throws Error (bad_file) with the file offset of invalid JSON.
class JsonReader {
 public:
  /// `file`: the file's name in errors; `offset`: the text's offset in the file. Borrows both texts.
  JsonReader(std::string_view text, std::uint64_t offset, std::string_view file)
      : text_(text), offset_(offset), file_(file) {}

  /// Returns the next character after white space; 0 at the end.
  char peek();
  void expect(char c);
  /// True if another member follows in an object or array closed by `close`. Consumes the comma or the end.
  bool next(char close, bool& first);
  std::string string();
  /// Reads a member's name and colon.
  std::string key();
  /// Returns nullopt and consumes nothing if the next value is not an integer in [0, 2^64 - 1].
  std::optional<std::uint64_t> integer();
  /// Fails unless only white space follows.
  void end();
  /// Describes the next value for messages: "an object", "a number", "the negative number -1".
  std::string kind();

 private:
  [[noreturn]] void bad(std::string_view message) const;
  void escape(std::string& to);
  std::uint32_t code_point();
  std::uint32_t four_digits();
  std::string_view number() const;

  std::string_view text_;
  std::uint64_t offset_;
  std::string_view file_;
  std::size_t position_ = 0;
};

}  // namespace tern
