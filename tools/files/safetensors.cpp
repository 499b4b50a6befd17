#include "tools/files/safetensors.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <span>

#include "dtypes/safetensors_names.h"
#include "loader/atomic_file.h"
#include "runtime/weights/safetensors_header.h"
#include "tools/files/packed_f6.h"
#include "tools/text.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "files are little-endian and are not swapped");
static_assert(kMaxSafetensorsRank <= kMaxFileRank);

bool is_packed(DType dtype) {
  return dtype == DType::f6_e2m3 || dtype == DType::f6_e3m2;
}

std::string read_header(ByteSource& source) {
  std::array<std::byte, kSafetensorsLength> field{};
  source.read(field, "the length of the header");
  std::string header(safetensors_header_length(field, source.size(), source.name()), '\0');
  source.read(std::as_writable_bytes(std::span(header)), "the header");
  return header;
}

HostTensor read_entry(ByteSource& source, const SafetensorsEntry& entry) {
  const std::string tensor_name = fmt::format("{}: tensor \"{}\"", source.name(), escape_name(entry.name));
  const std::uint64_t begin = source.position();
  HostTensor tensor = allocate_tensor(entry.dtype, entry.sizes, tensor_name);
  if (is_packed(entry.dtype)) {
    std::vector<std::byte> packed(static_cast<std::size_t>(entry.end - entry.begin));
    source.read(packed, "a tensor");
    unpack_f6(packed, tensor.data);
  } else {
    source.read(tensor.data, "a tensor");
  }
  if (const auto bad = first_invalid_byte(entry.dtype, tensor.data)) {
    fail(ErrorCode::bad_file, fmt::format("{}: byte {} of the file is {}, but a BOOL is 0 or 1", tensor_name,
                                          begin + *bad, std::to_integer<int>(tensor.data[*bad])));
  }
  return tensor;
}

/// The tensors in the order of the file.
std::vector<const std::pair<std::string, HostTensor>*> file_order(const NamedTensors& tensors) {
  std::vector<const std::pair<std::string, HostTensor>*> order;
  for (const auto& entry : tensors.tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    const int ra = safetensors_rank(a->second.dtype);
    const int rb = safetensors_rank(b->second.dtype);
    return ra != rb ? ra > rb : a->first < b->first;
  });
  return order;
}

void require_writable(const NamedTensors& tensors) {
  std::vector<std::string_view> names;
  for (const auto& [name, tensor] : tensors.tensors) {
    const std::string tensor_name = fmt::format("tensor \"{}\"", escape_name(name));
    require_consistent(tensor, tensor_name);
    if (!is_utf8(name) || name == "__metadata__") {
      fail(ErrorCode::invalid_argument, fmt::format("{}: a safetensors file cannot hold this name", tensor_name));
    }
    if (tensor.numel() * safetensors_bits(tensor.dtype) % 8 != 0) {
      fail(ErrorCode::unsupported, fmt::format("{}: a safetensors file cannot hold {} {}: not a whole number of bytes",
                                               tensor_name, name_of(tensor.dtype), sizes_text(tensor.sizes)));
    }
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    fail(ErrorCode::invalid_argument, fmt::format("two tensors are named \"{}\"", escape_name(*twice)));
  }
}

std::uint64_t bytes_in_file(const HostTensor& tensor) {
  return is_packed(tensor.dtype) ? tensor.data.size() / 4 * 3 : tensor.data.size();
}

std::string header_text(const NamedTensors& tensors) {
  // emplace_back searches for no equal key: require_writable has.
  Json::object_t header;
  if (!tensors.metadata.empty()) header.emplace_back("__metadata__", tensors.metadata);
  std::uint64_t offset = 0;
  for (const auto* entry : file_order(tensors)) {
    const auto& [name, tensor] = *entry;
    const std::uint64_t end = offset + bytes_in_file(tensor);
    header.emplace_back(name, Json{{"dtype", safetensors_name(tensor.dtype)},
                                   {"shape", tensor.sizes},
                                   {"data_offsets", Json::array({offset, end})}});
    offset = end;
  }
  // Names may hold any bytes: those that are not UTF-8 become U+FFFD.
  std::string text = Json(std::move(header)).dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // so that the data are aligned to 8 bytes
  return text;
}

}  // namespace

NamedTensors read_safetensors(ByteSource& source) {
  const std::string text = read_header(source);
  SafetensorsHeader header = parse_safetensors_header(text, source.remaining(), source.name());
  NamedTensors result;
  result.metadata = std::move(header.metadata);
  result.tensors.reserve(header.entries.size());
  for (SafetensorsEntry& entry : header.entries) {
    HostTensor tensor = read_entry(source, entry);
    result.tensors.emplace_back(std::move(entry.name), std::move(tensor));
  }
  return result;
}

NamedTensors read_safetensors(const std::string& path) {
  FileSource source(path);
  return read_safetensors(source);
}

void write_safetensors(const std::string& path, const NamedTensors& tensors, bool durable) {
  require_writable(tensors);
  const std::string header = header_text(tensors);
  if (header.size() > kMaxSafetensorsHeader) {
    fail(ErrorCode::unsupported, fmt::format("{}: the header would have {} bytes, over the format's limit of {}", path,
                                             header.size(), kMaxSafetensorsHeader));
  }
  AtomicFile file(path);
  const std::uint64_t length = header.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const auto* entry : file_order(tensors)) {
    const HostTensor& tensor = entry->second;
    if (is_packed(tensor.dtype)) {
      std::vector<std::byte> packed(static_cast<std::size_t>(bytes_in_file(tensor)));
      pack_f6(tensor.data, packed);
      file.write(packed);
    } else {
      file.write(tensor.data);
    }
  }
  if (durable) return file.commit_durably();
  file.commit();
}

}  // namespace tern
