#include "runtime/devices/plugin/pending_blocks.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/devices/plugin/stream.h"

namespace tern {

StreamMarks::~StreamMarks() {
  for (const Mark& m : marks_) device_->plugin().event_destroy(device_->index(), m.event);
}

StreamMarks::StreamMarks(StreamMarks&& other) noexcept
    : device_(other.device_), marks_(std::exchange(other.marks_, {})) {}

bool StreamMarks::add(tern_device_stream stream) noexcept {
  const tern_device_plugin& plugin = device_->plugin();
  tern_device_event event = nullptr;
  if (plugin.event_create(device_->index(), &event) != TERN_DEVICE_OK) return false;
  marks_.push_back({stream, event});
  if (plugin.event_record(device_->index(), event, stream) == TERN_DEVICE_OK) return true;
  marks_.pop_back();
  plugin.event_destroy(device_->index(), event);
  return false;
}

bool StreamMarks::happened() noexcept {
  const tern_device_plugin& plugin = device_->plugin();
  std::erase_if(marks_, [&](const Mark& m) {
    std::int32_t happened = 0;
    // A failed query says nothing about the work, so the host waits.
    if (device_->tables().events->query(device_->index(), m.event, &happened) != TERN_DEVICE_OK) {
      wait(m);
      happened = 1;
    }
    if (happened != 0) plugin.event_destroy(device_->index(), m.event);
    return happened != 0;
  });
  return marks_.empty();
}

/// Tries twice: a broken device fails again, and its work has ended.
void StreamMarks::wait(const Mark& m) noexcept {
  const auto synchronize = device_->plugin().event_synchronize;
  if (synchronize(device_->index(), m.event) != TERN_DEVICE_OK) synchronize(device_->index(), m.event);
}

void StreamMarks::wait() noexcept {
  for (const Mark& m : marks_) wait(m);
}

bool StreamMarks::only(tern_device_stream stream) const {
  return std::ranges::all_of(marks_, [&](const Mark& m) { return m.stream == stream; });
}

bool StreamMarks::wait_on(tern_device_stream stream) noexcept {
  return std::ranges::all_of(marks_, [&](const Mark& m) {
    return m.stream == stream || device_->plugin().stream_wait(device_->index(), stream, m.event) == TERN_DEVICE_OK;
  });
}

void PendingBlocks::swap(PendingBlocks& other) noexcept {
  blocks_.swap(other.blocks_);
  std::swap(bytes_, other.bytes_);
}

void PendingBlocks::add(std::uint64_t address, std::uint64_t bytes, StreamMarks marks) {
  blocks_.push_back({address, bytes, std::move(marks)});
  bytes_ += bytes;
}

std::uint64_t PendingBlocks::remove_block(Blocks::iterator block) {
  const std::uint64_t address = block->address;
  bytes_ -= block->bytes;
  blocks_.erase(block);
  return address;
}

std::vector<std::uint64_t> PendingBlocks::take_finished() {
  std::vector<std::uint64_t> finished;
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    const auto next = std::next(block);
    if (block->marks.happened()) finished.push_back(remove_block(block));
    block = next;
  }
  return finished;
}

std::vector<std::uint64_t> PendingBlocks::finish() {
  std::vector<std::uint64_t> finished;
  while (!blocks_.empty()) {
    blocks_.front().marks.wait();
    finished.push_back(remove_block(blocks_.begin()));
  }
  return finished;
}

std::uint64_t PendingBlocks::take_own(std::uint64_t bytes, const PluginStream& stream) {
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
    if (block->bytes >= bytes && block->bytes / 2 <= bytes && block->marks.only(stream.handle()))
      return remove_block(block);
  return 0;
}

std::uint64_t PendingBlocks::take_after_wait(std::uint64_t bytes, const PluginStream& stream) {
  auto best = blocks_.end();
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
    if (block->bytes >= bytes && (best == blocks_.end() || block->bytes < best->bytes)) best = block;
  return best != blocks_.end() && best->marks.wait_on(stream.handle()) ? remove_block(best) : 0;
}

}  // namespace tern
