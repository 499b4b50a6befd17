#include "runtime/trace/writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>

#include "platform/machine.h"
#include "runtime/trace/text.h"
#include "threads/span_listener.h"

namespace tern {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;   // bytes of text per write
constexpr std::int64_t kStackThreads = 1'000'000'000;  // added to a thread's number: the track of its modules
constexpr std::int64_t kDeviceSort = 5'000'000;        // Kineto's: devices come behind processes

/// Kineto's names of activity types. Null: an event without a duration.
struct KindText {
  EventKind kind;
  const char* category;
};
constexpr std::array kKinds = {
    KindText{EventKind::node, "cpu_op"},
    KindText{EventKind::run, "user_annotation"},
    KindText{EventKind::scope, "user_annotation"},
    KindText{EventKind::launch, "cuda_runtime"},
    KindText{EventKind::copy, "cuda_runtime"},
    KindText{EventKind::wait, "cuda_runtime"},
    KindText{EventKind::kernel, "kernel"},
    KindText{EventKind::device_copy, "gpu_memcpy"},
    KindText{EventKind::device_scope, "gpu_user_annotation"},
    KindText{EventKind::plan, "overhead"},
    KindText{EventKind::compile, "overhead"},
    KindText{EventKind::check, "overhead"},
    KindText{EventKind::collective, "cpu_op"},
    KindText{EventKind::memory, nullptr},
    KindText{EventKind::counter, nullptr},
};

std::uint64_t wall_nanoseconds() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

/// Rounds down to a base time shared by ranks running at the same time, so that times keep their precision as doubles.
std::uint64_t base_before(std::uint64_t wall) {
  constexpr std::uint64_t kQuarter = std::uint64_t{8'000'000} * 1'000'000'000;
  return wall / kQuarter * kQuarter;
}

}  // namespace

const char* category_of(EventKind kind) {
  return kKinds[static_cast<std::size_t>(kind)].category;
}

bool is_device_event(EventKind kind) {
  return kind == EventKind::kernel || kind == EventKind::device_copy || kind == EventKind::device_scope;
}

TraceWriter::TraceWriter(const std::string& path, const TraceOptions& options)
    : file_(path),
      options_(options),
      process_(platform::process_number()),
      steady_begin_(steady_nanoseconds()),
      wall_begin_(wall_nanoseconds()),
      base_(base_before(wall_begin_)) {
  out_ = "{\"schemaVersion\": 1, \"traceEvents\": [\n";
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::add_device(std::int16_t number, const std::string& name, const std::string& properties) {
  const std::lock_guard lock(mutex_);
  devices_.emplace_back(number, TracedDevice{name, properties});
}

void TraceWriter::describe(std::string_view key, std::string_view value) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(facts_, key, &std::pair<std::string, std::string>::first);
  if (known != facts_.end()) {
    known->second = value;
  } else {
    facts_.emplace_back(key, value);
  }
}

CallStack& TraceWriter::stack_of(std::uint32_t thread) {
  const auto known = std::ranges::find(stacks_, thread, &std::pair<std::uint32_t, CallStack>::first);
  return known != stacks_.end() ? known->second : stacks_.emplace_back(thread, CallStack()).second;
}

void TraceWriter::open(const char* phase, const char* category) {
  if (events_++ > 0) out_ += ",\n";
  append(out_, {"{\"ph\": \"", phase, "\""});
  if (category != nullptr) append(out_, {", \"cat\": \"", category, "\""});
}

void TraceWriter::close() {
  out_ += '}';
  if (out_.size() < kPiece) return;
  file_.write(out_);
  out_.clear();
}

void TraceWriter::put_time(const char* key, std::uint64_t nanoseconds) {
  append(out_, {", \"", key, "\": "});
  append_microseconds(out_, nanoseconds);
}

/// Process and thread; for device events, the numbers of the device and the stream.
void TraceWriter::put_place(std::uint32_t thread, const TraceEvent& e) {
  const bool device = is_device_event(e.kind);
  if (device && std::ranges::find(streams_, std::pair(e.device, e.stream)) == streams_.end())
    streams_.emplace_back(e.device, e.stream);
  put_number(", \"pid\": ", device ? std::int64_t{e.device} : process_);
  put_number(", \"tid\": ", device ? std::int64_t{e.stream} : static_cast<std::int64_t>(thread));
}

void TraceWriter::put_signed(std::string_view prefix, std::int64_t value, std::string_view suffix) {
  out_ += prefix;
  append_signed(out_, value);
  out_ += suffix;
}

void TraceWriter::put_unsigned(std::string_view prefix, std::uint64_t value, std::string_view suffix) {
  out_ += prefix;
  append_unsigned(out_, value);
  out_ += suffix;
}

void TraceWriter::put_text(std::string_view key, std::string_view value, std::string_view suffix) {
  append(out_, {"\"", key, "\": \""});
  append_escaped(out_, value);
  append(out_, {"\"", suffix});
}

/// Ends the args.
void TraceWriter::put_index() {
  put_number("\"Ev Idx\": ", events_ - 1, "}");
}

void TraceWriter::put_scope(const EventLabel& scope) {
  if (scope.outer != nullptr) {
    put_scope(*scope.outer);
    out_ += '/';
  }
  out_ += scope.name;
}

/// Writes the current scopes: "epoch 1/warm-up".
void TraceWriter::put_annotation(const TraceEvent& e) {
  if (e.scope == nullptr || e.kind == EventKind::scope || e.kind == EventKind::device_scope) return;
  out_ += "\"User annotation\": \"";
  put_scope(*e.scope);
  out_ += "\", ";
}

void TraceWriter::put_flow(const TraceEvent& e, std::uint32_t thread, bool begins) {
  open(begins ? "s" : "f", "ac2g");
  put_number(", \"name\": \"ac2g\", \"id\": ", e.correlation);
  put_place(thread, e);
  put_time("ts", since_base(e.begin));
  if (!begins) out_ += ", \"bp\": \"e\"";
  close();
}

void TraceWriter::put_timed(std::uint32_t thread, const TraceEvent& e) {
  const bool device = is_device_event(e.kind);
  if (e.label->lost) ++unnamed_;
  open("X", category_of(e.kind));
  append(out_, {", \"name\": \"", e.label->name});
  if (e.kind == EventKind::run) append_number(out_, e.correlation);
  out_ += '"';
  put_place(thread, e);
  put_time("ts", since_base(e.begin));
  put_time("dur", e.end - e.begin);
  out_ += ", \"args\": {";
  if (e.id != 0) put_number("\"External id\": ", e.id, ", ");
  if (e.kind == EventKind::node) out_ += "\"Record function id\": 0, ";
  if (device && e.kind != EventKind::device_scope) {  // otherwise HolisticTraceAnalysis counts the scope as work
    put_number("\"device\": ", e.device);
    put_number(", \"context\": 0, \"stream\": ", e.stream, ", ");
  }
  if (e.kind == EventKind::collective || (e.correlation != 0 && e.kind != EventKind::run))
    put_number(e.kind == EventKind::collective ? "\"Seq\": " : "\"correlation\": ", e.correlation, ", ");
  if (e.bytes != 0) {
    put_number("\"bytes\": ", e.bytes, ", ");
    if (e.kind == EventKind::device_copy) {
      out_ += "\"memory bandwidth (GB/s)\": ";
      append_number(out_,
                    static_cast<double>(e.bytes) / static_cast<double>(std::max<std::uint64_t>(1, e.end - e.begin)));
      out_ += ", ";
    }
  }
  put_annotation(e);
  out_ += e.label->args;
  if (e.node != nullptr) out_ += e.node->device_args;
  if (e.unfinished) out_ += "\"finished\": false, ";
  put_index();
  close();
  if (e.flows) put_flow(e, thread, !device);
}

/// Writes PyTorch's event of an allocation, and a counter for viewers.
void TraceWriter::put_memory(std::uint32_t thread, const TraceEvent& e) {
  const auto in_use = static_cast<std::int64_t>(e.correlation);
  open("i", "cpu_instant_event");
  out_ += ", \"s\": \"t\", \"name\": \"[memory]\"";
  put_place(thread, e);
  put_time("ts", since_base(e.begin));
  put_number(", \"args\": {\"Total Reserved\": 0, \"Total Allocated\": ", in_use);
  put_number(", \"Bytes\": ", static_cast<std::int64_t>(e.bytes));
  put_number(", \"Device Id\": ", e.device);
  // 0 is a CPU and 1 a GPU, like in c10::DeviceType.
  put_number(e.device < 0 ? ", \"Device Type\": 0, \"Addr\": " : ", \"Device Type\": 1, \"Addr\": ", e.id, ", ");
  put_index();
  close();
  open("C", nullptr);
  out_ += ", \"name\": \"memory of ";
  e.device < 0 ? void(out_ += "the host") : put_number("device ", e.device);
  out_ += '"';
  put_place(thread, e);
  put_time("ts", since_base(e.begin));
  put_number(", \"args\": {\"bytes\": ", in_use, "}");
  close();
}

void TraceWriter::put_frame(std::uint32_t thread, const StackFrame& f) {
  open("X", "python_function");
  append(out_, {", \"name\": \"", f.name});
  put_number("\", \"pid\": ", process_);
  put_number(", \"tid\": ", kStackThreads + static_cast<std::int64_t>(thread));
  put_time("ts", since_base(f.begin));
  put_time("dur", f.end - f.begin);
  out_ += ", \"args\": {\"Python parent id\": ";
  f.parent == 0 ? void(out_ += "null") : append_number(out_, f.parent);
  put_number(", \"Python id\": ", f.id, ", ");
  put_index();
  close();
}

void TraceWriter::write_event(std::uint32_t thread, const TraceEvent& e) {
  if (e.kind == EventKind::memory) return put_memory(thread, e);
  if (e.kind == EventKind::counter) {
    open("C", nullptr);
    append(out_, {", \"name\": \"", e.label->name, "\""});
    put_place(thread, e);
    put_time("ts", since_base(e.begin));
    append(out_, {", \"args\": {", e.label->args});
    append_number(out_, std::bit_cast<double>(e.correlation));
    out_ += '}';
    return close();
  }
  if (e.kind == EventKind::node || e.kind == EventKind::run) {
    CallStack& stack = stack_of(thread);
    const auto sink = [&](const StackFrame& f) { put_frame(thread, f); };
    e.kind == EventKind::node ? stack.add(e, sink) : stack.close(sink);
  }
  put_timed(thread, e);
}

void TraceWriter::write(const EventBlock& block) {
  const std::uint32_t count = block.count.load(std::memory_order_acquire);
  auto segment = block.segments.begin();
  for (std::uint32_t i = 0; i < count; ++i) {
    while (segment + 1 != block.segments.end() && segment[1].first <= i) ++segment;
    write_event(segment->thread, block.events[i]);
  }
}

/// Opens an event about a process or a thread, up to its args.
void TraceWriter::open_metadata(const char* name, std::int64_t pid, std::int64_t tid) {
  open("M", nullptr);
  append(out_, {", \"name\": \"", name});
  put_number("\", \"pid\": ", pid);
  put_number(", \"tid\": ", tid);
  put_time("ts", since_base(steady_begin_));
  out_ += ", \"args\": {";
}

/// `metadata`: "process_name", "thread_name" or "process_labels".
void TraceWriter::put_name(const char* metadata, std::int64_t pid, std::int64_t tid,
                           std::initializer_list<std::string_view> name) {
  open_metadata(metadata, pid, tid);
  std::string text;
  append(text, name);
  put_text(std::string_view(metadata).substr(std::string_view(metadata).find('_') + 1), text, "}");
  close();
}

void TraceWriter::put_sort_index(const char* metadata, std::int64_t pid, std::int64_t tid, std::uint64_t sort_index) {
  open_metadata(metadata, pid, tid);
  put_number("\"sort_index\": ", sort_index, "}");
  close();
}

void TraceWriter::put_ranks() {
  out_ += "\"distributedInfo\": {";
  put_text("backend", options_.backend, "");
  put_number(", \"rank\": ", options_.rank);
  put_number(", \"world_size\": ", options_.world_size);
  out_ += ", \"pg_count\": 1, \"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", ";
  put_text("backend_config", options_.backend, "");
  put_number(", \"pg_size\": ", options_.world_size, ", \"ranks\": [");
  for (int i = 0; i < options_.world_size; ++i) put_number(i > 0 ? ", " : "", i);
  out_ += "]}]},\n";
}

TraceStats TraceWriter::finish(const std::vector<TracedThread>& threads, std::uint64_t dropped) {
  const std::lock_guard lock(mutex_);
  const auto number = [](std::int64_t value) {
    std::string text;
    append_number(text, value);
    return text;
  };
  put_name("process_name", process_, 0, {"tern"});
  put_name("process_labels", process_, 0, {"CPU"});
  put_sort_index("process_sort_index", process_, 0, static_cast<std::uint64_t>(process_));
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const std::int64_t tid = threads[i].id;
    const std::string text = number(tid);
    put_name("thread_name", process_, tid, {"thread ", text, " (", threads[i].name, ")"});
    put_sort_index("thread_sort_index", process_, tid, 2 * i);
    put_name("thread_name", process_, kStackThreads + tid, {"modules of thread ", text});
    put_sort_index("thread_sort_index", process_, kStackThreads + tid, 2 * i + 1);
  }
  for (const auto& [device, description] : devices_) {
    put_name("process_name", device, 0, {description.name});
    put_name("process_labels", device, 0, {"GPU ", number(device)});
    put_sort_index("process_sort_index", device, 0, static_cast<std::uint64_t>(kDeviceSort + device));
  }
  for (const auto& [device, stream] : streams_) {
    put_name("thread_name", device, stream, {"stream ", number(stream)});
    put_sort_index("thread_sort_index", device, stream, stream);
  }
  out_ += "\n],\n\"deviceProperties\": [";
  const char* before = "{\"id\": ";
  for (const auto& [device, description] : devices_) {
    put_number(before, device);
    append(out_, {", ", description.properties, "}"});
    before = ", {\"id\": ";
  }
  out_ += "],\n";
  put_text("host_name", platform::host_name(),
           ", \"record_shapes\": 1, \"with_stack\": 1, \"with_modules\": 1, \"with_flops\": 1, "
           "\"profile_memory\": 1,\n");
  if (options_.world_size > 1) put_ranks();
  for (const auto& [key, value] : facts_) put_text(escaped(key), value, ",\n");
  put_number("\"dropped_events\": ", dropped);
  put_number(", \"unnamed_events\": ", unnamed_);
  put_number(", \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": ", base_, "}\n");
  file_.write(out_);
  file_.commit();
  return {events_, dropped, unnamed_};
}

}  // namespace tern
