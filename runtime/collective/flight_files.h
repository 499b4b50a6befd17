// The files of flight records. A file stays locked as long as the process that wrote it runs, so that no other process
// of that rank, of another group, replaces it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace tern {

class PendingFile;

/// One thread at a time.
class FlightFiles {
 public:
  FlightFiles() = default;
  ~FlightFiles();
  FlightFiles(const FlightFiles&) = delete;
  FlightFiles& operator=(const FlightFiles&) = delete;
  /// Writes FOLDER/tern_flight_RANK, which it returns. If a running process holds that file, writes one whose name has
  /// this process's number, and says so on standard error. Throws io.
  std::string write(const std::string& folder, int rank, std::string_view bytes);

 private:
  static constexpr std::size_t kHeld = 64;  ///< files; more are not locked
  enum class Put { done, taken, failed };
  /// Gives a file the name `name`, instead of one that no running process holds.
  Put put(PendingFile& file, int folder, const std::string& name, const std::string& path) const;
  void hold(const std::string& path, int descriptor);

  std::map<std::string, int> held_;  ///< descriptors by path
};

}  // namespace tern
