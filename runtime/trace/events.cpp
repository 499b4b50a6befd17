// Events of a trace without a file.
#include <bit>
#include <charconv>

#include "runtime/trace/recorder.h"
#include "runtime/trace/text.h"

namespace tern {
namespace {

/// Undoes append_escaped.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'u' && i + 4 < text.size()) {  // a control character
      unsigned code = 0;
      std::from_chars(text.data() + i + 1, text.data() + i + 5, code, 16);
      out += static_cast<char>(code);
      i += 4;
    } else {
      out += c;
    }
  }
  return out;
}

/// The JSON behind `"key": `; empty if there is none. Quotes within values are escaped, so a key is found as such.
std::string_view value_of(std::string_view args, std::string_view key) {
  std::string quoted;
  append(quoted, {"\"", key, "\": "});
  const std::size_t at = args.find(quoted);
  return at == args.npos ? std::string_view() : args.substr(at + quoted.size());
}

std::string text_of_arg(std::string_view args, std::string_view key) {
  std::string_view value = value_of(args, key);
  if (value.empty() || value[0] != '"') return {};
  std::size_t end = 1;
  while (end < value.size() && value[end] != '"') end += value[end] == '\\' ? 2 : 1;
  return unescaped(value.substr(1, end - 1));
}

/// Reads "[[2, 3], [4]]".
std::vector<std::vector<std::int64_t>> sizes_of_arg(std::string_view args, std::string_view key) {
  std::vector<std::vector<std::int64_t>> lists;
  int depth = 0;
  const std::string_view text = value_of(args, key);
  for (const char* at = text.data(); at != text.data() + text.size();) {
    if (*at == '[' && ++depth == 2) lists.emplace_back();
    if (*at == ']' && --depth == 0) break;
    std::int64_t number = 0;
    const auto read = std::from_chars(at, text.data() + text.size(), number);
    if (read.ec == std::errc()) lists.back().push_back(number);
    at = read.ec == std::errc() ? read.ptr : at + 1;
  }
  return lists;
}

std::string path_of_scope(const EventLabel* scope) {
  if (scope == nullptr) return {};
  const std::string outer = path_of_scope(scope->outer);
  return (outer.empty() ? outer : outer + "/") + unescaped(scope->name);
}

TraceRecord record_of(const TraceEvent& e, std::int64_t thread) {
  TraceRecord r;
  const bool device = is_device_event(e.kind), is_memory = e.kind == EventKind::memory;
  r.name = is_memory ? "[memory]" : unescaped(e.label->name);
  if (e.kind == EventKind::run) append_number(r.name, e.correlation);
  const char* category = category_of(e.kind);
  r.type = category != nullptr ? category : is_memory ? "cpu_instant_event" : "counter";
  r.begin = e.begin;
  r.end = e.end;
  r.thread = static_cast<std::uint64_t>(thread);
  r.device = e.device;
  r.stream = device ? e.stream : 0;
  r.bytes = static_cast<std::int64_t>(e.bytes);
  r.unfinished = e.unfinished;
  if (is_memory) {
    r.value = static_cast<double>(static_cast<std::int64_t>(e.correlation));
    return r;
  }
  if (e.kind == EventKind::counter) {
    r.value = std::bit_cast<double>(e.correlation);
    r.args = e.label->args;  // `"series": `
    append_number(r.args, r.value);
    r.args = "{" + r.args + "}";
    return r;
  }
  r.id = e.id;
  if (e.kind == EventKind::collective) {
    r.sequence = static_cast<std::int64_t>(e.correlation);
  } else if (e.kind != EventKind::run) {
    r.correlation = e.correlation;
  }
  r.flow = e.flows ? e.correlation : 0;
  r.flow_begins = e.flows && !device;
  if (e.kind != EventKind::scope && e.kind != EventKind::device_scope) r.annotation = path_of_scope(e.scope);
  std::string args = e.label->args;
  if (e.node != nullptr) args += e.node->device_args;
  r.function = text_of_arg(args, "Function");
  r.origin = text_of_arg(args, "Origin");
  r.module = text_of_arg(args, "Module Hierarchy");
  r.call_stack = text_of_arg(args, "Call stack");
  r.input_sizes = sizes_of_arg(args, "Input Dims");
  r.output_sizes = sizes_of_arg(args, "Output Dims");
  r.args = "{" + args.substr(0, args.find_last_not_of(", ") + 1) + "}";
  return r;
}

}  // namespace

std::vector<TraceRecord> TraceRecorder::events() const {
  std::vector<TraceRecord> all;
  const std::vector<TracedThread> threads = buffers_->threads();
  for (const EventBlock* block : buffers_->remaining_blocks()) {
    const std::uint32_t count = block->count.load(std::memory_order_acquire);
    auto segment = block->segments.begin();
    for (std::uint32_t i = 0; i < count; ++i) {
      while (segment + 1 != block->segments.end() && segment[1].first <= i) ++segment;
      all.push_back(record_of(block->events[i], segment->thread));
    }
  }
  return all;
}

}  // namespace tern
