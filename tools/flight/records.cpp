#include "tools/flight/records.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <system_error>

#include "exporter/pt2/pickle_reader.h"
#include "schema/work.h"

namespace tern {
namespace {

namespace fs = std::filesystem;
using pt2::PickleValue;
using pt2::PickleValues;

using PickleValueKind = PickleValue::Kind;

constexpr std::size_t kMaxFlightBytes = std::size_t{64} << 20;
constexpr int kRecordsMostRank = 1 << 20;

/// Reads a record, and charges all values as work: a pickle may refer to a value many times.
class FlightRecordReader {
 public:
  FlightRecordReader(const PickleValues& values, const std::string& path) : values_(values), path_(path) {}

  FlightRecord parse_record() const {
    FlightRecord r;
    const PickleValue& root = require_kind(values_[values_.root], PickleValueKind::dict, "the record");
    const PickleValue& groups = member(root, "pg_config", PickleValueKind::dict);
    for (std::size_t i = 0; i + 1 < groups.items.size(); i += 2)
      r.groups[text(values_[groups.items[i]], "the name of a group")] =
          ranks(member(values_[groups.items[i + 1]], "ranks"));
    for (const pt2::PickleId id : member(root, "entries", PickleValueKind::list).items)
      r.calls.push_back(call(values_[id]));
    return r;
  }

 private:
  [[noreturn]] void bad(const std::string& problem) const {
    fail(ErrorCode::bad_file, fmt::format("'{}' is not a flight record: {}", path_, problem));
  }
  const PickleValue& require_kind(const PickleValue& v, PickleValueKind kind, std::string_view role) const {
    if (v.kind != kind) bad(fmt::format("{} is {}, not {}", role, name_of(v.kind), name_of(kind)));
    return v;
  }
  const PickleValue* find(const PickleValue& dict, std::string_view key) const {
    require_kind(dict, PickleValueKind::dict, "the parent of '" + std::string(key) + "'");
    charge_work(dict.items.size());
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      if (values_[dict.items[i]].text == key) return &values_[dict.items[i + 1]];
    }
    return nullptr;
  }
  const PickleValue& member(const PickleValue& dict, std::string_view key) const {
    const PickleValue* found = find(dict, key);
    if (found == nullptr) bad(fmt::format("'{}' is missing", key));
    return *found;
  }
  const PickleValue& member(const PickleValue& dict, std::string_view key, PickleValueKind kind) const {
    return require_kind(member(dict, key), kind, key);
  }
  std::string text(const PickleValue& v, std::string_view role) const {
    charge_work(require_kind(v, PickleValueKind::text, role).text.size());
    return std::string(v.text);
  }
  std::string text_member(const PickleValue& dict, std::string_view key) const { return text(member(dict, key), key); }
  std::int64_t integer(const PickleValue& v, std::string_view role) const {
    return require_kind(v, PickleValueKind::integer, role).integer;
  }
  const PickleValue& sequence(const PickleValue& v, std::string_view role) const {
    return v.kind == PickleValueKind::tuple ? v : require_kind(v, PickleValueKind::list, role);
  }
  /// The text "[0, 1]".
  std::vector<int> ranks(const PickleValue& v) const {
    std::string_view list = require_kind(v, PickleValueKind::text, "ranks").text;
    std::vector<int> result;
    for (;;) {
      const std::size_t digit = list.find_first_of("0123456789");
      if (digit == std::string_view::npos) return result;
      int n = 0;
      const auto [end, error] = std::from_chars(list.data() + digit, list.data() + list.size(), n);
      if (error != std::errc() || n > kRecordsMostRank)
        bad(fmt::format("a group has a rank above {}", kRecordsMostRank));
      charge_work(sizeof(int) + static_cast<std::size_t>(end - list.data()));
      result.push_back(n);
      list.remove_prefix(static_cast<std::size_t>(end - list.data()));
    }
  }
  /// Sizes of all tensors of a call.
  std::vector<std::int64_t> sizes(const PickleValue& entry, const char* key) const {
    std::vector<std::int64_t> all_sizes;
    for (const pt2::PickleId tensor : sequence(member(entry, key), key).items) {
      const PickleValue& numbers = sequence(values_[tensor], key);
      charge_work((1 + numbers.items.size()) * sizeof(std::int64_t));
      for (const pt2::PickleId n : numbers.items) all_sizes.push_back(integer(values_[n], key));
    }
    return all_sizes;
  }
  FlightCall call(const PickleValue& entry) const {
    charge_work(sizeof(FlightCall));
    FlightCall c;
    c.record = integer(member(entry, "record_id"), "record_id");
    const PickleValue* p2p = find(entry, "is_p2p");
    c.message = p2p != nullptr && require_kind(*p2p, PickleValueKind::boolean, "is_p2p").integer != 0;
    const char* const number = c.message ? "p2p_seq_id" : "collective_seq_id";
    c.number = integer(member(entry, number), number);
    const PickleValue& group = sequence(member(entry, "process_group"), "process_group");
    if (group.items.empty()) bad("a call has no group");
    c.group = text(values_[group.items[0]], "the group of a call");
    c.name = text_member(entry, "profiling_name");
    c.state = text_member(entry, "state");
    c.input_sizes = sizes(entry, "input_sizes");
    c.output_sizes = sizes(entry, "output_sizes");
    for (const pt2::PickleId t : sequence(member(entry, "input_dtypes"), "input_dtypes").items)
      c.types += (c.types.empty() ? "" : ", ") + text(values_[t], "input_dtypes");
    if (const PickleValue* frames = find(entry, "frames");
        frames != nullptr && !sequence(*frames, "frames").items.empty()) {
      const PickleValue& frame = values_[frames->items[0]];
      c.location = fmt::format("{}:{}", text_member(frame, "filename"), integer(member(frame, "line"), "line"));
    }
    return c;
  }

  const PickleValues& values_;
  const std::string& path_;
};

struct RecordFile {
  std::string path;
  int rank;
};

/// The rank at the end of a file's name; -1 without digits at the end.
int rank_in(const std::string& name, const std::string& path) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size()) return -1;
  int rank = 0;
  const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
  if (error != std::errc() || rank > kRecordsMostRank)
    fail(ErrorCode::bad_file,
         fmt::format("'{}' is not a flight record: its name ends in a rank above {}", path, kRecordsMostRank));
  return rank;
}

std::vector<RecordFile> record_files(const std::string& folder, std::uint64_t* bytes) {
  std::error_code failed, ignored;
  std::vector<RecordFile> files;
  for (fs::directory_iterator digit(folder, failed), end; !failed && digit != end; digit.increment(failed)) {
    // Skips dangling and circular links.
    if (!digit->is_regular_file(ignored)) continue;
    const std::string path = digit->path().string();
    const int rank = rank_in(digit->path().filename().string(), path);
    if (rank < 0) continue;
    const std::uintmax_t size = digit->file_size(ignored);
    if (size > kMaxFlightBytes)
      fail(ErrorCode::bad_file, fmt::format("'{}' is not a flight record: it has {} bytes; at most {} are supported",
                                            path, size, kMaxFlightBytes));
    *bytes += size;
    files.push_back({path, rank});
  }
  if (failed) fail(ErrorCode::io, fmt::format("cannot read the folder '{}': {}", folder, failed.message()));
  if (files.empty())
    fail(ErrorCode::invalid_argument,
         fmt::format("'{}' has no flight records: files whose names end in a rank, such as tern_flight_0", folder));
  std::ranges::sort(files, {}, &RecordFile::rank);
  return files;
}

FlightRecord read_record(const RecordFile& record_file) {
  std::ifstream file(record_file.path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  try {
    const PickleValues values = pt2::read_pickle(std::as_bytes(std::span(bytes)), record_file.path, 0, kMaxFlightBytes);
    FlightRecord r = FlightRecordReader(values, record_file.path).parse_record();
    r.path = record_file.path;
    r.rank = record_file.rank;
    return r;
  } catch (const WorkExceeded&) {
    fail(ErrorCode::bad_file,
         fmt::format("'{}' is not a flight record: its content is too large for its size", record_file.path));
  }
}

}  // namespace

std::vector<FlightRecord> read_flight_records(const std::string& folder) {
  std::uint64_t bytes = 0;
  const std::vector<RecordFile> files = record_files(folder, &bytes);
  const WorkBudget budget(work_of(bytes));
  std::vector<FlightRecord> records;
  for (const RecordFile& file : files) records.push_back(read_record(file));
  return records;
}

}  // namespace tern
