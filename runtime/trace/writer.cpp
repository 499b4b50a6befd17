#include "runtime/trace/writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>

#include "runtime/trace/text.h"
#include "threads/span_listener.h"

namespace tern {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;   // bytes of text that are written at once
constexpr std::int64_t kStackThreads = 1'000'000'000;  // added to a thread's number: the track of its modules
constexpr std::int64_t kDeviceSort = 5'000'000;        // Kineto's: devices come behind processes

/// Kineto's names of activity types. Null: not an event with a duration.
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

/// A moment of the past that ranks which run at the same time share, so that times keep their digits in a double.
std::uint64_t base_before(std::uint64_t wall) {
  constexpr std::uint64_t kQuarter = std::uint64_t{8'000'000} * 1'000'000'000;
  return wall / kQuarter * kQuarter;
}

bool on_device(EventKind kind) {
  return kind == EventKind::kernel || kind == EventKind::device_copy || kind == EventKind::device_scope;
}

}  // namespace

TraceWriter::TraceWriter(const std::string& path, TraceOptions options)
    : file_(path),
      options_(std::move(options)),
      process_(::getpid()),
      steady_begin_(steady_nanoseconds()),
      wall_begin_(wall_nanoseconds()),
      base_(base_before(wall_begin_)) {
  out_ = "{\"schemaVersion\": 1, \"traceEvents\": [\n";
}

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
  out_ += "{\"ph\": \"";
  out_ += phase;
  out_ += '"';
  if (category == nullptr) return;
  out_ += ", \"cat\": \"";
  out_ += category;
  out_ += '"';
}

void TraceWriter::close() {
  out_ += '}';
  if (out_.size() < kPiece) return;
  file_.write(out_);
  out_.clear();
}

void TraceWriter::put_time(const char* key, std::uint64_t nanoseconds) {
  out_ += ", \"";
  out_ += key;
  out_ += "\": ";
  append_microseconds(out_, nanoseconds);
}

/// Process and thread; of a device, its number and the stream's.
void TraceWriter::put_place(std::uint32_t thread, const TraceEvent& e) {
  const bool device = on_device(e.kind);
  if (device && std::ranges::find(streams_, std::pair(e.device, e.stream)) == streams_.end())
    streams_.emplace_back(e.device, e.stream);
  out_ += ", \"pid\": ";
  append_number(out_, device ? std::int64_t{e.device} : process_);
  out_ += ", \"tid\": ";
  append_number(out_, device ? std::int64_t{e.stream} : static_cast<std::int64_t>(thread));
}

/// The scopes in force: "epoch 1/warm-up".
void TraceWriter::put_annotation(const TraceEvent& e) {
  if (e.scope == nullptr || e.kind == EventKind::scope || e.kind == EventKind::device_scope) return;
  out_ += "\"User annotation\": \"";
  std::vector<const EventLabel*> chain;
  for (const EventLabel* s = e.scope; s != nullptr; s = s->outer) chain.push_back(s);
  for (std::size_t i = chain.size(); i > 0; --i) {
    out_ += chain[i - 1]->name;
    if (i > 1) out_ += '/';
  }
  out_ += "\", ";
}

void TraceWriter::put_flow(const TraceEvent& e, std::uint32_t thread, bool begins) {
  open(begins ? "s" : "f", "ac2g");
  out_ += ", \"name\": \"ac2g\", \"id\": ";
  append_number(out_, e.correlation);
  put_place(thread, e);
  put_time("ts", since_base(e.begin));
  if (!begins) out_ += ", \"bp\": \"e\"";
  close();
}

void TraceWriter::put_timed(std::uint32_t thread, const TraceEvent& e) {
  const bool device = on_device(e.kind);
  open("X", kKinds[static_cast<std::size_t>(e.kind)].category);
  out_ += ", \"name\": \"";
  out_ += e.label->name;
  if (e.kind == EventKind::run) append_number(out_, e.correlation);
  out_ += '"';
  put_place(thread, e);
  put_time("ts", since_base(e.begin));
  put_time("dur", e.end - e.begin);
  out_ += ", \"args\": {";
  if (e.id != 0) {
    out_ += "\"External id\": ";
    append_number(out_, e.id);
    out_ += ", ";
  }
  if (e.kind == EventKind::node) out_ += "\"Record function id\": 0, ";
  if (device && e.kind != EventKind::device_scope) {  // else HolisticTraceAnalysis counts the scope as work
    out_ += "\"device\": ";
    append_number(out_, e.device);
    out_ += ", \"context\": 0, \"stream\": ";
    append_number(out_, e.stream);
    out_ += ", ";
  }
  if (e.kind == EventKind::collective || (e.correlation != 0 && e.kind != EventKind::run)) {
    out_ += e.kind == EventKind::collective ? "\"Seq\": " : "\"correlation\": ";
    append_number(out_, e.correlation);
    out_ += ", ";
  }
  if (e.bytes != 0) {
    out_ += "\"bytes\": ";
    append_number(out_, e.bytes);
    out_ += ", ";
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
  out_ += "\"Ev Idx\": ";
  append_number(out_, events_ - 1);
  out_ += '}';
  close();
  if (e.flows) put_flow(e, thread, !device);
}

/// PyTorch's event of an allocation, and a counter for viewers.
void TraceWriter::put_memory(std::uint32_t thread, const TraceEvent& e) {
  open("i", "cpu_instant_event");
  out_ += ", \"s\": \"t\", \"name\": \"[memory]\"";
  put_place(thread, e);
  put_time("ts", since_base(e.begin));
  out_ += ", \"args\": {\"Total Reserved\": 0, \"Total Allocated\": ";
  append_number(out_, static_cast<std::int64_t>(e.correlation));
  out_ += ", \"Bytes\": ";
  append_number(out_, static_cast<std::int64_t>(e.bytes));
  out_ += ", \"Device Id\": ";
  append_number(out_, e.device);
  // 0 is a CPU and 1 a GPU, as in c10::DeviceType.
  out_ += e.device < 0 ? ", \"Device Type\": 0, \"Addr\": " : ", \"Device Type\": 1, \"Addr\": ";
  append_number(out_, e.id);
  out_ += ", \"Ev Idx\": ";
  append_number(out_, events_ - 1);
  out_ += '}';
  close();
  open("C", nullptr);
  out_ += ", \"name\": \"memory of ";
  if (e.device < 0) {
    out_ += "the host";
  } else {
    out_ += "device ";
    append_number(out_, e.device);
  }
  out_ += '"';
  put_place(thread, e);
  put_time("ts", since_base(e.begin));
  out_ += ", \"args\": {\"bytes\": ";
  append_number(out_, static_cast<std::int64_t>(e.correlation));
  out_ += '}';
  close();
}

void TraceWriter::put(std::uint32_t thread, const TraceEvent& e) {
  const auto put_frame = [&](const StackFrame& f) {
    open("X", "python_function");
    out_ += ", \"name\": \"" + f.name + "\", \"pid\": ";
    append_number(out_, process_);
    out_ += ", \"tid\": ";
    append_number(out_, kStackThreads + static_cast<std::int64_t>(thread));
    put_time("ts", since_base(f.begin));
    put_time("dur", f.end - f.begin);
    out_ += ", \"args\": {\"Python parent id\": ";
    f.parent == 0 ? void(out_ += "null") : append_number(out_, f.parent);
    out_ += ", \"Python id\": ";
    append_number(out_, f.id);
    out_ += ", \"Ev Idx\": ";
    append_number(out_, events_ - 1);
    out_ += '}';
    close();
  };
  if (e.kind == EventKind::memory) return put_memory(thread, e);
  if (e.kind == EventKind::counter) {
    open("C", nullptr);
    out_ += ", \"name\": \"" + e.label->name + '"';
    put_place(thread, e);
    put_time("ts", since_base(e.begin));
    out_ += ", \"args\": {" + e.label->args;
    append_number(out_, std::bit_cast<double>(e.correlation));
    out_ += '}';
    return close();
  }
  if (e.kind == EventKind::node) stack_of(thread).add(e, put_frame);
  if (e.kind == EventKind::run) stack_of(thread).close(put_frame);
  put_timed(thread, e);
}

void TraceWriter::write(EventBlock& block) {
  const std::uint32_t count = block.count.load(std::memory_order_acquire);
  for (; block.taken < count; ++block.taken) put(block.thread, block.events[block.taken]);
}

void TraceWriter::put_metadata(const char* name, std::int64_t pid, std::int64_t tid, const std::string& args) {
  open("M", nullptr);
  out_ += ", \"name\": \"";
  out_ += name;
  out_ += "\", \"pid\": ";
  append_number(out_, pid);
  out_ += ", \"tid\": ";
  append_number(out_, tid);
  put_time("ts", since_base(steady_begin_));
  out_ += ", \"args\": {" + args + '}';
  close();
}

std::uint64_t TraceWriter::finish(const std::vector<TracedThread>& threads, std::uint64_t dropped) {
  const std::lock_guard lock(mutex_);
  const auto text = [](const std::string& key, const std::string& value) {
    return '"' + key + "\": \"" + escaped(value) + '"';
  };
  put_metadata("process_name", process_, 0, text("name", "tern"));
  put_metadata("process_labels", process_, 0, text("labels", "CPU"));
  put_metadata("process_sort_index", process_, 0, "\"sort_index\": " + std::to_string(process_));
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const std::int64_t tid = threads[i].id;
    const std::string number = std::to_string(tid);
    put_metadata("thread_name", process_, tid, text("name", "thread " + number + " (" + threads[i].name + ")"));
    put_metadata("thread_sort_index", process_, tid, "\"sort_index\": " + std::to_string(2 * i));
    put_metadata("thread_name", process_, kStackThreads + tid, text("name", "modules of thread " + number));
    put_metadata("thread_sort_index", process_, kStackThreads + tid, "\"sort_index\": " + std::to_string(2 * i + 1));
  }
  for (const auto& [number, device] : devices_) {
    put_metadata("process_name", number, 0, text("name", device.name));
    put_metadata("process_labels", number, 0, text("labels", "GPU " + std::to_string(number)));
    put_metadata("process_sort_index", number, 0, "\"sort_index\": " + std::to_string(kDeviceSort + number));
  }
  for (const auto& [device, stream] : streams_) {
    put_metadata("thread_name", device, stream, text("name", "stream " + std::to_string(stream)));
    put_metadata("thread_sort_index", device, stream, "\"sort_index\": " + std::to_string(stream));
  }
  out_ += "\n],\n\"deviceProperties\": [";
  const char* comma = "";
  for (const auto& [number, device] : devices_) {
    out_ += std::string(comma) + "{\"id\": " + std::to_string(number) + ", " + device.properties + "}";
    comma = ", ";
  }
  out_ += "],\n";
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  out_ += text("host_name", host.data()) + ", \"record_shapes\": 1, \"with_stack\": 1, \"with_modules\": 1, " +
          "\"with_flops\": 1, \"profile_memory\": 1,\n";
  if (options_.world_size > 1) {
    std::string ranks;
    for (int i = 0; i < options_.world_size; ++i) ranks += (i > 0 ? ", " : "") + std::to_string(i);
    out_ += "\"distributedInfo\": {" + text("backend", options_.backend) +
            ", \"rank\": " + std::to_string(options_.rank) +
            ", \"world_size\": " + std::to_string(options_.world_size) +
            ", \"pg_count\": 1, \"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", " +
            text("backend_config", options_.backend) + ", \"pg_size\": " + std::to_string(options_.world_size) +
            ", \"ranks\": [" + ranks + "]}]},\n";
  }
  for (const auto& [key, value] : facts_) out_ += text(escaped(key), value) + ",\n";
  out_ += "\"dropped_events\": " + std::to_string(dropped) +
          ", \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": " + std::to_string(base_) + "}\n";
  file_.write(out_);
  file_.commit();
  return events_;
}

}  // namespace tern
