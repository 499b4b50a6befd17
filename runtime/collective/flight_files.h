// Files of flight records. Each writing process locks its file until exit, to prevent replacement by processes of the
// same rank in other groups.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "platform/folder.h"

namespace tern {

class PendingFile;

/// Not thread-safe.
class FlightFiles {
 public:
  FlightFiles() = default;
  FlightFiles(const FlightFiles&) = delete;
  FlightFiles& operator=(const FlightFiles&) = delete;
  /// Writes FOLDER/tern_flight_RANK and returns the path. If a running process holds that file, writes a file named
  /// after this process's id instead and warns on standard error. Throws io.
  std::string write(const std::string& folder, int rank, std::string_view bytes);

 private:
  static constexpr std::size_t kMaxLockedFiles = 64;  ///< most locked files
  enum class RenameResult { renamed, locked, failed };
  /// Renames the temporary file to `name`, unless a running process holds `name`.
  RenameResult rename_unlocked(PendingFile& file, const platform::Folder& folder, const std::string& name,
                               const std::string& path) const;
  void retain_lock(const std::string& path, platform::File file);

  std::map<std::string, platform::File> locked_files_;  ///< by path
};

}  // namespace tern
