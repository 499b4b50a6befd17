#include "runtime/weights/safetensors.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "dtypes/printable.h"
#include "dtypes/safetensors_names.h"
#include "runtime/weights/safetensors_header.h"

namespace tern {

std::map<std::string, FileTensor, std::less<>> read_weights(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < kSafetensorsLength)
    fail(ErrorCode::bad_file, fmt::format("{}: not a safetensors file: it has {} bytes", file, bytes.size()));
  const auto length =
      static_cast<std::size_t>(safetensors_header_length(bytes.first<kSafetensorsLength>(), bytes.size(), file));
  const std::span<const std::byte> text = bytes.subspan(kSafetensorsLength, length);
  const std::span<const std::byte> data = bytes.subspan(kSafetensorsLength + length);
  SafetensorsHeader header =
      parse_safetensors_header({reinterpret_cast<const char*>(text.data()), text.size()}, data.size(), file);
  std::map<std::string, FileTensor, std::less<>> tensors;
  for (SafetensorsEntry& entry : header.entries) {
    if (safetensors_bits(entry.dtype) % 8 != 0)
      fail(ErrorCode::unsupported, fmt::format("{}: tensor {}: weights of dtype {} are not supported", file,
                                               shown_name(entry.name), safetensors_name(entry.dtype)));
    const auto begin = static_cast<std::size_t>(entry.begin), end = static_cast<std::size_t>(entry.end);
    tensors[std::move(entry.name)] = {entry.dtype, std::move(entry.sizes), data.subspan(begin, end - begin)};
  }
  return tensors;
}

WeightFile open_weights(const std::string& path) {
  WeightFile weights;
  weights.file = FileBytes::open(path, Access::map);
  weights.tensors = read_weights(weights.file->bytes(), printable(path));
  return weights;
}

}  // namespace tern
