#include "tools/files/mapped.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "exporter/pt2/zip_directory.h"
#include "runtime/weights/safetensors_header.h"
#include "tools/files/byte_source.h"
#include "tools/files/npy.h"
#include "tools/text.h"

namespace tern {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kMappedSuffix = ".npy";

/// Fails for compressed entries, because they cannot be mapped; the message explains the remedy.
void require_stored(const pt2::ZipDirectory& directory, const std::string& file) {
  for (const pt2::ZipRecord& r : directory.records) {
    if (r.method == 0) continue;
    fail(ErrorCode::unsupported,
         fmt::format("{}: \"{}\" is compressed, so it cannot be mapped; save the arrays with numpy.savez instead of "
                     "numpy.savez_compressed, or as .safetensors",
                     file, escape_name(r.name)));
  }
}

MappedTensor map_npy(Bytes entry, std::string name, const std::string& entry_name) {
  MemorySource source(entry, entry_name);
  NpyHeader header = read_npy_header(source);
  const std::optional<std::int64_t> bytes = checked_bytes(header.dtype, header.sizes);
  if (!bytes || static_cast<std::uint64_t>(*bytes) != source.remaining()) {
    fail(ErrorCode::bad_file, fmt::format("{}: {} {} does not take the {} bytes that follow its header", entry_name,
                                          name_of(header.dtype), sizes_text(header.sizes), source.remaining()));
  }
  const auto long_axes = std::ranges::count_if(header.sizes, [](std::int64_t size) { return size > 1; });
  if (header.fortran_order && long_axes > 1) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: the array is in column order, so its samples do not lie together; save "
                     "numpy.ascontiguousarray of it",
                     entry_name));
  }
  return {std::move(name), header.dtype, std::move(header.sizes), entry.subspan(source.position())};
}

bool is_zip(Bytes bytes) {
  return bytes.size() >= 2 && std::memcmp(bytes.data(), "PK", 2) == 0;
}

}  // namespace

MappedTensors MappedTensors::npz(Bytes bytes, const std::string& file) {
  pt2::ZipDirectory directory = pt2::read_zip_directory(bytes, file);
  require_stored(directory, file);
  pt2::check_local_headers(bytes, directory, file);
  MappedTensors result;
  result.file_ = file;
  for (const pt2::ZipRecord& r : directory.records) {
    const std::string entry_name = fmt::format("{}: \"{}\"", file, escape_name(r.name));
    if (!r.name.ends_with(kMappedSuffix))
      fail(ErrorCode::unsupported, fmt::format("{}: not an array (NAME.npy)", entry_name));
    result.tensors_.push_back(map_npy(bytes.subspan(r.data_offset, r.size),
                                      r.name.substr(0, r.name.size() - kMappedSuffix.size()), entry_name));
  }
  return result;
}

MappedTensors MappedTensors::safetensors(Bytes bytes, const std::string& file) {
  MemorySource source(bytes, file);
  std::array<std::byte, kSafetensorsLength> field{};
  source.read(field, "the length of the header");
  std::string text(safetensors_header_length(field, bytes.size(), file), '\0');
  source.read(std::as_writable_bytes(std::span(text)), "the header");
  const SafetensorsHeader header = parse_safetensors_header(text, source.remaining(), file);
  const Bytes data = bytes.subspan(source.position());
  MappedTensors result;
  result.file_ = file;
  for (const SafetensorsEntry& e : header.entries) {
    const std::optional<std::int64_t> size = checked_bytes(e.dtype, e.sizes);
    if (elements_per_byte(e.dtype) > 1 || !size || static_cast<std::uint64_t>(*size) != e.end - e.begin) {
      fail(ErrorCode::unsupported, fmt::format("{}: tensor \"{}\" is {}, whose elements share bytes", file,
                                               escape_name(e.name), name_of(e.dtype)));
    }
    result.tensors_.push_back({e.name, e.dtype, e.sizes, data.subspan(e.begin, e.end - e.begin)});
  }
  return result;
}

MappedTensors MappedTensors::open(const std::string& path) {
  const auto file = FileBytes::open(path, Access::map);
  const bool zip = path.ends_with(".npz") || (!path.ends_with(".safetensors") && is_zip(file->bytes()));
  MappedTensors result = (zip ? npz : safetensors)(file->bytes(), escape_name(path));
  result.bytes_ = file;
  return result;
}

const MappedTensor* MappedTensors::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors_, name, &MappedTensor::name);
  return found == tensors_.end() ? nullptr : &*found;
}

}  // namespace tern
