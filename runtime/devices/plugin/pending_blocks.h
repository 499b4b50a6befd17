// Freed blocks of memory that pending work may still use.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <list>
#include <vector>

namespace tern {

class PluginDevice;
class PluginStream;

/// Events recorded on streams with pending work. The destructor destroys the events and waits for nothing.
class StreamMarks {
 public:
  explicit StreamMarks(PluginDevice& device) : device_(&device) {}
  ~StreamMarks();
  StreamMarks(StreamMarks&& other) noexcept;
  StreamMarks& operator=(StreamMarks&&) = delete;
  StreamMarks(const StreamMarks&) = delete;
  StreamMarks& operator=(const StreamMarks&) = delete;

  /// Records an event on the stream. False if the device refuses.
  bool add(tern_device_stream stream) noexcept;
  bool empty() const { return marks_.empty(); }
  /// Drops events that have happened. True if all have.
  bool happened() noexcept;
  /// Waits on the host.
  void wait() noexcept;
  /// True if all events are the stream's own.
  bool only(tern_device_stream stream) const;
  /// Makes the stream wait for the events of other streams, on the device. False if the device refuses.
  bool wait_on(tern_device_stream stream) noexcept;

 private:
  struct Mark {
    tern_device_stream stream;
    tern_device_event event;
  };
  void wait(const Mark& m) noexcept;
  PluginDevice* device_;
  std::vector<Mark> marks_;
};

/// Not thread-safe: the device holds a lock. Blocks count as used in the allocator.
class PendingBlocks {
 public:
  explicit PendingBlocks(PluginDevice& device) : device_(device) {}
  bool empty() const { return blocks_.empty(); }
  std::uint64_t bytes() const { return bytes_; }
  void swap(PendingBlocks& other) noexcept;

  void add(std::uint64_t address, std::uint64_t bytes, StreamMarks marks);
  /// Removes the blocks whose work has finished, and returns their addresses.
  std::vector<std::uint64_t> take_finished();
  /// Waits for all blocks, removes them and returns their addresses.
  std::vector<std::uint64_t> finish();
  /// Removes a block of `bytes` to 2 * `bytes` bytes that only this stream's work uses; 0 if there is none.
  std::uint64_t take_own(std::uint64_t bytes, const PluginStream& stream);
  /// Removes a block of at least `bytes` bytes and makes the stream wait for its work; 0 if there is none.
  std::uint64_t take_after_wait(std::uint64_t bytes, const PluginStream& stream);

 private:
  struct Block {
    std::uint64_t address, bytes;
    StreamMarks marks;
  };
  using Blocks = std::list<Block>;
  std::uint64_t remove_block(Blocks::iterator block);

  PluginDevice& device_;
  Blocks blocks_;
  std::uint64_t bytes_ = 0;
};

}  // namespace tern
