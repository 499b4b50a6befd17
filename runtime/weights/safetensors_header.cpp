#include "runtime/weights/safetensors_header.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cstring>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "dtypes/printable.h"
#include "dtypes/safetensors_names.h"
#include "runtime/weights/json_reader.h"

namespace tern {
namespace {

constexpr int kDtype = 0, kShape = 1, kOffsets = 2;
constexpr const char* kFields[] = {"dtype", "shape", "data_offsets"};

class HeaderReader {
 public:
  HeaderReader(std::string_view json, std::string_view file) : in_(json, kSafetensorsLength, file), file_(file) {}

  SafetensorsHeader read() {
    SafetensorsHeader header;
    bool has_metadata = false;
    in_.expect('{');
    for (bool first = true; in_.next('}', first);) {
      const std::string name = in_.key();
      if (in_.peek() != '{') bad("{} is {}, not an object", shown_name(name), in_.kind());
      if (name != "__metadata__") {
        header.entries.push_back(tensor(name));
        continue;
      }
      if (std::exchange(has_metadata, true)) bad("\"__metadata__\" occurs twice");
      metadata(header.metadata);
    }
    in_.end();
    return header;
  }

 private:
  template <class... Args>
  [[noreturn]] void bad(fmt::format_string<Args...> what, Args&&... args) const {
    fail(ErrorCode::bad_file, fmt::format("{}: {}", file_, fmt::format(what, std::forward<Args>(args)...)));
  }

  void metadata(std::map<std::string, std::string>& to) {
    in_.expect('{');
    for (bool first = true; in_.next('}', first);) {
      const std::string key = in_.key();
      if (in_.peek() != '"') bad("metadata {} is {}, not a string", shown_name(key), in_.kind());
      if (!to.emplace(key, in_.string()).second) bad("metadata {} occurs twice", shown_name(key));
    }
  }

  SafetensorsEntry tensor(const std::string& name) {
    SafetensorsEntry entry{name};
    const std::string where = "tensor " + shown_name(name);
    bool seen[std::size(kFields)] = {};
    in_.expect('{');
    for (bool first = true; in_.next('}', first);) {
      const std::string key = in_.key();
      std::size_t field = 0;
      while (field < std::size(kFields) && key != kFields[field]) ++field;
      if (field == std::size(kFields)) bad("{}: unknown field {}", where, shown_name(key));
      if (std::exchange(seen[field], true)) bad("{}: \"{}\" occurs twice", where, key);
      if (in_.peek() != (field == kDtype ? '"' : '[')) bad("{}: \"{}\" is {}", where, key, in_.kind());
      if (field == kDtype) {
        entry.dtype = dtype(where);
      } else if (field == kShape) {
        entry.sizes = sizes(where);
      } else {
        std::tie(entry.begin, entry.end) = offsets(where);
      }
    }
    for (std::size_t field = 0; field < std::size(kFields); ++field) {
      if (!seen[field]) bad("{}: \"{}\" is missing", where, kFields[field]);
    }
    return entry;
  }

  DType dtype(const std::string& where) {
    const std::string name = in_.string();
    const DType dtype = dtype_from_safetensors(name);
    if (dtype == DType::invalid)
      fail(ErrorCode::unsupported, fmt::format("{}: {}: unknown dtype {}", file_, where, shown_name(name)));
    return dtype;
  }

  std::vector<std::int64_t> sizes(const std::string& where) {
    std::vector<std::int64_t> sizes;
    in_.expect('[');
    for (bool first = true; in_.next(']', first);) {
      const std::uint64_t size = integer(where, kShape);
      if (size > static_cast<std::uint64_t>(INT64_MAX)) bad("{}: size {} is too large", where, size);
      if (sizes.size() == kMaxSafetensorsRank) bad("{}: more than {} dimensions", where, kMaxSafetensorsRank);
      sizes.push_back(static_cast<std::int64_t>(size));
    }
    return sizes;
  }

  std::pair<std::uint64_t, std::uint64_t> offsets(const std::string& where) {
    std::uint64_t range[2] = {};
    std::size_t count = 0;
    in_.expect('[');
    for (bool first = true; in_.next(']', first);) {
      const std::uint64_t offset = integer(where, kOffsets);
      if (count == 2) bad("{}: \"data_offsets\" has more than 2 numbers", where);
      range[count++] = offset;
    }
    if (count != 2) bad("{}: \"data_offsets\" has {} numbers, not 2", where, count);
    return {range[0], range[1]};
  }

  std::uint64_t integer(const std::string& where, int field) {
    const std::optional<std::uint64_t> value = in_.integer();
    if (!value) bad("{}: {} in \"{}\"", where, in_.kind(), kFields[field]);
    return *value;
  }

  JsonReader in_;
  std::string_view file_;
};

}  // namespace

std::string shown_name(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  return '"' + printable(name.substr(0, kLongest)) + (name.size() > kLongest ? "..." : "") + '"';
}

std::uint64_t safetensors_header_length(std::span<const std::byte, kSafetensorsLength> field, std::uint64_t file_bytes,
                                        std::string_view file) {
  std::uint64_t length = 0;
  std::memcpy(&length, field.data(), sizeof length);
  if (length > kMaxSafetensorsHeader)
    fail(ErrorCode::bad_file,
         fmt::format("{}: not a safetensors file: its header would have {} bytes, over the limit of {}", file, length,
                     kMaxSafetensorsHeader));
  if (length > file_bytes - kSafetensorsLength)
    fail(ErrorCode::bad_file,
         fmt::format("{}: the header of {} bytes does not fit into the file of {}", file, length, file_bytes));
  return length;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, std::string_view file) {
  if (!json.starts_with('{'))
    fail(ErrorCode::bad_file,
         fmt::format("{}: the header at byte {} does not begin with '{{'", file, kSafetensorsLength));
  SafetensorsHeader header = HeaderReader(json, file).read();
  check_safetensors_entries(header.entries, kSafetensorsLength + json.size(), data_bytes, file);
  return header;
}

}  // namespace tern
