// How bytes get from rank to rank: what a group needs of an engine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tern {

/// One thread sends, receives and waits at a time; any thread may interrupt.
class Transport {
 public:
  using Request = void*;
  virtual ~Transport() = default;
  /// Messages of one pair of ranks meet by their tags; those of one tag keep their order. Memory stays until the
  /// request has been waited for, or the transport is gone. All throw tern::Error where the peer cannot be reached.
  virtual Request send(int peer, std::uint64_t tag, const void* data, std::size_t bytes) = 0;
  virtual Request receive(int peer, std::uint64_t tag, void* data, std::size_t bytes) = 0;
  /// Ends the request. False: it was not done in time, and the transport cannot be used any more.
  virtual bool wait(Request request, std::chrono::milliseconds timeout) = 0;
  /// Pending and later calls throw.
  virtual void interrupt() noexcept = 0;
  virtual bool interrupted() const noexcept { return false; }
  /// Memory of each rank that all of them read, SharedSums::kBytes of zeros at first; empty where the ranks have none.
  virtual std::span<std::byte* const> shared() const { return {}; }
  /// After a failure: when it returns, nothing reads or writes the memory of requests.
  virtual void close() noexcept = 0;
};

}  // namespace tern
