#include "runtime/weights/safetensors.h"

#include <tern/error.h>

#include <cstring>

#include "dtypes/safetensors_names.h"
#include "kernels/kernel.h"

namespace tern {
namespace {

constexpr std::uint64_t kLengthField = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit

/// A place in the header. No recursion: the format nests to a fixed depth.
class Header {
 public:
  Header(const char* text, std::size_t size) : begin_(text), at_(text), end_(text + size) {}

  [[noreturn]] void bad(const std::string& what) const {
    const auto offset = kLengthField + static_cast<std::uint64_t>(at_ - begin_);
    fail(ErrorCode::bad_file,
         "the header of the safetensors file breaks at byte " + std::to_string(offset) + ": " + what);
  }
  /// The next character after white space; 0 at the end.
  char peek() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    return at_ < end_ ? *at_ : '\0';
  }
  void expect(char c) {
    if (peek() != c) bad(std::string("expected '") + c + "'");
    ++at_;
  }
  /// Whether another member follows in a list that ends with `close`; takes the comma or the end.
  bool next(char close, bool& first) {
    const char c = peek();
    if (c == close) {
      ++at_;
      return false;
    }
    if (!first) expect(',');
    first = false;
    return true;
  }
  std::string string() {
    expect('"');
    std::string text;
    for (;; ++at_) {
      if (at_ == end_ || static_cast<unsigned char>(*at_) < 0x20) bad("a string does not end");
      if (*at_ == '"') break;
      if (*at_ != '\\') {
        text += *at_;
        continue;
      }
      static constexpr char kEscapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
      ++at_;
      const char* found = nullptr;
      for (const char* e = kEscapes; at_ < end_ && *e != '\0' && found == nullptr; e += 2) {
        if (*e == *at_) found = e + 1;
      }
      if (found == nullptr) bad("this escape sequence is not supported");
      text += *found;
    }
    ++at_;
    return text;
  }
  std::uint64_t integer() {
    std::uint64_t value = 0;
    const char first = peek();
    if (first < '0' || first > '9') bad("expected a number that is not negative");
    for (; at_ < end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      if (value > (std::uint64_t{1} << 59)) bad("a number is too large");
      value = value * 10 + static_cast<std::uint64_t>(*at_ - '0');
    }
    return value;
  }
  std::vector<std::uint64_t> integers(std::size_t most) {
    std::vector<std::uint64_t> list;
    expect('[');
    for (bool first = true; next(']', first);) {
      if (list.size() == most) bad("the list is too long");
      list.push_back(integer());
    }
    return list;
  }
  void end() {
    if (peek() != '\0') bad("something follows the header");
  }

 private:
  const char *begin_, *at_, *end_;
};

FileTensor read_tensor(Header& in, std::span<const std::byte> data) {
  FileTensor t;
  std::string dtype;
  std::vector<std::uint64_t> shape, range;
  int seen = 0;
  in.expect('{');
  for (bool first = true; in.next('}', first);) {
    const std::string field = in.string();
    in.expect(':');
    const int bit = field == "dtype" ? 1 : field == "shape" ? 2 : field == "data_offsets" ? 4 : 0;
    if (bit == 0 || (seen & bit) != 0) in.bad("the field '" + field + "' is unknown or occurs twice");
    seen |= bit;
    if (bit == 1) dtype = in.string();
    if (bit == 2) shape = in.integers(kMaxRank);
    if (bit == 4) range = in.integers(2);
  }
  if (seen != 7 || range.size() != 2) in.bad("a tensor needs dtype, shape and two data_offsets");
  t.dtype = dtype_from_safetensors(dtype);
  if (t.dtype == DType::invalid || safetensors_bits(t.dtype) % 8 != 0)
    fail(ErrorCode::unsupported, "safetensors file: weights of dtype '" + dtype + "' are not supported");
  std::uint64_t bytes = static_cast<std::uint64_t>(element_size(t.dtype));
  bool fits = true;
  for (const std::uint64_t s : shape) {
    t.sizes.push_back(static_cast<std::int64_t>(s));
    fits = fits && !__builtin_mul_overflow(bytes, s, &bytes);
  }
  if (!fits || range[0] > range[1] || range[1] > data.size() || range[1] - range[0] != bytes)
    in.bad("the data_offsets lie outside the file, or do not fit dtype and shape");
  t.bytes = data.subspan(range[0], bytes);
  return t;
}

}  // namespace

std::map<std::string, FileTensor, std::less<>> read_weights(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  if (bytes.size() >= kLengthField) std::memcpy(&length, bytes.data(), sizeof length);
  if (bytes.size() < kLengthField || length > kMaxHeader || length > bytes.size() - kLengthField)
    fail(ErrorCode::bad_file, "not a safetensors file: the length of the header, at byte 0, is wrong");
  Header in(reinterpret_cast<const char*>(bytes.data()) + kLengthField, length);
  const std::span<const std::byte> data = bytes.subspan(kLengthField + length);
  std::map<std::string, FileTensor, std::less<>> tensors;
  in.expect('{');
  for (bool first = true; in.next('}', first);) {
    std::string name = in.string();
    in.expect(':');
    if (name == "__metadata__") {
      in.expect('{');
      for (bool first_pair = true; in.next('}', first_pair);) {
        in.string();
        in.expect(':');
        in.string();
      }
      continue;
    }
    FileTensor t = read_tensor(in, data);
    if (!tensors.emplace(std::move(name), std::move(t)).second) in.bad("two tensors have one name");
  }
  in.end();
  return tensors;
}

WeightFile open_weights(const std::string& path) {
  WeightFile weights;
  weights.file = FileBytes::open(path, Access::map);
  weights.tensors = read_weights(weights.file->bytes());
  return weights;
}

}  // namespace tern
