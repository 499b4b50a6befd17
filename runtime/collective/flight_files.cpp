#include "runtime/collective/flight_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tern/error.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace tern {
namespace {

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

FlightFiles::~FlightFiles() {
  for (const Held& h : held_) close(h.descriptor);
}

bool FlightFiles::is_taken(const std::string& path) const {
  const int found = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (found < 0) return false;
  struct stat s {};
  const bool mine = fstat(found, &s) == 0 && std::ranges::any_of(held_, [&](const Held& h) {
                      return h.device == s.st_dev && h.number == s.st_ino;
                    });
  const bool taken = !mine && flock(found, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(found);
  return taken;
}

void FlightFiles::hold(int descriptor) {
  struct stat s {};
  fstat(descriptor, &s);
  if (held_.size() == kHeld) {
    close(held_.front().descriptor);
    held_.pop_front();
  }
  held_.push_back({descriptor, s.st_dev, s.st_ino});
}

std::string FlightFiles::write(const std::string& folder, int rank, std::string_view bytes) {
  mkdir(folder.c_str(), 0777);  // which may be there
  std::string path = fmt::format("{}/tern_flight_{}", folder, rank);
  if (is_taken(path)) {
    // torchfrtrace takes names with tern_flight_ in them, and those that end in digits.
    const std::string other = fmt::format("{}/flight-{}-of-process-{}.pickle", folder, rank, getpid());
    fmt::print(stderr,
               "tern: '{}' is the flight record of another running process; this one's is '{}'. Give processes of "
               "different groups folders of their own\n",
               path, other);
    path = other;
  }
  const std::string unfinished = fmt::format("{}.{}.part", path, getpid());
  const int file = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  // Where locks do not exist, nothing is held.
  if (file >= 0) flock(file, LOCK_EX | LOCK_NB);
  // It is not closed, which would tell other hosts of a file system of its bytes.
  if (file < 0 || !write_all(file, bytes) || fsync(file) != 0 || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    if (file >= 0) close(file);
    fail(ErrorCode::io, fmt::format("cannot write the flight record '{}'", path));
  }
  hold(file);
  return path;
}

}  // namespace tern
