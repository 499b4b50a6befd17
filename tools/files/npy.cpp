#include "tools/files/npy.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <array>
#include <cstring>

#include "loader/atomic_file.h"
#include "tools/files/npy_header.h"
#include "tools/text.h"

namespace tern {
namespace {

/// Alignment of the data.
constexpr std::size_t kAlignment = 64;
/// NumPy reserves space in the header to grow the first size to this many digits.
constexpr std::size_t kGrowthDigits = 21;

/// Copies column-major elements to row-major order. Not inlined: g++ 12 would wrongly warn about a release of memory.
[[gnu::noinline]] void copy_from_fortran(std::span<const std::byte> source, HostTensor& target_tensor) {
  const auto size = static_cast<std::size_t>(element_size(target_tensor.dtype));
  const std::size_t rank = target_tensor.sizes.size();
  std::vector<std::size_t> stride(rank);  // bytes, row-major order
  std::size_t bytes = size;
  for (std::size_t d = rank; d-- > 0;) {
    stride[d] = bytes;
    bytes *= static_cast<std::size_t>(target_tensor.sizes[d]);
  }
  std::vector<std::int64_t> index(rank, 0);
  std::size_t target = 0;
  for (std::size_t source_offset = 0; source_offset < source.size(); source_offset += size) {
    std::memcpy(target_tensor.data.data() + target, source.data() + source_offset, size);
    for (std::size_t d = 0; d < rank; ++d) {
      target += stride[d];
      if (++index[d] < target_tensor.sizes[d]) break;
      target -= stride[d] * static_cast<std::size_t>(target_tensor.sizes[d]);
      index[d] = 0;
    }
  }
}

}  // namespace

HostTensor read_npy(ByteSource& source) {
  NpyHeader header = read_npy_header(source);
  const std::optional<std::int64_t> bytes = checked_bytes(header.dtype, header.sizes);
  if (!bytes || static_cast<std::uint64_t>(*bytes) != source.remaining()) {
    fail(ErrorCode::bad_file,
         fmt::format("{}: {} {} needs {} bytes from byte {} on, but {} follow", source.name(), name_of(header.dtype),
                     sizes_text(header.sizes), bytes ? std::to_string(*bytes) : "over 2^63", source.position(),
                     source.remaining()));
  }
  const std::uint64_t begin = source.position();
  HostTensor tensor = allocate_tensor(header.dtype, std::move(header.sizes), source.name());
  source.read(tensor.data, "the array");
  if (const auto bad = first_invalid_byte(tensor.dtype, tensor.data)) {
    fail(ErrorCode::bad_file, fmt::format("{}: byte {} is {}, but a boolean is 0 or 1", source.name(), begin + *bad,
                                          std::to_integer<int>(tensor.data[*bad])));
  }
  if (header.fortran_order && tensor.sizes.size() > 1) {
    HostTensor row_major = allocate_tensor(tensor.dtype, tensor.sizes, source.name());
    copy_from_fortran(tensor.data, row_major);
    return row_major;
  }
  return tensor;
}

HostTensor read_npy(const std::string& path) {
  FileSource source(path);
  return read_npy(source);
}

std::string npy_header(DType dtype, std::span<const std::int64_t> sizes) {
  const std::string_view descr = npy_descr(dtype);
  if (descr.empty()) {
    fail(ErrorCode::unsupported,
         fmt::format("NumPy files have no {}; write a .safetensors file instead", name_of(dtype)));
  }
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                 fmt::join(sizes, ", "), sizes.size() == 1 ? "," : "");
  if (!sizes.empty()) text.append(kGrowthDigits - std::to_string(sizes[0]).size(), ' ');
  const std::size_t prefix_bytes = kNpyMagic.size() + 2 + 2;
  text.append(kAlignment - (prefix_bytes + text.size() + 1) % kAlignment, ' ');
  text += '\n';

  std::string header(kNpyMagic);
  header += '\1';  // version 1.0: 64 sizes always fit the 16-bit length
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

void write_npy(const std::string& path, const HostTensor& tensor) {
  require_consistent(tensor, path);
  const std::string header = npy_header(tensor.dtype, tensor.sizes);
  AtomicFile file(path);
  file.write(header);
  file.write(tensor.data);
  file.commit();
}

}  // namespace tern
