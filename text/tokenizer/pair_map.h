// Merges of byte-pair encoding by their pair of tokens.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace tern::text {

/// A hash table with open addressing.
class PairMap {
 public:
  struct Entry {
    std::uint32_t rank = 0;
    TokenId id = 0;  ///< token of the merged pair
  };

  /// Makes room for `count` pairs; required before set().
  void reserve(std::size_t count) {
    slots_.assign(std::bit_ceil(2 * count + 1), {kFree, {}});
    mask_ = slots_.size() - 1;
  }
  /// A later entry of the same pair replaces the earlier one.
  void set(TokenId left, TokenId right, Entry entry) { slots_[slot_of(key(left, right))] = {key(left, right), entry}; }
  const Entry* find(TokenId left, TokenId right) const {
    const Slot& s = slots_[slot_of(key(left, right))];
    return s.key == kFree ? nullptr : &s.entry;
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key;
    Entry entry;
  };
  static std::uint64_t key(TokenId left, TokenId right) { return std::uint64_t{left} << 32 | right; }
  std::size_t slot_of(std::uint64_t k) const {
    std::uint64_t hash = k * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
    std::size_t slot = hash & mask_;
    while (slots_[slot].key != kFree && slots_[slot].key != k) slot = (slot + 1) & mask_;
    return slot;
  }
  std::vector<Slot> slots_ = {{kFree, {}}};
  std::size_t mask_ = 0;
};

}  // namespace tern::text
