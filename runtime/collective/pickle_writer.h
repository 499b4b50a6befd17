// Writes Python's pickles (protocol 2): dictionaries, lists, tuples, strings and numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tern {

class PickleWriter {
 public:
  PickleWriter() { out_.append("\x80\x02", 2); }
  std::string finish() && {
    out_ += '.';
    return std::move(out_);
  }
  /// Between begin and end: alternating keys and values for a dictionary, elements for lists and tuples.
  void begin_dict() { out_ += "}("; }
  void end_dict() { out_ += 'u'; }
  void begin_list() { out_ += "]("; }
  void end_list() { out_ += 'e'; }
  void begin_tuple() { out_ += '('; }
  void end_tuple() { out_ += 't'; }
  void none() { out_ += 'N'; }
  void flag(bool b) { out_ += b ? '\x88' : '\x89'; }
  void number(std::int64_t x) {
    out_.append("\x8a\x08", 2);
    bytes(static_cast<std::uint64_t>(x), 8);
  }
  void text(std::string_view s) {
    out_ += 'X';
    bytes(s.size(), 4);
    out_ += s;
  }

 private:
  void bytes(std::uint64_t x, int count) {
    for (int i = 0; i < count; ++i) out_ += static_cast<char>(x >> 8 * i);
  }
  std::string out_;
};

}  // namespace tern
