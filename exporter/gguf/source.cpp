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

std::uint32_t GgufSource::add(Part part, Program& program) {
  const auto number = static_cast<std::uint32_t>(program.storages.size());
  program.storages.push_back({part.size});
  parts_.push_back(std::move(part));
  return number;
}

std::uint32_t GgufSource::add(const TensorRecord& tensor, const RowRange& rows, Program& program) {
  const BlockType& type = *find_block_type(tensor.type);
  Part part{.tensor = &tensor, .rows = rows};
  if (!byte_size(type_of(tensor, rows.count), &part.size))
    fail(ErrorCode::bad_file,
         fmt::format("{}: at byte {}: the tensor is too large", file_.label(), tensor.record_offset));
  if (type.plain() && rows.head == 0) {
    const std::uint64_t row = static_cast<std::uint64_t>(tensor.sizes.back() * type.bytes);
    const auto bytes = tensor.bytes.subspan(static_cast<std::uint64_t>(rows.first) * row, part.size);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment == 0) part.mapped = bytes;
  }
  return add(std::move(part), program);
}

std::uint32_t GgufSource::add_floats(const TensorRecord& tensor, const RowRange& elements, Program& program) {
  if (!find_block_type(tensor.type)->plain())
    fail(ErrorCode::unsupported, fmt::format("{}: at byte {}: tensor {} has the type {}; only F32, F16 and BF16 are "
                                             "supported for biases, norms and other small tensors",
                                             file_.label(), tensor.record_offset, tensor.name, type_text(tensor.type)));
  Part part{.tensor = &tensor, .rows = elements, .widens = true};
  part.size = static_cast<std::uint64_t>(elements.count) * sizeof(float);
  return add(std::move(part), program);
}

std::uint32_t GgufSource::add_numbers(std::vector<float> numbers, Program& program) {
  Part part;
  part.size = numbers.size() * sizeof(float);
  part.numbers = std::move(numbers);
  const std::uint32_t number = add(std::move(part), program);
  parts_[number].mapped = std::as_bytes(std::span(parts_[number].numbers));
  return number;
}

std::uint32_t GgufSource::add_zeros(std::uint64_t size, Program& program) {
  Part part;
  part.size = size;
  return add(std::move(part), program);
}

void GgufSource::move(const Part& part) {
  const TensorRecord& tensor = *part.tensor;
  const BlockType& type = *find_block_type(tensor.type);
  const std::int64_t columns = tensor.sizes.back(), row_bytes = columns / type.elements * type.bytes;
  std::byte* const to = part.pages->data();
  if (part.widens) {
    for (std::int64_t i = 0; i < part.rows.count; ++i)
      convert(tensor.bytes.data() + file_row(part.rows, i) * type.bytes, type.dtype,
              to + i * std::int64_t{sizeof(float)}, DType::f32, 1);
    return;
  }
  const QuantizedMatrix m{type.dtype, part.rows.count, columns, type.blocks};
  parallel_for(part.rows.count, std::max<std::int64_t>(1, kRowsWorthAThread / columns),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t r = begin; r < end; ++r) {
                   const std::int64_t from = file_row(part.rows, r);
                   if (type.plain()) {
                     std::memcpy(to + r * row_bytes, tensor.bytes.data() + from * row_bytes,
                                 static_cast<std::size_t>(row_bytes));
                   } else {
                     move_row(type, m, tensor.bytes, from, r, to);
                   }
                 }
               });
}

std::span<const std::byte> GgufSource::bytes(std::uint32_t storage) {
  if (storage >= parts_.size()) fail(ErrorCode::internal, fmt::format("storage {} is not in the file", storage));
  Part& part = parts_[storage];
  if (!part.mapped.empty()) return part.mapped;
  const std::lock_guard lock(mutex_);
  if (part.pages == nullptr) part.pages = std::make_unique<Pages>(part.size);
  if (part.tensor != nullptr && !part.is_moved) move(part);
  part.is_moved = true;
  return {part.pages->data(), part.size};
}

void GgufSource::release(std::uint32_t storage) {
  const std::lock_guard lock(mutex_);
  if (storage >= parts_.size()) return;
  Part& part = parts_[storage];
  if (part.pages == nullptr) return;
  part.pages->forget();
  part.is_moved = false;
}

}  // namespace tern::gguf
