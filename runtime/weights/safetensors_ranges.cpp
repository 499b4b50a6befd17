// Checks the entries of a safetensors header together: unique names, and tensors tiling the data.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <tuple>

#include "dtypes/safetensors_names.h"
#include "runtime/weights/safetensors_header.h"

namespace tern {
namespace {

/// Size of the entry's data in the file.
std::optional<std::uint64_t> bytes_in_file(const SafetensorsEntry& entry) {
  std::uint64_t bits = static_cast<std::uint64_t>(safetensors_bits(entry.dtype));
  bool is_empty = false;
  for (const std::int64_t size : entry.sizes) {
    is_empty = is_empty || size == 0;
    if (size != 0 && __builtin_mul_overflow(bits, static_cast<std::uint64_t>(size), &bits)) return std::nullopt;
  }
  if (is_empty) return 0;
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

std::string type_text(const SafetensorsEntry& entry) {
  std::string sizes;
  for (const std::int64_t size : entry.sizes) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  return fmt::format("{} [{}]", safetensors_name(entry.dtype), sizes);
}

/// Returns the entry's fault, given the end `position` of the tensors before; empty if correct.
std::string problem_of(const SafetensorsEntry& entry, std::uint64_t position, std::uint64_t data_offset,
                       std::uint64_t data_bytes) {
  if (entry.begin > entry.end || entry.end > data_bytes)
    return fmt::format("its range {} to {} is not within the {} bytes of data that begin at byte {} of the file",
                       entry.begin, entry.end, data_bytes, data_offset);
  const std::optional<std::uint64_t> bytes = bytes_in_file(entry);
  if (!bytes) return type_text(entry) + " is not a whole number of bytes below 2^61";
  if (*bytes != entry.end - entry.begin)
    return fmt::format("{} needs {} bytes, but its range {} to {} at byte {} of the file has {}", type_text(entry),
                       *bytes, entry.begin, entry.end, data_offset + entry.begin, entry.end - entry.begin);
  if (entry.begin != position)
    return fmt::format("its data begin at {}, but those before it end at {} (byte {} of the file): {}", entry.begin,
                       position, data_offset + position, entry.begin > position ? "a hole" : "an overlap");
  return {};
}

}  // namespace

void check_safetensors_entries(std::vector<SafetensorsEntry>& entries, std::uint64_t data_offset,
                               std::uint64_t data_bytes, std::string_view file) {
  std::set<std::string_view> names;
  for (const SafetensorsEntry& entry : entries) {
    if (!names.insert(entry.name).second)
      fail(ErrorCode::bad_file, fmt::format("{}: tensor {} occurs twice", file, shown_name(entry.name)));
  }
  std::ranges::sort(entries, std::less<>(), [](const auto& e) { return std::tie(e.begin, e.end, e.name); });
  std::uint64_t position = 0;
  for (const SafetensorsEntry& entry : entries) {
    const std::string problem = problem_of(entry, position, data_offset, data_bytes);
    if (!problem.empty())
      fail(ErrorCode::bad_file, fmt::format("{}: tensor {}: {}", file, shown_name(entry.name), problem));
    position = entry.end;
  }
  if (position != data_bytes)
    fail(ErrorCode::bad_file, fmt::format("{}: {} bytes from byte {} on belong to no tensor", file,
                                          data_bytes - position, data_offset + position));
}

}  // namespace tern
