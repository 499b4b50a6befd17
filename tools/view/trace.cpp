// Figures of nodes from the events of a trace. Reads events one by one, keeping only sums.
#include <fmt/format.h>
#include <tern/error.h>
#include <zlib.h>

#include <filesystem>
#include <map>
#include <memory>

#include "tools/text.h"
#include "tools/view/figures.h"

namespace tern::view {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxText = std::uint64_t{4} << 30;  // limit for a trace, decompressed

/// zlib also reads uncompressed files.
std::string read_text(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) fail(ErrorCode::io, path + ": cannot be opened");
  std::string text;
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  while (true) {
    const std::size_t had = text.size();
    text.resize(had + kPiece);
    const int n = gzread(file.get(), text.data() + had, kPiece);
    if (n < 0) fail(ErrorCode::bad_file, path + ": cannot be decompressed");
    text.resize(had + static_cast<std::size_t>(n));
    if (n == 0) return text;
    if (text.size() > kMaxText) fail(ErrorCode::bad_file, path + ": a trace has at most 4 GiB of text");
  }
}

double number(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? std::max(0.0, at->get<double>()) : 0;
}

std::string text(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// Adds up events by function and node.
class TraceSums {
 public:
  void add(const json& event) {
    const std::string category = text(event, "cat");
    if (text(event, "name").starts_with("ProfilerStep#")) ++run_count_;
    const bool on_device = category == "kernel" || category == "gpu_memcpy";
    const auto args = event.find("args");
    if (args == event.end() || !args->is_object() || (!on_device && category != "cpu_op")) return;
    const std::string function = text(*args, "Function");
    if (function.empty() || !args->contains("Node") || !args->at("Node").is_number()) return;
    const double seconds = number(event, "dur") / 1e6;  // microseconds
    NodeTime& n = nodes_[{function, static_cast<std::uint32_t>(std::min(4e9, number(*args, "Node")))}];
    if (on_device) {
      ++n.launches;
      device_[&n] += seconds;
    } else {
      ++n.runs;
      n.seconds += seconds;
      n.flops += number(*args, "flops");
      n.bytes += number(*args, "bytes");
      n.op = text(*args, "Op");
      n.members = static_cast<std::uint32_t>(std::min(4e9, number(*args, "Nodes")));
    }
  }

  RunFigures figures() {
    RunFigures r;
    r.run_count = std::max<std::uint64_t>(1, run_count_);
    for (auto& [key, n] : nodes_) {
      n.function = key.first;
      n.node = key.second;
      if (n.launches > 0) n.seconds = device_[&n];
      r.nodes.push_back(n);
    }
    return r;
  }

 private:
  std::map<std::pair<std::string, std::uint32_t>, NodeTime> nodes_;
  std::map<const NodeTime*, double> device_;
  std::uint64_t run_count_ = 0;
};

}  // namespace

RunFigures traced_run(const std::string& path) {
  TraceSums sums;
  // Depth 1 is the file's object, 2 its list of events, 3 an event.
  const auto each = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > 16) return false;
    if (depth != 2 || event != json::parse_event_t::object_end) return true;
    sums.add(parsed);
    return false;  // discards the event
  };
  try {
    const json rest = json::parse(read_text(path), each);
    if (!rest.is_object() || !rest.contains("traceEvents"))
      fail(ErrorCode::bad_file, path + ": not a trace: it lacks \"traceEvents\"");
  } catch (const json::exception& e) {
    fail(ErrorCode::bad_file, fmt::format("{}: not a trace in Chrome's JSON: {}", path, escape_name(e.what())));
  }
  RunFigures r = sums.figures();
  r.source = std::filesystem::path(path).filename().string();
  if (r.nodes.empty())
    fail(ErrorCode::invalid_argument, path +
                                          ": the trace has no events of nodes; 'tern run --trace' writes them, with "
                                          "\"Function\" and \"Node\" in \"args\"");
  return r;
}

}  // namespace tern::view
