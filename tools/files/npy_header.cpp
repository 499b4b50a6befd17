#include "tools/files/npy_header.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <array>
#include <charconv>
#include <cstring>
#include <string>

#include "tools/files/host_tensor.h"
#include "tools/text.h"

namespace tern {
namespace {

/// NumPy itself takes 10,000 by default.
constexpr std::uint32_t kMaxHeader = 1 << 16;

struct Descr {
  std::string_view text;
  DType dtype;
};

constexpr std::array<Descr, 14> kDescrs = {{
    {"|b1", DType::boolean},
    {"|u1", DType::u8},
    {"|i1", DType::i8},
    {"<i2", DType::i16},
    {"<i4", DType::i32},
    {"<i8", DType::i64},
    {"<u2", DType::u16},
    {"<u4", DType::u32},
    {"<u8", DType::u64},
    {"<f2", DType::f16},
    {"<f4", DType::f32},
    {"<f8", DType::f64},
    {"<c8", DType::c64},
    {"<c16", DType::c128},
}};

/// Parses NumPy's subset of Python literals; other input is an error at its offset.
class NpyHeaderParser {
 public:
  NpyHeaderParser(std::string_view text, std::uint64_t offset, std::string_view file)
      : text_(text), offset_(offset), file_(file) {}

  NpyHeader parse() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!consume('}')) {
      const std::string_view key = quote();
      expect(':');
      bool* is_seen = key == "descr" ? &descr : key == "fortran_order" ? &order : key == "shape" ? &shape : nullptr;
      if (is_seen == nullptr) bad(fmt::format("unknown key '{}'", escape_name(key)));
      if (*is_seen) bad(fmt::format("'{}' occurs twice", key));
      *is_seen = true;
      if (key == "descr") header.dtype = dtype();
      if (key == "fortran_order") header.fortran_order = boolean();
      if (key == "shape") header.sizes = tuple();
      if (!consume(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) bad("there is text after the dictionary");
    if (!descr || !order || !shape) bad("'descr', 'fortran_order' or 'shape' is missing");
    return header;
  }

 private:
  [[noreturn]] void bad(const std::string& problem) const {
    fail(ErrorCode::bad_file,
         fmt::format("{}: header of the array, at byte {}: {}", file_, offset_ + position_, problem));
  }

  void skip_space() {
    while (position_ < text_.size() &&
           (text_[position_] == ' ' || text_[position_] == '\n' || text_[position_] == '\t'))
      ++position_;
  }

  bool consume(char c) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void expect(char c) {
    if (!consume(c)) bad(fmt::format("expected '{}'", c));
  }

  std::string_view quote() {
    skip_space();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') bad("expected a string");
    const std::size_t begin = position_ + 1;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) bad("a string is not closed");
    position_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  bool boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_).starts_with(word)) {
        position_ += word.size();
        return value;
      }
    }
    bad("'fortran_order' is neither True nor False");
  }

  DType dtype() {
    skip_space();
    if (position_ < text_.size() && text_[position_] == '[')
      unsupported("the array has records; save each field as a separate array");
    const std::string_view descr = quote();
    // NumPy writes "|u1", but "<u1" means the same.
    const bool one_byte = descr.size() == 3 && descr[2] == '1' && (descr[0] == '<' || descr[0] == '=');
    for (const Descr& known : kDescrs) {
      if (known.text == descr || (one_byte && known.text.substr(1) == descr.substr(1))) return known.dtype;
    }
    const std::string shown_descr = escape_name(descr, 40);
    if (descr.starts_with('>'))
      unsupported(fmt::format("'{}' is big-endian; save it with .astype() to '<'", shown_descr));
    if (descr.find('O') != std::string_view::npos)
      unsupported("the array has Python objects; such files are never unpickled");
    if (descr.find('V') != std::string_view::npos) {
      unsupported(fmt::format("'{}' does not specify its element type (bfloat16? float8?); save it as .safetensors",
                              shown_descr));
    }
    unsupported(fmt::format("'{}' is not an element type of Tern", shown_descr));
  }

  [[noreturn]] void unsupported(const std::string& problem) const {
    fail(ErrorCode::unsupported, fmt::format("{}: {}", file_, problem));
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sizes;
    expect('(');
    bool comma = true;
    while (!consume(')')) {
      if (!comma) bad("expected ',' or ')'");
      if (sizes.size() == kMaxFileRank) bad(fmt::format("the array has more than {} dimensions", kMaxFileRank));
      sizes.push_back(integer());
      comma = consume(',');
    }
    // "(3)" is a number in Python, not a tuple.
    if (sizes.size() == 1 && !comma) bad("'shape' is not a tuple");
    return sizes;
  }

  std::int64_t integer() {
    skip_space();
    std::int64_t value = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) bad("a size exceeds 2^63-1");
    if (error != std::errc{}) bad("expected a size");
    if (value < 0) bad(fmt::format("the size {} is negative", value));
    position_ += static_cast<std::size_t>(end - begin);
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // written by Python 2
    return value;
  }

  std::string_view text_;
  std::uint64_t offset_;
  std::string_view file_;
  std::size_t position_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, std::uint64_t text_offset, std::string_view file) {
  return NpyHeaderParser(text, text_offset, file).parse();
}

std::string_view npy_descr(DType dtype) {
  for (const Descr& known : kDescrs) {
    if (known.dtype == dtype) return known.text;
  }
  return {};
}

NpyHeader read_npy_header(ByteSource& source) {
  std::array<std::byte, 8> start{};
  source.read(start, "the start of an array");
  if (std::memcmp(start.data(), kNpyMagic.data(), kNpyMagic.size()) != 0) {
    fail(ErrorCode::bad_file, fmt::format("{}: not an .npy file: it does not begin with \\x93NUMPY", source.name()));
  }
  const int major = std::to_integer<int>(start[6]);
  const int minor = std::to_integer<int>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: unknown version {}.{} of the .npy format", source.name(), major, minor));
  }
  std::array<std::byte, 4> field{};
  source.read(std::span(field).first(major == 1 ? 2 : 4), "the length of the header");
  std::uint32_t length = 0;
  std::memcpy(&length, field.data(), field.size());
  if (length > kMaxHeader) {
    fail(ErrorCode::bad_file,
         fmt::format("{}: the header would have {} bytes, over the limit of {}", source.name(), length, kMaxHeader));
  }
  const std::uint64_t offset = source.position();
  std::string text(length, '\0');
  source.read(std::as_writable_bytes(std::span(text)), "the header");
  return parse_npy_header(text, offset, source.name());
}

}  // namespace tern
