// Messages of one call: sent and received together, then waited for one by one until the call's deadline.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "runtime/collective/transport.h"

namespace tern {

/// Thrown by a wait after its deadline.
struct WaitedTooLong {
  int peer;
};

class Messages {
 public:
  using Number = std::size_t;

  explicit Messages(Transport& transport) : transport_(transport) {}
  void begin(std::uint64_t tag, std::chrono::steady_clock::time_point end);
  void retag(std::uint64_t tag) { tag_ = tag; }
  /// `step` distinguishes the messages from one rank to another during a call. Empty messages are not sent.
  Number send(int peer, std::uint32_t step, const void* data, std::size_t bytes);
  Number receive(int peer, std::uint32_t step, void* data, std::size_t bytes);
  void wait(Number message);
  void wait_all();

 private:
  struct Item {
    Transport::Request request;
    int peer;
  };
  std::uint64_t tag_of(std::uint32_t step, std::size_t bytes) const;
  Transport& transport_;
  std::vector<Item> items_;
  std::uint64_t tag_ = 0;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace tern
