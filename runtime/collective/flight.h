// The flight recorder keeps the last calls of all groups of this process in memory of fixed size and writes them as a
// pickle file in the format of torch.distributed's recorders (read by torchfrtrace).
#pragma once

#include <tern/collective.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/collective/flight_files.h"

namespace tern {

class FlightRecorder {
 public:
  static constexpr std::size_t kMaxRecords = 2048;
  static constexpr std::string_view kInProcess = "local";  ///< engine name of groups of threads

  static FlightRecorder& process();
  /// `is_in_process`: the ranks are threads of this process with one record each.
  void add_group(const std::string& name, int size, int rank, bool is_in_process);
  struct GroupMember {
    std::string_view engine;  ///< engine of the call
    std::string_view group;
    int rank, ranks;
    bool is_in_process;
  };
  /// Returns the record's number for `start` and `complete`.
  std::uint64_t schedule(const GroupMember& member, const Collective& call, std::uint64_t number);
  void start(std::uint64_t record);
  void complete(std::uint64_t record);

  void set_folder(const std::string& folder);
  /// Writes the record if a folder is known. `rank`: a rank of a group of threads; negative: the process's rank.
  void write_on_failure(int rank) noexcept;
  std::string write(const std::string& folder, int rank);

 private:
  using Clock = std::chrono::system_clock;
  enum class State : std::uint8_t { scheduled, started, completed };
  struct Entry {
    std::uint64_t record = 0;  ///< number in the recorder, from schedule()
    std::uint64_t number = 0;  ///< sequence number of the call in its group
    State state = State::scheduled;
    CollectiveKind kind{};
    ReduceOp reduce{};
    DType dtype{};
    std::int64_t in = 0, out = 0;  ///< element counts
    int rank = 0, ranks = 0, root = 0;
    bool is_in_process = false;
    std::array<char, 16> engine{};
    std::array<char, 48> group{};
    std::array<char, 160> where{};  ///< position in the model's Python source
    Clock::time_point created, started, completed;
  };
  FlightRecorder();
  Entry* find(std::uint64_t record);
  std::string pickle_bytes(int rank) const;

  std::mutex files_mutex_;  ///< guards files_
  FlightFiles files_;
  mutable std::mutex mutex_;  ///< guards the members below
  std::vector<Entry> ring_;
  std::uint64_t record_count_ = 0;
  std::map<std::string, int> groups_;
  std::string folder_;
  int rank_ = 0;                ///< this process's rank: the launcher's, else the rank in the largest group
  int largest_group_size_ = 0;  ///< size of that group; 0 before the first group
};

}  // namespace tern
