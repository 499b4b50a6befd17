#include "generation/slot_table.h"

#include <algorithm>

namespace tern {
namespace {

std::int64_t common_size(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace

std::optional<SlotTable::Prefix> SlotTable::acquire(std::span<const std::int64_t> prompt) {
  std::optional<Prefix> own, oldest;
  for (std::int64_t i = 0; i < size(); ++i) {
    const Slot& slot = slots_[static_cast<std::size_t>(i)];
    if (slot.is_taken) continue;
    const std::int64_t common = common_size(prompt, slot.tokens);
    // The new request drops the slot's other tokens, so the common ones must be most of them.
    if (common * 2 > static_cast<std::int64_t>(slot.tokens.size()) && (!own || common > own->size)) own = {i, common};
    if (!oldest || slot.used < slots_[static_cast<std::size_t>(oldest->slot)].used) oldest = {i, common};
  }
  const std::optional<Prefix> chosen = own ? own : oldest;
  if (!chosen) return {};
  Slot& slot = slots_[static_cast<std::size_t>(chosen->slot)];
  slot.is_taken = true;
  slot.used = ++use_count_;
  slot.tokens.resize(static_cast<std::size_t>(chosen->size));
  return chosen;
}

SlotTable::Prefix SlotTable::find(std::span<const std::int64_t> prompt) const {
  Prefix longest;
  for (std::int64_t i = 0; i < size(); ++i) {
    const std::int64_t common = common_size(prompt, slots_[static_cast<std::size_t>(i)].tokens);
    if (common > longest.size) longest = {i, common};
  }
  return longest;
}

void SlotTable::set_tokens(std::int64_t slot, std::span<const std::int64_t> tokens) {
  slots_[static_cast<std::size_t>(slot)].tokens.assign(tokens.begin(), tokens.end());
}

void SlotTable::add_tokens(std::int64_t slot, std::span<const std::int64_t> tokens) {
  std::vector<std::int64_t>& own = slots_[static_cast<std::size_t>(slot)].tokens;
  own.insert(own.end(), tokens.begin(), tokens.end());
}

void SlotTable::free(std::int64_t slot) {
  Slot& s = slots_[static_cast<std::size_t>(slot)];
  s.is_taken = false;
  s.used = ++use_count_;
}

}  // namespace tern
