#include "platform/posix/pipe.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace tern::platform {

bool read_pipe(int end, std::chrono::steady_clock::time_point deadline,
               const std::function<void(std::string_view)>& consume) {
  using std::chrono::milliseconds;
  char piece[4096];
  while (true) {
    const auto rest = std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd ready{end, POLLIN, 0};
    const int polled = ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(rest, 0, 1'000'000)));
    if (polled < 0 && errno == EINTR) continue;
    if (polled == 0 && rest <= 0) return false;
    if (polled == 0) continue;
    const ssize_t count = ::read(end, piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    consume({piece, static_cast<std::size_t>(count)});
  }
}

}  // namespace tern::platform
