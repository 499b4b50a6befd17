// Figures of nodes from a trace in Chrome's JSON.
#include <gtest/gtest.h>
#include <zlib.h>

#include <map>

#include "tests/tools/support.h"
#include "tools/view/figures.h"

namespace tern::view {
namespace {

const std::string kViewedTrace = R"({"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "ts": 0, "dur": 100, "args": {"Function": "forward"}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 100, "dur": 100, "args": {"Function": "forward"}},
{"ph": "X", "cat": "cpu_op", "name": "tern::matmul", "ts": 1, "dur": 30.5, "args": {"Function": "forward", "Node": 3, "Op": "matmul", "flops": 1000, "bytes": 64}},
{"ph": "X", "cat": "cpu_op", "name": "tern::matmul", "ts": 101, "dur": 29.5, "args": {"Function": "forward", "Node": 3, "Op": "matmul", "flops": 1000, "bytes": 64}},
{"ph": "X", "cat": "cpu_op", "name": "tern::softmax", "ts": 40, "dur": 2, "args": {"Function": "forward", "Node": 4, "flops": 0, "bytes": 8}},
{"ph": "X", "cat": "kernel", "name": "softmax", "ts": 42, "dur": 7, "args": {"Function": "forward", "Node": 4}},
{"ph": "X", "cat": "cpu_op", "name": "tern::copy", "ts": 50, "dur": 9, "args": {"Function": "forward"}},
{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "tern"}}
], "dropped_events": 0})";

TEST(ViewTrace, AddsUpEventsOfNodes) {
  const test::TempFolder folder;
  test::write_bytes(folder / "run.json", kViewedTrace);
  const RunFigures r = traced_run(folder / "run.json");
  EXPECT_EQ(r.source, "run.json");
  EXPECT_EQ(r.run_count, 2u);
  ASSERT_EQ(r.nodes.size(), 2u);
  EXPECT_EQ(r.nodes[0].node, 3u);
  EXPECT_DOUBLE_EQ(r.nodes[0].seconds, 60e-6);
  EXPECT_EQ(r.nodes[0].flops, 2000);
  EXPECT_EQ(r.nodes[0].bytes, 128);
  EXPECT_DOUBLE_EQ(r.nodes[1].seconds, 7e-6);  // the kernel's
}

TEST(ViewTrace, CompressedFiles) {
  const test::TempFolder folder;
  const gzFile file = gzopen((folder / "run.json.gz").c_str(), "wb");
  gzwrite(file, kViewedTrace.data(), static_cast<unsigned>(kViewedTrace.size()));
  gzclose(file);
  EXPECT_EQ(traced_run(folder / "run.json.gz").nodes.size(), 2u);
}

TEST(ViewTrace, OtherFiles) {
  const test::TempFolder folder;
  const std::map<std::string, ErrorCode> files = {
      {"{\"traceEvents\": []}", ErrorCode::invalid_argument},
      {"{\"traceEvents\": [{\"args\": {\"Function\": 1, \"Node\": \"x\"}, \"dur\": \"y\", \"cat\": []}]}",
       ErrorCode::invalid_argument},
      {"[]", ErrorCode::bad_file},
      {"{", ErrorCode::bad_file},
      {std::string(100000, '['), ErrorCode::bad_file},
  };
  for (const auto& [text, code] : files) {
    test::write_bytes(folder / "f.json", text);
    EXPECT_NE(test::error_of([&] { traced_run(folder / "f.json"); }, code), "no error") << text.substr(0, 60);
  }
  EXPECT_NE(test::error_of([&] { traced_run(folder / "none.json"); }, ErrorCode::io), "no error");
}

}  // namespace
}  // namespace tern::view
