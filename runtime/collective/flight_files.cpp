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
FlightFiles::RenameResult FlightFiles::rename_unlocked(PendingFile& file, const platform::Folder& folder,
                                                       const std::string& name, const std::string& path) const {
  constexpr int kTurns = 100;  // attempts in a race with other processes
  const auto rename = [&] { return file.rename(name) ? RenameResult::renamed : RenameResult::failed; };
  const auto held = locked_files_.find(path);
  if (held != locked_files_.end() && is_at(held->second, folder, name)) return rename();
  for (int turn = 0; turn < kTurns; ++turn) {
    const platform::File found = open_to_lock(folder, name);
    if (!found.is_open()) {
      if (platform::is_symbolic_link(platform::last_error())) return rename();
      if (folder.link(file.name(), name)) return RenameResult::renamed;
      if (platform::is_existing(platform::last_error())) continue;
      return rename();  // the file system does not support links
    }
    if (found.lock() == platform::Lock::busy) return RenameResult::locked;
    if (is_at(found, folder, name)) return rename();
  }
  return rename();
}

void FlightFiles::retain_lock(const std::string& path, platform::File file) {
  if (locked_files_.size() < kMaxLockedFiles || locked_files_.contains(path)) locked_files_[path] = std::move(file);
}

std::string FlightFiles::write(const std::string& folder, int rank, std::string_view bytes) {
  platform::make_folder(folder);
  const std::string name = fmt::format("tern_flight_{}", rank);
  std::string path = fmt::format("{}/{}", folder, name);
  // Other users may write to the folder: symbolic links are not followed, and the folder stays open.
  const platform::Folder parent(folder);
  PendingFile file(parent, kUnfinished, bytes.size(), 0666);
  // sync() publishes the bytes to other hosts of a network file system; close() would too, but the lock needs an open
  // file.
  const bool complete = file.is_open() && file.write(std::as_bytes(std::span(bytes))) && file.sync();
  RenameResult result = complete ? rename_unlocked(file, parent, name, path) : RenameResult::failed;
  if (result == RenameResult::locked) {
    // torchfrtrace reads names containing tern_flight_ and names ending in digits.
    const std::string other_name = fmt::format("flight-{}-of-process-{}.pickle", rank, platform::process_number());
    const std::string other_path = fmt::format("{}/{}", folder, other_name);
    log_message(LogLevel::warning, fmt::format("'{}' is the flight record of another running process; this one's is "
                                               "'{}'. Give processes of different groups different folders",
                                               path, other_path));
    path = other_path;
    result = file.rename(other_name) ? RenameResult::renamed : RenameResult::failed;
  }
  if (result == RenameResult::failed) fail(ErrorCode::io, fmt::format("cannot write the flight record '{}'", path));
  retain_lock(path, file.release());
  return path;
}

}  // namespace tern
