// Traces as strings: parsing, errors with positions, sums, the critical path.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/tools/support.h"
#include "tools/trace/merge.h"
#include "tools/trace/summary.h"

namespace tern {
namespace {

using test::TempFolder;

LoadedTrace load(const std::string& text) {
  std::istringstream stream(text);
  return load_trace(stream, "input");
}

std::string refused(const std::string& text) {
  try {
    load(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_file) << text;
    return e.what();
  }
  return "no error";
}

/// A product that starts a kernel and waits for the kernel, followed by an op.
constexpr const char* kTrace = R"({"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#0", "pid": 9, "tid": 9, "ts": 0, "dur": 30, "args": {}},
{"ph": "X", "cat": "user_annotation", "name": "epoch", "pid": 9, "tid": 9, "ts": 0.5, "dur": 25, "args": {}},
{"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 9, "tid": 9, "ts": 1, "dur": 9, "args": {"External id": 1, "Module Hierarchy": "net"}},
{"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 9, "tid": 9, "ts": 2, "dur": 3, "args": {"External id": 2}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 3, "dur": 1, "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "product", "pid": 0, "tid": 1, "ts": 4, "dur": 10, "args": {"External id": 2, "correlation": 7, "stream": 1}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": 0, "tid": 1, "ts": 16, "dur": 2, "args": {"External id": 2, "bytes": 64}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 9, "tid": 9, "ts": 11, "dur": 8, "args": {}},
{"ph": "X", "cat": "cpu_op", "name": "last", "pid": 9, "tid": 9, "ts": 20, "dur": 4, "args": {"External id": 3, "finished": false}}
], "distributedInfo": {"rank": 1, "world_size": 2}})";

const TraceSum& sum(const std::vector<TraceSum>& sums, const std::string& name) {
  for (const TraceSum& s : sums) {
    if (s.name == name) return s;
  }
  static const TraceSum none;
  ADD_FAILURE() << name;
  return none;
}

TEST(Trace, SumsAnOpsOwnTimeAndWhatItStarted) {
  const TraceSummary s = summarize_trace(load(kTrace));
  EXPECT_EQ(s.ops, 3u);
  EXPECT_EQ(s.runs, 1u);
  EXPECT_EQ(s.rank, 1);
  EXPECT_EQ(s.unfinished, 1u);
  EXPECT_EQ(sum(s.ops_by_time, "outer").host, 6);
  EXPECT_EQ(sum(s.ops_by_time, "inner").host, 3);
  EXPECT_EQ(sum(s.ops_by_time, "inner").device, 12);
  EXPECT_EQ(sum(s.modules, "net").host, 6);
  EXPECT_EQ(sum(s.annotations, "epoch").host, 13);
  ASSERT_EQ(s.busy.size(), 2u);
  EXPECT_EQ(s.busy[1].span, 14);
  EXPECT_EQ(s.busy[1].compute, 10);
  EXPECT_EQ(s.busy[1].copy, 2);
  EXPECT_EQ(s.busy[1].idle, 2);
}

TEST(Trace, TheCriticalPathGoesThroughWaitsAndLaunches) {
  const LoadedTrace trace = load(kTrace);
  std::vector<std::string> names;
  for (const PathPiece& p : critical_path(trace)) names.push_back(trace.name(trace.spans[p.span].name));
  EXPECT_EQ(names, (std::vector<std::string>{"outer", "inner", "cudaLaunchKernel", "product", "Memcpy", "last"}));
}

TEST(Trace, TakesAListOfEventsAndOtherPrograms) {
  EXPECT_EQ(load("[]").events, 0u);
  const LoadedTrace t =
      load(R"([{"ph": "X", "cat": "cpu_op", "name": "a", "pid": "Spans", "tid": "x", "ts": 1, "dur": -1},
                                 {"ph": "X", "cat": "cpu_op", "name": 3, "ts": 1, "dur": 2, "args": [1, {"deep": []}]}])");
  EXPECT_EQ(t.events, 2u);
  EXPECT_EQ(t.skipped, 1u);
  EXPECT_EQ(t.spans.size(), 1u);
}

TEST(Trace, RefusesWhatIsNone) {
  EXPECT_NE(refused("{\"traceEvents\": [{\"ph\": \"X\",}]}").find("byte 29"), std::string::npos)
      << refused("{\"traceEvents\": [{\"ph\": \"X\",}]}");
  EXPECT_NE(refused("").find("byte 1"), std::string::npos) << refused("");
  EXPECT_NE(refused("7").find("a trace must be an object or a list of events"), std::string::npos);
  EXPECT_NE(refused("[7]").find("an event must be an object"), std::string::npos);
  EXPECT_NE(refused("[[]]").find("an event must be an object"), std::string::npos);
  EXPECT_NE(refused("{\"traceEvents\": {}}").find("must be a list"), std::string::npos);
  EXPECT_NE(refused(std::string(100000, '[')).find("an event must be an object"), std::string::npos);
  EXPECT_NE(refused("[{\"args\": " + std::string(100000, '[')).find("deeper than 64"), std::string::npos);
  std::string many = "[{\"args\": [0";
  for (int i = 0; i < (1 << 20); ++i) many += ",0";
  EXPECT_NE(refused(many + "]}]").find("more than 1048576 values"), std::string::npos);
  EXPECT_NE(refused("[{\"name\": \"\xff\"}]").find("byte"), std::string::npos);
}

TEST(Trace, ReadsCompressedFilesAndRefusesDamagedOnes) {
  const TempFolder folder;
  const std::string path = folder / "t.json.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, kTrace, static_cast<unsigned>(std::strlen(kTrace)));
  gzclose(file);
  EXPECT_EQ(load_trace(path).events, 9u);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THROW(load_trace(path), Error);
  EXPECT_THROW(load_trace(folder / "none"), Error);
}

/// A collective in its own node (0 to 10), a product (10 to 14), and a concurrent collective of another thread (12 to
/// 20); a node waits for the latter from 15 on.
std::string host_trace(std::int64_t process) {
  const auto event = [&](const char* category, const char* name, int thread, int begin, int duration,
                         const char* args) {
    std::ostringstream text;
    text << R"({"ph": "X", "cat": ")" << category << R"(", "name": ")" << name << R"(", "pid": )" << process
         << ", \"tid\": " << thread << ", \"ts\": " << begin << ", \"dur\": " << duration << ", \"args\": {" << args
         << "}}";
    return text.str();
  };
  constexpr const char* kCall = R"("Collective name": "allreduce", "Process Group Name": "0", "Seq": 1)";
  return event("cpu_op", "tern::collective", 1, 0, 10, "") + "," +
         event("cpu_op", "record_param_comms", 1, 0, 10, kCall) + "," + event("cpu_op", "tern::matmul", 1, 10, 4, "") +
         "," + event("cpu_op", "record_param_comms", 2, 12, 8, kCall) + "," +
         event("cpu_op", "tern::wait", 1, 15, 5, "") + "," +
         event("cuda_runtime", "wait_tensor", 1, 15, 5, R"("Seq": 2, "Process Group Name": "0")");
}

TEST(Trace, HostsCommunicateWhileACollectiveRunsOrIsWaitedFor) {
  const TraceSummary s = summarize_trace(load("{\"traceEvents\": [" + host_trace(7) + "]}"));
  ASSERT_EQ(s.busy.size(), 1U);
  EXPECT_EQ(s.busy[0].resource, "host");
  EXPECT_EQ(s.busy[0].span, 20);
  EXPECT_EQ(s.busy[0].compute, 4);
  EXPECT_EQ(s.busy[0].copy, 16);
  EXPECT_EQ(s.busy[0].idle, 0);
}

TEST(Trace, MergedTracesHaveAHostForEachRank) {
  const std::string device =
      R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 100000002, "tid": 1, "ts": 0, "dur": 5})";
  const TraceSummary s = summarize_trace(load("{\"traceEvents\": [" + host_trace(7) + "," + host_trace(100000009) +
                                              "," + device + R"(], "merged_ranks": [0, 1]})"));
  ASSERT_EQ(s.busy.size(), 3U);
  EXPECT_EQ(s.busy[0].resource, "host of rank 0");
  EXPECT_EQ(s.busy[1].resource, "host of rank 1");
  EXPECT_EQ(s.busy[2].resource, "device 2 of rank 1");
  for (int rank : {0, 1}) {
    EXPECT_EQ(s.busy[static_cast<std::size_t>(rank)].compute, 4);
    EXPECT_EQ(s.busy[static_cast<std::size_t>(rank)].copy, 16);
  }
}

TEST(Trace, CallsOfGlooInPyTorchsTracesCommunicate) {
  const TraceSummary s = summarize_trace(load(R"([
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 10},
{"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 1, "tid": 1, "ts": 10, "dur": 2},
{"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 1, "ts": 11, "dur": 9}])"));
  ASSERT_EQ(s.busy.size(), 1U);
  EXPECT_EQ(s.busy[0].compute, 10);
  EXPECT_EQ(s.busy[0].copy, 10);
}

TEST(Trace, CompressedTextsAreBounded) {
  const TempFolder folder;
  const std::string path = folder / "t.json.gz", piece(std::size_t{1} << 20, ' ');
  gzFile file = gzopen(path.c_str(), "wb1");
  for (int i = 0; i < 80; ++i) gzwrite(file, piece.data(), static_cast<unsigned>(piece.size()));
  gzclose(file);
  EXPECT_NE(test::error_of([&] { load_trace(path); }, ErrorCode::bad_file).find("text has more than"),
            std::string::npos);
}

// Deeply nested spans, and a long name around many spans: time and memory stay proportional to the input.
TEST(Trace, DeepNestingAndLongNames) {
  constexpr int kDepth = 20000;
  std::string text = "[";
  const auto add = [&](const char* category, const std::string& name, int ts, int dur) {
    text += fmt::format(R"({}{{"ph": "X", "cat": "{}", "name": "{}", "ts": {}, "dur": {}}})",
                        text.size() > 1 ? "," : "", category, name, ts, dur);
  };
  add("python_function", "nn.Module: " + std::string(1 << 20, 'm'), 0, 4 * kDepth);
  for (int i = 0; i < kDepth; ++i) {
    add("user_annotation", fmt::format("a{}", i), i, 4 * kDepth - i - 1);
    add("cpu_op", "op", i, 4 * kDepth - i - 2);
  }
  const TraceSummary s = summarize_trace(load(text + "]"));
  EXPECT_EQ(s.ops, static_cast<std::uint64_t>(kDepth));
  ASSERT_EQ(s.modules.size(), 1u);
  EXPECT_EQ(s.modules[0].name.size(), 1024u);
  EXPECT_EQ(sum(s.annotations, "a0/a1/a2").count, 1u);
  for (const TraceSum& a : s.annotations) EXPECT_LE(a.name.size(), 1024u);
}

// trace_ph: members of other types.
TEST(Trace, MergingTakesAnyTypes) {
  const TempFolder folder;
  const std::string a = folder / "a.json", b = folder / "b.json", all = folder / "all.json";
  std::ofstream(a) << kTrace;
  for (const char* event :
       {R"({"ph": 5, "name": "x"})", R"({"ph": "M", "name": 5, "args": {}})", R"({"pid": [], "id": {}})",
        R"({"ph": "M", "name": "process_name", "args": {"name": 5}})"}) {
    std::ofstream(b) << "[" << event << "]";
    EXPECT_NO_THROW(merge_traces({b, a}, all)) << event;
  }
  std::ofstream(b) << R"({"traceEvents": [], "distributedInfo": {"rank": 9223372036854775807}})";
  EXPECT_NE(test::error_of(
                [&] {
                  merge_traces({a, b}, all);
                },
                ErrorCode::bad_file)
                .find("rank 9223372036854775807"),
            std::string::npos);
}

/// Two ranks with clocks 1000 us apart; rank 1 arrives 5 and 1 us late.
std::string rank_trace(int rank, double clock, const std::vector<double>& begins) {
  const std::vector<double> ends = {20, 40};
  std::ostringstream text;
  text << "{\"traceEvents\": [";
  for (std::size_t i = 0; i < begins.size(); ++i) {
    text << (i > 0 ? "," : "")
         << R"({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 7, "tid": 7, "ts": )"
         << clock + begins[i] << ", \"dur\": " << ends[i] - begins[i]
         << R"(, "args": {"Collective name": "allreduce", "Process Group Name": "0", "Seq": )" << i << "}}";
  }
  text << "], \"distributedInfo\": {\"rank\": " << rank << ", \"world_size\": 2}}";
  return text.str();
}

TEST(Trace, MergingAlignsClocksByCollectives) {
  const TempFolder folder;
  const std::string a = folder / "a.json", b = folder / "b.json", all = folder / "all.json.gz";
  std::ofstream(a) << rank_trace(0, 0, {10, 30});
  std::ofstream(b) << rank_trace(1, 1000, {15, 31});
  const MergedTrace merged = merge_traces({a, b}, all);
  EXPECT_EQ(merged.offsets, (std::vector<double>{0, -1000}));
  EXPECT_EQ(merged.residual, 0);
  ASSERT_EQ(merged.collectives.size(), 2u);
  EXPECT_EQ(merged.collectives[0].waited, 5);
  EXPECT_EQ(merged.collectives[0].last, 1u);
  EXPECT_EQ(merged.collectives[1].waited, 1);
  const LoadedTrace together = load_trace(all);
  ASSERT_EQ(together.spans.size(), 4u);
  EXPECT_EQ(together.events, 4u + 4);  // and the joints
  EXPECT_EQ(together.spans[1].begin, 15);
  EXPECT_NE(together.spans[0].process, together.spans[1].process);
  EXPECT_THROW(merge_traces({a, a}, all), Error);
  EXPECT_THROW(merge_traces({a}, all), Error);
}

}  // namespace
}  // namespace tern
