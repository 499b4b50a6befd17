#include "runtime/collective/flight_files.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <span>
#include <utility>

#include "platform/error.h"
#include "platform/machine.h"
#include "runtime/log.h"
#include "user_files/pending_file.h"

namespace tern {
namespace {

constexpr std::string_view kUnfinished = ".flight.part";

bool is_at(const platform::File& file, const platform::Folder& folder, const std::string& name) {
  const auto a = file.info(), b = folder.info_of(name);
  return a && b && a->volume == b->volume && a->number == b->number;
}

/// Opens for writing if possible: NFS locks need write access, but another user's file may be read-only. Symbolic links
/// have no lock and are replaced.
platform::File open_to_lock(const platform::Folder& folder, const std::string& name) {
  platform::File found = folder.open_file(name, platform::Access::write);
  const int error = platform::last_error();
  if (found.is_open() || platform::is_missing(error) || platform::is_symbolic_link(error)) return found;
  return folder.open_file(name);
}

}  // namespace

// Other processes may do the same at the same time, for example after a signal sent to all of them.
FlightFiles::Put FlightFiles::put(PendingFile& file, const platform::Folder& folder, const std::string& name,
                                  const std::string& path) const {
  constexpr int kTurns = 100;  // attempts in a race with other processes
  const auto rename = [&] { return file.rename(name) ? Put::done : Put::failed; };
  const auto held = held_.find(path);
  if (held != held_.end() && is_at(held->second, folder, name)) return rename();
  for (int turn = 0; turn < kTurns; ++turn) {
    const platform::File found = open_to_lock(folder, name);
    if (!found.is_open()) {
      if (platform::is_symbolic_link(platform::last_error())) return rename();
      if (folder.link(file.name(), name)) return Put::done;
      if (platform::is_existing(platform::last_error())) continue;
      return rename();  // the file system does not support links
    }
    if (found.lock() == platform::Lock::held) return Put::taken;
    if (is_at(found, folder, name)) return rename();
  }
  return rename();
}

void FlightFiles::hold(const std::string& path, platform::File file) {
  if (held_.size() < kHeld || held_.contains(path)) held_[path] = std::move(file);
}

std::string FlightFiles::write(const std::string& folder, int rank, std::string_view bytes) {
  platform::make_folder(folder);
  const std::string name = fmt::format("tern_flight_{}", rank);
  std::string path = fmt::format("{}/{}", folder, name);
  // Other users may write to the folder: symbolic links are not followed, and the folder stays open.
  const platform::Folder there(folder);
  PendingFile file(there, kUnfinished, bytes.size(), 0666);
  // sync() publishes the bytes to other hosts of a network file system; close() would too, but the lock needs an open
  // file.
  const bool complete = file.is_open() && file.write(std::as_bytes(std::span(bytes))) && file.sync();
  Put done = complete ? put(file, there, name, path) : Put::failed;
  if (done == Put::taken) {
    // torchfrtrace reads names containing tern_flight_ and names ending in digits.
    const std::string other = fmt::format("flight-{}-of-process-{}.pickle", rank, platform::process_number());
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
