// Parsing of the header of a safetensors file. A stream parser: no document in memory, no recursion, and it sees every
// key, also one that occurs twice.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "dtypes/safetensors_names.h"
#include "tools/files/safetensors.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::uint64_t kLengthField = 8;

class HeaderHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderHandler(SafetensorsHeader& header, std::string_view file) : header_(header), file_(file) {}

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::document: place_ = Place::root; return true;
      case Place::root:
        if (is_metadata_) {
          place_ = Place::metadata;
        } else {
          entry_ = SafetensorsEntry{key_};
          has_dtype_ = has_shape_ = has_offsets_ = false;
          place_ = Place::tensor;
        }
        return true;
      default: unexpected("an object");
    }
  }

  bool key(string_t& name) override {
    switch (place_) {
      case Place::root:
        is_metadata_ = name == "__metadata__";
        if (is_metadata_ && has_metadata_) bad("\"__metadata__\" occurs twice");
        has_metadata_ = has_metadata_ || is_metadata_;
        key_ = name;
        return true;
      case Place::metadata:
        if (header_.metadata.contains(name)) bad(fmt::format("metadata \"{}\" occurs twice", escape_name(name)));
        field_ = name;
        return true;
      case Place::tensor:
        if (!seen(name)) bad(fmt::format("{}: unknown field \"{}\"", tensor(), escape_name(name)));
        field_ = name;
        return true;
      default: unexpected("a key");
    }
  }

  bool end_object() override {
    switch (place_) {
      case Place::root: place_ = Place::done; return true;
      case Place::metadata: place_ = Place::root; return true;
      case Place::tensor:
        if (!has_dtype_ || !has_shape_ || !has_offsets_) {
          bad(fmt::format("{}: \"{}\" is missing", tensor(),
                          !has_dtype_   ? "dtype"
                          : !has_shape_ ? "shape"
                                        : "data_offsets"));
        }
        header_.entries.push_back(std::move(entry_));
        place_ = Place::root;
        return true;
      default: unexpected("the end of an object");
    }
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || field_ == "dtype") unexpected("an array");
    place_ = field_ == "shape" ? Place::shape : Place::offsets;
    offsets_.clear();
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets) {
      if (offsets_.size() != 2)
        bad(fmt::format("{}: \"data_offsets\" has {} numbers, not 2", tensor(), offsets_.size()));
      entry_.begin = offsets_[0];
      entry_.end = offsets_[1];
    }
    place_ = Place::tensor;
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) {
      header_.metadata.emplace(field_, std::move(text));
      return true;
    }
    if (place_ != Place::tensor || field_ != "dtype") unexpected("a string");
    entry_.dtype = dtype_from_safetensors(text);
    if (entry_.dtype == DType::invalid) {
      fail(ErrorCode::unsupported,
           fmt::format("{}: {}: dtype \"{}\" is not known", file_, tensor(), escape_name(text)));
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::shape) {
      if (value > static_cast<std::uint64_t>(INT64_MAX)) bad(fmt::format("{}: size {} is too large", tensor(), value));
      if (entry_.sizes.size() == kMaxFileRank) bad(fmt::format("{}: more than {} dimensions", tensor(), kMaxFileRank));
      entry_.sizes.push_back(static_cast<std::int64_t>(value));
    } else if (place_ == Place::offsets) {
      if (offsets_.size() == 2) bad(fmt::format("{}: \"data_offsets\" has more than 2 numbers", tensor()));
      offsets_.push_back(value);
    } else {
      unexpected("a number");
    }
    return true;
  }

  // A number that does not fit 64 bits arrives as a float too.
  bool number_float(number_float_t, const string_t& text) override {
    unexpected(fmt::format("the number {}", escape_name(text, 40)));
  }
  bool number_integer(number_integer_t value) override { unexpected(fmt::format("the negative number {}", value)); }
  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("true or false"); }
  bool binary(binary_t&) override { unexpected("bytes"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    // The library counts from one, in the header; its text is "[json.exception...] parse error at ...: what".
    std::string_view what = error.what();
    if (const auto colon = what.find(": "); colon != std::string_view::npos) what.remove_prefix(colon + 2);
    bad(fmt::format("the header is not valid JSON at byte {}: {}",
                    kLengthField + std::max<std::size_t>(position, 1) - 1, escape_name(what)));
  }

 private:
  enum class Place { document, root, metadata, tensor, shape, offsets, done };

  std::string tensor() const { return fmt::format("tensor \"{}\"", escape_name(entry_.name)); }

  [[noreturn]] void bad(const std::string& what) const {
    fail(ErrorCode::bad_file, fmt::format("{}: {}", file_, what));
  }

  [[noreturn]] void unexpected(std::string_view what) const {
    switch (place_) {
      case Place::root: bad(fmt::format("\"{}\" is {}, not an object", escape_name(key_), what));
      case Place::metadata: bad(fmt::format("metadata \"{}\" is {}, not a string", escape_name(field_), what));
      case Place::tensor: bad(fmt::format("{}: \"{}\" is {}", tensor(), escape_name(field_), what));
      case Place::shape: bad(fmt::format("{}: {} in \"shape\"", tensor(), what));
      case Place::offsets: bad(fmt::format("{}: {} in \"data_offsets\"", tensor(), what));
      default: bad(fmt::format("the header is {}, not an object", what));
    }
  }

  /// Notes the field; false when there is no such field. Twice is an error.
  bool seen(std::string_view field) {
    bool* flag = field == "dtype" ? &has_dtype_ : field == "shape" ? &has_shape_ : nullptr;
    if (field == "data_offsets") flag = &has_offsets_;
    if (flag == nullptr) return false;
    if (*flag) bad(fmt::format("{}: \"{}\" occurs twice", tensor(), field));
    *flag = true;
    return true;
  }

  SafetensorsHeader& header_;
  std::string_view file_;
  Place place_ = Place::document;
  std::string key_;    ///< in the root
  std::string field_;  ///< one level below
  bool is_metadata_ = false;
  bool has_metadata_ = false;
  SafetensorsEntry entry_;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  std::vector<std::uint64_t> offsets_;
};

/// The bytes that the entry takes in the file.
std::optional<std::uint64_t> bytes_in_file(const SafetensorsEntry& entry) {
  const std::optional<std::int64_t> numel = checked_numel(entry.sizes);
  std::uint64_t bits = 0;
  if (!numel || __builtin_mul_overflow(static_cast<std::uint64_t>(*numel),
                                       static_cast<std::uint64_t>(safetensors_bits(entry.dtype)), &bits)) {
    return std::nullopt;
  }
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

void require_unique_names(const SafetensorsHeader& header, std::string_view file) {
  std::vector<std::string_view> names;
  names.reserve(header.entries.size());
  for (const SafetensorsEntry& entry : header.entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    fail(ErrorCode::bad_file, fmt::format("{}: tensor \"{}\" occurs twice", file, escape_name(*twice)));
  }
}

void require_exact_tiling(const SafetensorsHeader& header, std::uint64_t data_offset, std::uint64_t data_bytes,
                          std::string_view file) {
  const auto bad = [&](const SafetensorsEntry& entry, const std::string& what) {
    fail(ErrorCode::bad_file, fmt::format("{}: tensor \"{}\": {}", file, escape_name(entry.name), what));
  };
  std::uint64_t position = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin > entry.end || entry.end > data_bytes) {
      bad(entry, fmt::format("its range {} to {} is not within the {} bytes of data that begin at byte {} of the file",
                             entry.begin, entry.end, data_bytes, data_offset));
    }
    const std::optional<std::uint64_t> bytes = bytes_in_file(entry);
    if (!bytes) {
      bad(entry, fmt::format("{} {} is not a whole number of bytes below 2^61", safetensors_name(entry.dtype),
                             sizes_text(entry.sizes)));
    }
    if (*bytes != entry.end - entry.begin) {
      bad(entry, fmt::format("{} {} needs {} bytes, but its range {} to {} at byte {} of the file has {}",
                             safetensors_name(entry.dtype), sizes_text(entry.sizes), *bytes, entry.begin, entry.end,
                             data_offset + entry.begin, entry.end - entry.begin));
    }
    if (entry.begin != position) {
      bad(entry,
          fmt::format("its data begin at {}, but those before it end at {} (byte {} of the file): {}", entry.begin,
                      position, data_offset + position, entry.begin > position ? "a hole" : "an overlap"));
    }
    position = entry.end;
  }
  if (position != data_bytes) {
    fail(ErrorCode::bad_file, fmt::format("{}: {} bytes from byte {} on belong to no tensor", file,
                                          data_bytes - position, data_offset + position));
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, std::string_view file) {
  if (!json.starts_with('{')) {
    fail(ErrorCode::bad_file, fmt::format("{}: the header at byte {} does not begin with '{{'", file, kLengthField));
  }
  // The parser takes a zero byte for the end of its input.
  if (const auto zero = json.find('\0'); zero != std::string_view::npos) {
    fail(ErrorCode::bad_file, fmt::format("{}: a zero byte in the header, at byte {}", file, kLengthField + zero));
  }
  SafetensorsHeader header;
  HeaderHandler handler(header, file);
  nlohmann::json::sax_parse(json.begin(), json.end(), &handler);
  require_unique_names(header, file);
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const auto& a, const auto& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  require_exact_tiling(header, kLengthField + json.size(), data_bytes, file);
  return header;
}

}  // namespace tern
