// The files of flight records. A file stays locked as long as the process that wrote it runs, so that no other process
// of that rank, of another group, replaces it.
#pragma once

#include <sys/types.h>

#include <deque>
#include <string>
#include <string_view>

namespace tern {

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
  static constexpr std::size_t kHeld = 64;  ///< files; of more, the oldest ones are unlocked
  struct Held {
    int descriptor;
    dev_t device;
    ino_t number;
  };
  bool is_taken(const std::string& path) const;
  void hold(int descriptor);

  std::deque<Held> held_;
};

}  // namespace tern
