#include "runtime/collective/flight_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tern/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>
#include <utility>

#include "runtime/log.h"
#include "user_files/pending_file.h"

namespace tern {
namespace {

constexpr std::string_view kUnfinished = ".flight.part";

bool is_at(int descriptor, int folder, const std::string& name) {
  struct stat a {
  }, b{};
  return fstat(descriptor, &a) == 0 && fstatat(folder, name.c_str(), &b, AT_SYMLINK_NOFOLLOW) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Opens for writing if possible: NFS locks need write access, but another user's file may be read-only. Symbolic links
/// have no lock and are replaced.
int open_to_lock(int folder, const std::string& name) {
  constexpr int kFlags = O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY;
  const int found = openat(folder, name.c_str(), O_RDWR | kFlags);
  return found >= 0 || errno == ENOENT || errno == ELOOP ? found : openat(folder, name.c_str(), O_RDONLY | kFlags);
}

}  // namespace

FlightFiles::~FlightFiles() {
  for (const auto& [path, descriptor] : held_) close(descriptor);
}

// Other processes may do the same at the same time, for example after a signal sent to all of them.
FlightFiles::Put FlightFiles::put(PendingFile& file, int folder, const std::string& name,
                                  const std::string& path) const {
  constexpr int kTurns = 100;  // attempts in a race with other processes
  const auto rename = [&] { return file.rename(name) ? Put::done : Put::failed; };
  const auto held = held_.find(path);
  if (held != held_.end() && is_at(held->second, folder, name)) return rename();
  for (int turn = 0; turn < kTurns; ++turn) {
    const int found = open_to_lock(folder, name);
    if (found < 0) {
      if (errno == ELOOP) return rename();
      if (linkat(folder, file.name().c_str(), folder, name.c_str(), 0) == 0) return Put::done;
      if (errno == EEXIST) continue;
      return rename();  // the file system does not support links
    }
    const bool taken = flock(found, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const bool still = is_at(found, folder, name);
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
  mkdir(folder.c_str(), 0777);  // the folder may exist already
  const std::string name = fmt::format("tern_flight_{}", rank);
  std::string path = fmt::format("{}/{}", folder, name);
  // Other users may write to the folder: symbolic links are not followed, and the folder's descriptor stays open.
  const FileDescriptor there(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  PendingFile file(there.number(), kUnfinished, bytes.size(), 0666);
  // fsync() publishes the bytes to other hosts of a network file system; close() would too, but the lock needs an open
  // file.
  const bool complete = file.is_open() && file.write(std::as_bytes(std::span(bytes))) && fsync(file.descriptor()) == 0;
  Put done = complete ? put(file, there.number(), name, path) : Put::failed;
  if (done == Put::taken) {
    // torchfrtrace reads names containing tern_flight_ and names ending in digits.
    const std::string other = fmt::format("flight-{}-of-process-{}.pickle", rank, getpid());
    const std::string other_path = fmt::format("{}/{}", folder, other);
    log_message(LogLevel::warning, fmt::format("'{}' is the flight record of another running process; this one's is "
                                               "'{}'. Give processes of different groups different folders",
                                               path, other_path));
    path = other_path;
    done = file.rename(other) ? Put::done : Put::failed;
  }
  if (done == Put::failed) fail(ErrorCode::io, fmt::format("cannot write the flight record '{}'", path));
  hold(path, file.release());
  return path;
}

}  // namespace tern
