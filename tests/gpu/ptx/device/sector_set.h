// Sectors of memory, in pages of bits.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

namespace tern::emulated {

class SectorSet {
 public:
  void add(std::uint64_t sector) {
    const std::uint64_t page = sector / kSectors;
    if (page != last_page_ || !last_) {
      last_ = &pages_[page];
      last_page_ = page;
    }
    std::uint64_t& word = (*last_)[sector % kSectors / 64];
    const std::uint64_t bit = std::uint64_t{1} << sector % 64;
    size_ += (word & bit) == 0;
    word |= bit;
  }
  std::uint64_t size() const { return size_; }

 private:
  static constexpr std::uint64_t kSectors = 2048;  // per page: 64 KiB
  using Page = std::array<std::uint64_t, kSectors / 64>;
  std::unordered_map<std::uint64_t, Page> pages_;  // a map with stable element addresses
  Page* last_ = nullptr;
  std::uint64_t last_page_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace tern::emulated
