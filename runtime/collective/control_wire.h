// Wire format of the connections of runtime/collective/control.h: a header, then a body of `bytes` bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/collective/socket.h"

namespace tern::control {

enum class What : std::uint8_t {
  hello = 1,  ///< first message of a rank; body: the group's size
  ready,      ///< all are here
  put,        ///< body: a key, a zero, the value
  get,        ///< a key; the answer is `value`
  value,
  status,   ///< current call of a rank after a while; body: Status and a string
  leave,    ///< a rank leaves after `done` calls; rank 0 forwards its own departure to all ranks
  failure,  ///< body: the reason; the group has ended
  bye       ///< answer to rank 0's leave, sent after all calls made by rank 0 have finished
};

struct Header {
  std::uint32_t magic = kMagic;
  What what = What::hello;
  std::uint8_t reserved[3] = {};
  std::int32_t rank = 0;
  std::uint32_t bytes = 0;                             ///< size of the body
  static constexpr std::uint32_t kMagic = 0x324e5254;  // "TRN2" in little-endian byte order
};
static_assert(sizeof(Header) == 16);
constexpr std::uint32_t kLongest = 1 << 16;

struct Message {
  Header header;
  std::vector<std::byte> body;
  std::string text() const { return {reinterpret_cast<const char*>(body.data()), body.size()}; }
};

inline void send(const Socket& to, What what, int rank, std::span<const std::byte> body, Deadline end) {
  Header h;
  h.what = what;
  h.rank = rank;
  h.bytes = static_cast<std::uint32_t>(body.size());
  std::vector<std::byte> all(sizeof h + body.size());
  std::copy_n(reinterpret_cast<const std::byte*>(&h), sizeof h, all.begin());
  std::copy(body.begin(), body.end(), all.begin() + sizeof h);
  to.send(all, end);
}

/// Fails (io) if the bytes hold no message.
Message receive(const Socket& from, Deadline end);

}  // namespace tern::control
