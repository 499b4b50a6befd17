#include "tools/flight/records.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "exporter/pt2/pickle_reader.h"

namespace tern {
namespace {

namespace fs = std::filesystem;
using pt2::PickleValue;
using pt2::PickleValues;

class Reader {
 public:
  Reader(const PickleValues& values, const std::string& path) : values_(values), path_(path) {}

  FlightRecord read() {
    FlightRecord r;
    const PickleValue& root = values_[values_.root];
    const PickleValue& groups = member(root, "pg_config");
    for (std::size_t i = 0; i + 1 < groups.items.size(); i += 2)
      r.groups[std::string(values_[groups.items[i]].text)] = ranks(text(member(values_[groups.items[i + 1]], "ranks")));
    for (const pt2::PickleId id : member(root, "entries").items) r.calls.push_back(call(values_[id]));
    return r;
  }

 private:
  [[noreturn]] void bad(const std::string& what) const {
    fail(ErrorCode::bad_file, fmt::format("'{}' is no flight record: {}", path_, what));
  }
  const PickleValue* find(const PickleValue& dict, std::string_view key) const {
    if (dict.kind != PickleValue::Kind::dict) bad("a dictionary is missing");
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
  static std::string text(const PickleValue& v) { return std::string(v.text); }
  static std::vector<int> ranks(std::string_view list) {
    std::vector<int> result;
    while (!list.empty()) {
      const std::size_t at = list.find_first_of("0123456789");
      if (at == std::string_view::npos) break;
      int n = 0;
      const auto [end, error] = std::from_chars(list.data() + at, list.data() + list.size(), n);
      if (error != std::errc()) break;
      result.push_back(n);
      list.remove_prefix(static_cast<std::size_t>(end - list.data()));
    }
    return result;
  }
  /// Of all tensors of a call.
  std::vector<std::int64_t> sizes(const PickleValue& list) const {
    std::vector<std::int64_t> all;
    for (const pt2::PickleId tensor : list.items) {
      for (const pt2::PickleId n : values_[tensor].items) all.push_back(values_[n].integer);
    }
    return all;
  }
  FlightCall call(const PickleValue& entry) const {
    FlightCall c;
    c.record = member(entry, "record_id").integer;
    const PickleValue* p2p = find(entry, "is_p2p");
    c.message = p2p != nullptr && p2p->integer != 0;
    c.number = member(entry, c.message ? "p2p_seq_id" : "collective_seq_id").integer;
    const PickleValue& group = member(entry, "process_group");
    if (group.items.empty()) bad("a call has no group");
    c.group = text(values_[group.items[0]]);
    c.name = text(member(entry, "profiling_name"));
    c.state = text(member(entry, "state"));
    c.in = sizes(member(entry, "input_sizes"));
    c.out = sizes(member(entry, "output_sizes"));
    for (const pt2::PickleId t : member(entry, "input_dtypes").items)
      c.types += (c.types.empty() ? "" : ", ") + text(values_[t]);
    if (const PickleValue* frames = find(entry, "frames"); frames != nullptr && !frames->items.empty()) {
      const PickleValue& frame = values_[frames->items[0]];
      c.place = fmt::format("{}:{}", member(frame, "filename").text, member(frame, "line").integer);
    }
    return c;
  }

  const PickleValues& values_;
  const std::string& path_;
};

}  // namespace

std::vector<FlightRecord> read_flight_records(const std::string& folder) {
  std::error_code failed;
  std::vector<FlightRecord> records;
  for (const fs::directory_entry& e : fs::directory_iterator(folder, failed)) {
    const std::string name = e.path().filename().string();
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    if (digits == name.size() || !e.is_regular_file()) continue;
    const std::string path = e.path().string();
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    constexpr std::size_t kMost = std::size_t{64} << 20;
    const PickleValues values = pt2::read_pickle(std::as_bytes(std::span(bytes)), path, 0, kMost);
    FlightRecord r = Reader(values, path).read();
    r.path = path;
    std::from_chars(name.data() + digits, name.data() + name.size(), r.rank);
    records.push_back(std::move(r));
  }
  if (failed) fail(ErrorCode::io, fmt::format("cannot read the folder '{}': {}", folder, failed.message()));
  if (records.empty())
    fail(ErrorCode::invalid_argument,
         fmt::format("'{}' has no flight records: files whose names end in a rank, such as tern_flight_0", folder));
  std::ranges::sort(records, {}, &FlightRecord::rank);
  return records;
}

}  // namespace tern
