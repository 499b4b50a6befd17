// Flight records of ranks, read back: the files of tern::write_flight_record, or of torch.distributed's recorders.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tern {

struct FlightCall {
  std::int64_t record = 0, number = 0;  ///< number: collective_seq_id, or p2p_seq_id of a message
  bool message = false;
  std::string group, name, state, location;             ///< name: "gloo:all_reduce"; location: "model.py:12"
  std::vector<std::int64_t> input_sizes, output_sizes;  ///< elements, or sizes
  std::string types;
};

struct FlightRecord {
  std::string path;
  int rank = 0;
  std::map<std::string, std::vector<int>> groups;  ///< the ranks of each
  std::vector<FlightCall> calls;
};

/// All files of the folder with names ending in a rank's number. Throws Error for a folder without records and for
/// damaged files.
std::vector<FlightRecord> read_flight_records(const std::string& folder);

}  // namespace tern
