#include "exporter/gguf/source.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "dtypes/convert.h"
#include "platform/memory.h"
#include "threads/parallel.h"

namespace tern::gguf {
namespace {

constexpr std::uint64_t kAlignment = 64;             // mapped bytes at such addresses need no copy
constexpr std::int64_t kRowsWorthAThread = 1 << 14;  // elements

/// The file's row behind row `row` of a state.
std::int64_t file_row(const RowRange& rows, std::int64_t row) {
  if (rows.head == 0) return rows.first + row;
  const std::int64_t head = row / rows.head, in_head = row % rows.head, half = rows.head / 2;
  return rows.first + head * rows.head + 2 * (in_head % half) + in_head / half;
}

}  // namespace

GgufSource::Pages::Pages(std::size_t size) : size_(std::max<std::size_t>(size, 1)) {
  data_ = platform::allocate_pages(size_, platform::Backing::on_demand);
  if (data_ == nullptr) throw std::bad_alloc();
}

GgufSource::Pages::~Pages() {
  platform::free_pages(data_, size_);
}

void GgufSource::Pages::forget() {
  platform::clear_pages(data_, size_);
}

std::int64_t row_count(const TensorRecord& tensor) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < tensor.sizes.size(); ++i) rows *= tensor.sizes[i];
  return rows;
}

TensorType type_of(const TensorRecord& tensor, std::int64_t rows) {
  const BlockType& type = *find_block_type(tensor.type);
  return {type.dtype, {rows, tensor.sizes.back()}, type.blocks};
}

TensorType type_of(const TensorRecord& tensor) {
  const BlockType& type = *find_block_type(tensor.type);
  return {type.dtype, Dims(tensor.sizes.begin(), tensor.sizes.end()), type.blocks};
}

std::uint32_t GgufSource::add(Region region, Program& program) {
  const auto number = static_cast<std::uint32_t>(program.storages.size());
  program.storages.push_back({region.size});
  regions_.push_back(std::move(region));
  return number;
}

std::uint32_t GgufSource::add(const TensorRecord& tensor, const RowRange& rows, Program& program) {
  const BlockType& type = *find_block_type(tensor.type);
  Region region{.tensor = &tensor, .rows = rows};
  if (!byte_size(type_of(tensor, rows.count), &region.size))
    fail(ErrorCode::bad_file,
         fmt::format("{}: at byte {}: the tensor is too large", file_.label(), tensor.record_offset));
  if (type.is_plain() && rows.head == 0) {
    const std::uint64_t row = static_cast<std::uint64_t>(tensor.sizes.back() * type.bytes);
    const auto bytes = tensor.bytes.subspan(static_cast<std::uint64_t>(rows.first) * row, region.size);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment == 0) region.mapped = bytes;
  }
  return add(std::move(region), program);
}

std::uint32_t GgufSource::add_floats(const TensorRecord& tensor, const RowRange& elements, Program& program) {
  if (!find_block_type(tensor.type)->is_plain())
    fail(ErrorCode::unsupported, fmt::format("{}: at byte {}: tensor {} has the type {}; only F32, F16 and BF16 are "
                                             "supported for biases, norms and other small tensors",
                                             file_.label(), tensor.record_offset, tensor.name, type_text(tensor.type)));
  Region region{.tensor = &tensor, .rows = elements, .widens = true};
  region.size = static_cast<std::uint64_t>(elements.count) * sizeof(float);
  return add(std::move(region), program);
}

std::uint32_t GgufSource::add_numbers(std::vector<float> numbers, Program& program) {
  Region region;
  region.size = numbers.size() * sizeof(float);
  region.numbers = std::move(numbers);
  const std::uint32_t number = add(std::move(region), program);
  regions_[number].mapped = std::as_bytes(std::span(regions_[number].numbers));
  return number;
}

std::uint32_t GgufSource::add_zeros(std::uint64_t size, Program& program) {
  Region region;
  region.size = size;
  return add(std::move(region), program);
}

void GgufSource::convert_region(const Region& region) {
  const TensorRecord& tensor = *region.tensor;
  const BlockType& type = *find_block_type(tensor.type);
  const std::int64_t columns = tensor.sizes.back(), row_bytes = columns / type.elements * type.bytes;
  std::byte* const destination = region.pages->data();
  if (region.widens) {
    for (std::int64_t i = 0; i < region.rows.count; ++i)
      convert(tensor.bytes.data() + file_row(region.rows, i) * type.bytes, type.dtype,
              destination + i * std::int64_t{sizeof(float)}, DType::f32, 1);
    return;
  }
  const QuantizedMatrix m{type.dtype, region.rows.count, columns, type.blocks};
  parallel_for(region.rows.count, std::max<std::int64_t>(1, kRowsWorthAThread / columns),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t r = begin; r < end; ++r) {
                   const std::int64_t source_row = file_row(region.rows, r);
                   if (type.is_plain()) {
                     std::memcpy(destination + r * row_bytes, tensor.bytes.data() + source_row * row_bytes,
                                 static_cast<std::size_t>(row_bytes));
                   } else {
                     move_row(type, m, tensor.bytes, source_row, r, destination);
                   }
                 }
               });
}

std::span<const std::byte> GgufSource::bytes(std::uint32_t storage) {
  if (storage >= regions_.size()) fail(ErrorCode::internal, fmt::format("storage {} is not in the file", storage));
  Region& region = regions_[storage];
  if (!region.mapped.empty()) return region.mapped;
  const std::lock_guard lock(mutex_);
  if (region.pages == nullptr) region.pages = std::make_unique<Pages>(region.size);
  if (region.tensor != nullptr && !region.is_moved) convert_region(region);
  region.is_moved = true;
  return {region.pages->data(), region.size};
}

void GgufSource::release(std::uint32_t storage) {
  const std::lock_guard lock(mutex_);
  if (storage >= regions_.size()) return;
  Region& region = regions_[storage];
  if (region.pages == nullptr) return;
  region.pages->forget();
  region.is_moved = false;
}

}  // namespace tern::gguf
