// Untrusted flight records: any other file quickly gives a clear error.
#include "tools/flight/flight.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "tests/exporter/pickle_writer.h"
#include "tests/tools/support.h"
#include "tools/flight/records.h"

namespace tern {
namespace {

using namespace pt2::test;  // NOLINT: the pickle writer
using test::error_of;
using test::TempFolder;
using test::write_bytes;
using Fields = std::vector<std::pair<std::string, std::string>>;

std::string list(const std::string& items) {
  return "](" + items + "e";
}

/// A call, with other values of these fields.
std::string call_with(const Fields& others) {
  Fields fields = {{"record_id", integer(1)},
                   {"process_group", tuple({text("0"), text("default_pg")})},
                   {"collective_seq_id", integer(1)},
                   {"profiling_name", text("gloo:all_reduce")},
                   {"input_sizes", list(list(integer(4)))},
                   {"output_sizes", list(list(integer(4)))},
                   {"input_dtypes", list(text("Float"))},
                   {"state", text("completed")}};
  for (const auto& [name, value] : others) {
    const auto at = std::ranges::find(fields, name, &Fields::value_type::first);
    at == fields.end() ? static_cast<void>(fields.emplace_back(name, value)) : static_cast<void>(at->second = value);
  }
  return dict(fields);
}

std::string groups_of(const std::string& name, const std::string& ranks) {
  return dict({{name, dict({{"ranks", ranks}})}});
}

std::string record(const std::string& entries, const std::string& groups = groups_of("0", text("[0, 1]"))) {
  return dict({{"pg_config", groups}, {"entries", entries}});
}

class Flight : public ::testing::Test {
 protected:
  /// The error of reading a folder with this record.
  std::string error(const std::string& value, const std::string& before = "") {
    write_bytes(folder_ / "tern_flight_0", "\x80\x02" + before + value + ".");
    return error_of([&] { read_flight_records(folder_ / ""); }, ErrorCode::bad_file);
  }
  TempFolder folder_;
};

TEST_F(Flight, ReadsRecords) {
  EXPECT_EQ(error(record(list(call_with({})))), "no error");
  const std::vector<FlightRecord> records = read_flight_records(folder_ / "");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].groups.at("0"), (std::vector<int>{0, 1}));
  ASSERT_EQ(records[0].calls.size(), 1u);
  EXPECT_EQ(records[0].calls[0].input_sizes, std::vector<std::int64_t>{4});
  EXPECT_EQ(run_flight(folder_ / ""), 0);
}

TEST_F(Flight, OtherTypesAreErrors) {
  const std::string call = call_with({});
  for (const std::string& value :
       {integer(1), list(""), dict({}), record(integer(1)), record(list(integer(1))), record(list(call), list("")),
        record(list(call), groups_of("0", integer(1))), record(list(call), groups_of("0", text("[9999999]"))),
        record(list(call), groups_of("0", text("[99999999999999999999]")))})
    EXPECT_NE(error(value).find("is not a flight record"), std::string::npos);
  for (const char* field : {"record_id", "process_group", "collective_seq_id", "profiling_name", "input_sizes",
                            "output_sizes", "input_dtypes", "state", "is_p2p", "frames"}) {
    for (const std::string& value :
         {"}" + std::string(), list(list(text("x"))), list(integer(1)), "G" + std::string(8, 'x')})
      EXPECT_NE(error(record(list(call_with({{field, value}})))).find("is not a flight record"), std::string::npos)
          << field;
  }
  EXPECT_NE(error("}q\x01(" + text("pg_config") + "h\x01" + text("entries") + list("h\x01") + "u"), "no error");
}

// Lists of lists by the memo, long strings in lists, dictionaries with many keys: a few bytes with a large expansion.
TEST_F(Flight, WhatIsSharedCounts) {
  constexpr int kMany = 20000;
  const auto times = [](const std::string& what) {
    std::string all;
    for (int i = 0; i < kMany; ++i) all += what;
    return all;
  };
  const std::string numbers = list(times("K\x04")) + "q\x01" + list(times("h\x01")) + "q\x02" + "00";
  EXPECT_NE(error(record(list(call_with({{"input_sizes", "h\x02"}}))), numbers).find("too large for its size"),
            std::string::npos);
  const std::string types = text(std::string(100000, 't')) + "q\x01" + list(times("h\x01")) + "q\x02" + "00";
  EXPECT_NE(error(record(list(call_with({{"input_dtypes", "h\x02"}}))), types).find("too large for its size"),
            std::string::npos);
  const std::string keys = "}(" + times(text("k") + kNone) + "uq\x01" + "0";
  EXPECT_NE(error(record(list(times("h\x01"))), keys), "no error");
  const std::string calls = call_with({}) + "q\x01" + "0";
  EXPECT_NE(error(record(list(times(times("h\x01").substr(0, 200)))), calls).find("too large for its size"),
            std::string::npos);
}

TEST_F(Flight, RanksOfNamesAreBounded) {
  write_bytes(folder_ / "tern_flight_99999999999999999999", "");
  EXPECT_NE(error(record(list(call_with({})))).find("ends in a rank above"), std::string::npos);
}

TEST_F(Flight, LinksAndPipesAreNoRecords) {
  std::filesystem::create_symlink("x_0", folder_ / "x_0");
  std::filesystem::create_symlink("nowhere", folder_ / "x_1");
  ASSERT_EQ(::mkfifo((folder_ / "x_2").c_str(), 0600), 0);
  EXPECT_EQ(error(record(list(call_with({})))), "no error");
  EXPECT_EQ(read_flight_records(folder_ / "").size(), 1u);
}

TEST_F(Flight, LargeFilesAreNotRead) {
  write_bytes(folder_ / "tern_flight_1", "");
  std::filesystem::resize_file(folder_ / "tern_flight_1", std::uintmax_t{1} << 40);
  EXPECT_NE(error(record(list(call_with({})))).find("at most"), std::string::npos);
}

}  // namespace
}  // namespace tern
