// Assigns slots to requests, so that a prompt finds most of its tokens in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tern {

/// The tokens whose keys and values each slot holds, whether a request uses the slot or not.
class SlotTable {
 public:
  explicit SlotTable(std::int64_t count) : slots_(static_cast<std::size_t>(count)) {}

  /// Slot and number of the first tokens of a prompt in its cache.
  struct Prefix {
    std::int64_t slot = 0, size = 0;
  };
  /// Takes a free slot for a prompt: one that holds most of its tokens, or the longest unused one. The prefix is the
  /// part that the slot holds already. Empty if no slot is free.
  std::optional<Prefix> acquire(std::span<const std::int64_t> prompt);
  /// The longest prefix in any slot.
  Prefix find(std::span<const std::int64_t> prompt) const;
  /// The slot holds these tokens from now on: a prefix of the sequence in the slot.
  void set_tokens(std::int64_t slot, std::span<const std::int64_t> tokens);
  /// Adds tokens behind those of the slot.
  void add_tokens(std::int64_t slot, std::span<const std::int64_t> tokens);
  /// Frees the slot. Its tokens stay for later requests.
  void free(std::int64_t slot);
  std::int64_t size() const { return static_cast<std::int64_t>(slots_.size()); }

 private:
  struct Slot {
    std::vector<std::int64_t> tokens;
    bool is_taken = false;
    std::uint64_t used = 0;  ///< a later use has a higher number
  };
  std::vector<Slot> slots_;
  std::uint64_t use_count_ = 0;
};

}  // namespace tern
