#include "runtime/collective/messages.h"

#include <algorithm>

namespace tern {

using std::chrono::milliseconds;

void Messages::begin(std::uint64_t tag, std::chrono::steady_clock::time_point end) {
  items_.clear();
  tag_ = tag;
  end_ = end;
}

/// Includes the size in the tag: engines do not check that sizes match.
std::uint64_t Messages::tag_of(std::uint32_t step, std::size_t bytes) const {
  std::uint64_t tag = (tag_ ^ step) * 0x9e3779b97f4a7c15;
  tag = (tag ^ tag >> 31 ^ bytes) * 0xbf58476d1ce4e5b9;
  return tag ^ tag >> 29;
}

Messages::Number Messages::send(int peer, std::uint32_t step, const void* data, std::size_t bytes) {
  items_.push_back({bytes == 0 ? nullptr : transport_.send(peer, tag_of(step, bytes), data, bytes), peer});
  return items_.size() - 1;
}

Messages::Number Messages::receive(int peer, std::uint32_t step, void* data, std::size_t bytes) {
  items_.push_back({bytes == 0 ? nullptr : transport_.receive(peer, tag_of(step, bytes), data, bytes), peer});
  return items_.size() - 1;
}

void Messages::wait(Number message) {
  Item& item = items_[message];
  if (item.request == nullptr) return;
  const auto remaining = std::chrono::ceil<milliseconds>(end_ - std::chrono::steady_clock::now());
  Transport::Request const request = item.request;
  item.request = nullptr;
  if (!transport_.wait(request, std::max(remaining, milliseconds(1)))) throw WaitedTooLong{item.peer};
}

void Messages::wait_all() {
  for (Number i = 0; i < items_.size(); ++i) wait(i);
}

}  // namespace tern
