#include "exporter/raw_bytes.h"

#include <cstdint>
#include <new>

namespace tern {
namespace {

constexpr std::size_t kLargePage = 2 << 20, kRawBytesLarge = 2 * kLargePage, kLine = 64;

}  // namespace

RawBytes::RawBytes(std::size_t size) : size_(size) {
  const std::size_t page = size >= kRawBytesLarge ? kLargePage : kLine;
  if (size > SIZE_MAX - page) throw std::bad_alloc();
  data_.reset(static_cast<std::byte*>(platform::allocate_aligned(page, (size + page) / page * page)));
  if (data_ == nullptr) throw std::bad_alloc();
  if (page == kLargePage) platform::prefer_large_pages(data_.get(), size);
}

}  // namespace tern
