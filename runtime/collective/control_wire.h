// Wire format of the connections of runtime/collective/control.h: a header, then a body of `bytes` bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/collective/socket.h"

namespace tern::control {

enum class MessageKind : std::uint8_t {
  hello = 1,   ///< first message of a rank; body: the group's size
  all_joined,  ///< all are here
  set_value,   ///< body: a key, a zero, the value
  get_value,   ///< a key; the answer is `value`
  value,
  status,   ///< current call of a rank after a while; body: Status and a string
  leave,    ///< a rank leaves after `finished_calls` calls; rank 0 forwards its own departure to all ranks
  failure,  ///< body: the reason; the group has ended
  bye       ///< answer to rank 0's leave, sent after all calls made by rank 0 have finished
};

struct Header {
  std::uint32_t magic = kMagic;
  MessageKind kind = MessageKind::hello;
  std::uint8_t reserved[3] = {};
  std::int32_t rank = 0;
  std::uint32_t bytes = 0;                             ///< size of the body
  static constexpr std::uint32_t kMagic = 0x324e5254;  // "TRN2" in little-endian byte order
};
static_assert(sizeof(Header) == 16);
constexpr std::uint32_t kMaxBodyBytes = 1 << 16;

struct Message {
  Header header;
  std::vector<std::byte> body;
  std::string text() const { return {reinterpret_cast<const char*>(body.data()), body.size()}; }
};

inline void send(const Socket& to, MessageKind kind, int rank, std::span<const std::byte> body, Deadline end) {
  Header h;
  h.kind = kind;
  h.rank = rank;
  h.bytes = static_cast<std::uint32_t>(body.size());
  std::vector<std::byte> bytes(sizeof h + body.size());
  std::copy_n(reinterpret_cast<const std::byte*>(&h), sizeof h, bytes.begin());
  std::copy(body.begin(), body.end(), bytes.begin() + sizeof h);
  to.send(bytes, end);
}

/// Fails (io) if the bytes hold no message.
Message receive(const Socket& from, Deadline end);

}  // namespace tern::control
