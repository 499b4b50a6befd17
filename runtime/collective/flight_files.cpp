#include "runtime/collective/flight_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tern/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "runtime/log.h"

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

bool is_at(int descriptor, const std::string& path) {
  struct stat a {
  }, b{};
  return fstat(descriptor, &a) == 0 && stat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// NFS locks only what may be written, which another user's file may not.
int open_to_lock(const std::string& path) {
  const int found = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  return found >= 0 || errno == ENOENT ? found : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

}  // namespace

FlightFiles::~FlightFiles() {
  for (const auto& [path, descriptor] : held_) close(descriptor);
}

// Other processes may do this at the same time, as at a signal that all of them get.
FlightFiles::Put FlightFiles::put(const std::string& unfinished, const std::string& path) const {
  constexpr int kTurns = 100;  // in which others have come between
  const auto rename = [&] { return std::rename(unfinished.c_str(), path.c_str()) == 0 ? Put::done : Put::failed; };
  const auto held = held_.find(path);
  if (held != held_.end() && is_at(held->second, path)) return rename();
  for (int turn = 0; turn < kTurns; ++turn) {
    const int found = open_to_lock(path);
    if (found < 0) {
      if (link(unfinished.c_str(), path.c_str()) == 0) return unlink(unfinished.c_str()), Put::done;
      if (errno == EEXIST) continue;
      return rename();  // a file system without links
    }
    const bool taken = flock(found, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const bool still = is_at(found, path);
    const Put put = taken ? Put::taken : still ? rename() : Put::failed;
    close(found);
    if (taken || still) return put;
  }
  return rename();
}

void FlightFiles::hold(const std::string& path, int descriptor) {
  const auto before = held_.find(path);
  if (before != held_.end()) {
    close(std::exchange(before->second, descriptor));
  } else if (held_.size() < kHeld) {
    held_[path] = descriptor;
  } else {
    close(descriptor);
  }
}

std::string FlightFiles::write(const std::string& folder, int rank, std::string_view bytes) {
  mkdir(folder.c_str(), 0777);  // which may be there
  std::string path = fmt::format("{}/tern_flight_{}", folder, rank);
  const std::string unfinished = fmt::format("{}.{}.part", path, getpid());
  const int file = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  // Where locks do not exist, nothing is held.
  if (file >= 0) flock(file, LOCK_EX | LOCK_NB);
  // It is not closed, which would tell other hosts of a file system of its bytes.
  const bool complete = file >= 0 && write_all(file, bytes) && fsync(file) == 0;
  Put done = complete ? put(unfinished, path) : Put::failed;
  if (done == Put::taken) {
    // torchfrtrace takes names with tern_flight_ in them, and those that end in digits.
    const std::string other = fmt::format("{}/flight-{}-of-process-{}.pickle", folder, rank, getpid());
    log_message(LogLevel::warning,
                fmt::format("'{}' is the flight record of another running process; this one's is '{}'. Give processes "
                            "of different groups folders of their own",
                            path, other));
    path = other;
    done = std::rename(unfinished.c_str(), path.c_str()) == 0 ? Put::done : Put::failed;
  }
  if (done == Put::failed) {
    if (file >= 0) {
      close(file);
      unlink(unfinished.c_str());
    }
    fail(ErrorCode::io, fmt::format("cannot write the flight record '{}'", path));
  }
  hold(path, file);
  return path;
}

}  // namespace tern
