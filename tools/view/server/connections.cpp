#include "tools/view/server/connections.h"

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>

namespace tern::view {
namespace {

/// The client's port, where this is a connection to the server at `port`; else -1. The socket that listens has no peer.
int client_of(int descriptor, int port) {
  sockaddr_in own{}, peer{};
  socklen_t size = sizeof own, peer_size = sizeof peer;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0 || own.sin_family != AF_INET ||
      ntohs(own.sin_port) != port || ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0)
    return -1;
  return ntohs(peer.sin_port);
}

}  // namespace

void Connections::keep(int client) {
  const std::lock_guard lock(mutex_);
  kept_[client] = Clock::now();
}

// cpp-httplib shows its connections to nobody, and limits only the time between two bytes.
void Connections::end_old() {
  const Clock::time_point now = Clock::now();
  std::map<ino_t, Clock::time_point> seen;
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const auto& k) { return now - k.second > 2 * kAnswers; });
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename().string();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    struct stat s {};
    if (descriptor < 0 || ::fstat(descriptor, &s) != 0 || !S_ISSOCK(s.st_mode)) continue;
    const int client = client_of(descriptor, port_);
    if (client < 0) continue;
    const auto before = since_.find(s.st_ino);
    // A request that waits for a thread is not late: a thread takes at once what has come.
    int unread = 0;
    const bool queued = ::ioctl(descriptor, FIONREAD, &unread) == 0 && unread > 0;
    const Clock::time_point begin = before == since_.end() || queued ? now : before->second;
    seen[s.st_ino] = begin;
    const auto kept = kept_.find(client);
    // An older connection may have had the client's port.
    const bool asked = kept != kept_.end() && kept->second >= begin - kRequests;
    if (now - (asked ? kept->second : begin) >= (asked ? kAnswers : kRequests)) ::shutdown(descriptor, SHUT_RDWR);
  }
  since_ = std::move(seen);
}

}  // namespace tern::view
