// What goes over the connections of runtime/collective/control.h: a header, and a body of so many bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/collective/socket.h"

namespace tern::control {

enum class What : std::uint8_t {
  hello = 1,  ///< a rank's first; the body is the size of its group
  ready,      ///< all are here
  put,        ///< a key, a zero, and its value
  get,        ///< a key; the answer is `value`
  value,
  status,   ///< the call that a rank has been in for a while: a Status and a text
  leave,    ///< a rank has done so many calls and goes; from rank 0 to all: what hears them goes
  failure,  ///< a text: the group is over
  bye       ///< the answer to rank 0's leave, of a rank that has finished all calls that rank 0 has
};

struct Header {
  std::uint32_t magic = kMagic;
  What what = What::hello;
  std::uint8_t reserved[3] = {};
  std::int32_t rank = 0;
  std::uint32_t bytes = 0;                             ///< of the body
  static constexpr std::uint32_t kMagic = 0x324e5254;  // "TRN2" where the lowest byte comes first
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

/// Fails (io) where it is none.
Message receive(const Socket& from, Deadline end);

}  // namespace tern::control
