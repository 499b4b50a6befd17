// Reads JSON (RFC 8259) value by value, in the order of the text. No recursion and no document in memory: the caller
// knows how its file nests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tern {

/// Every function throws Error (bad_file) with the offset in the file where the text is not JSON.
class JsonReader {
 public:
  /// `file` is how errors name the file, `offset` is where the text begins in it. Borrows both texts.
  JsonReader(std::string_view text, std::uint64_t offset, std::string_view file)
      : text_(text), offset_(offset), file_(file) {}

  /// The next character after white space; 0 at the end.
  char peek();
  void expect(char c);
  /// Whether another member follows in an object or array that ends with `close`. Takes the comma, or the end.
  bool next(char close, bool& first);
  std::string string();
  /// A member's name and its colon.
  std::string key();
  /// Nothing, and takes nothing, if the next value is no integer from 0 to 2^64 - 1.
  std::optional<std::uint64_t> integer();
  /// Fails if anything but white space follows.
  void end();
  /// The next value as a message names it: "an object", "a number", "the negative number -1".
  std::string kind();

 private:
  [[noreturn]] void bad(std::string_view what) const;
  void escape(std::string& to);
  std::uint32_t code_point();
  std::uint32_t four_digits();
  std::string_view number() const;

  std::string_view text_;
  std::uint64_t offset_;
  std::string_view file_;
  std::size_t at_ = 0;
};

}  // namespace tern
