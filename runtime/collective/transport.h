// Message passing between ranks: the interface between groups and engines.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tern {

/// External synchronisation: a single thread sends, receives and waits at a time; any thread may interrupt.
class Transport {
 public:
  using Request = void*;
  virtual ~Transport() = default;
  /// Messages of a pair of ranks match by tag; messages of equal tag keep their order. Memory stays valid until the
  /// wait for the request, or until the transport's destruction. All functions throw tern::Error if the peer is
  /// unreachable.
  virtual Request send(int peer, std::uint64_t tag, const void* data, std::size_t bytes) = 0;
  virtual Request receive(int peer, std::uint64_t tag, void* data, std::size_t bytes) = 0;
  /// Completes the request. Returns false after a timeout; the transport is then unusable.
  virtual bool wait(Request request, std::chrono::milliseconds timeout) = 0;
  /// Pending and later calls throw.
  virtual void interrupt() noexcept = 0;
  virtual bool interrupted() const noexcept { return false; }
  /// Memory of each rank, readable by all ranks: SharedSums::kBytes of zeros at first; empty without shared memory.
  virtual std::span<std::byte* const> shared() const { return {}; }
  /// Closes after a failure: afterwards nothing reads or writes the memory of requests.
  virtual void close() noexcept = 0;
};

}  // namespace tern
