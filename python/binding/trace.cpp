// tern.Trace: a file with timed events of runs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tern/trace.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/binding/file_path.h"
#include "python/binding/gil.h"
#include "python/binding/model.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tern::python {
namespace {

/// Starts recording at the begin of the block: a trace never entered leaves no file.
class PyTrace {
 public:
  PyTrace(std::optional<std::string> path, TraceOptions options)
      : path_(std::move(path)), options_(std::move(options)) {}

  void enter() {
    if (trace_ != nullptr) throw nb::value_error("this trace is already recording");
    trace_ = path_ ? std::make_unique<Trace>(*path_, options_) : std::make_unique<Trace>(options_);
    records_.clear();
  }
  void exit() {
    if (trace_ == nullptr) return;
    const std::unique_ptr<Trace> trace = std::move(trace_);
    const WithoutGil released;  // stopping writes and compresses
    stats_ = trace->stop();
    if (!path_) records_ = trace->events();
  }
  const TraceStats& stats() const { return stats_; }
  const std::optional<std::string>& path() const { return path_; }
  const std::vector<TraceRecord>& records() const {
    if (path_) throw nb::value_error("this trace writes its events to a file: make it without a path");
    if (trace_ != nullptr) throw nb::value_error("this trace still records");
    return records_;
  }

 private:
  std::optional<std::string> path_;
  TraceOptions options_;
  std::unique_ptr<Trace> trace_;
  TraceStats stats_;
  std::vector<TraceRecord> records_;
};

class PyScope {
 public:
  explicit PyScope(std::string name) : name_(std::move(name)) {}
  PyScope(const PyScope&) = delete;
  PyScope& operator=(const PyScope&) = delete;
  /// Dropped without its end, for example by an abandoned generator: ends the scope if innermost, else leaks the scope.
  ~PyScope() {
    if (is_innermost())
      exit();
    else
      static_cast<void>(scope_.release());
  }

  void enter() {
    if (scope_ != nullptr) throw nb::value_error("this scope is already open");
    outer_ = innermost();
    scope_ = std::make_unique<Trace::Scope>(name_);
    innermost() = this;
  }
  void exit() {
    if (scope_ == nullptr) return;
    if (!is_innermost()) throw nb::value_error("scopes end in reverse order, on the thread that began them");
    scope_.reset();
    innermost() = outer_;
  }

 private:
  bool is_innermost() const { return innermost() == this; }
  static PyScope*& innermost() {
    static thread_local PyScope* scope = nullptr;
    return scope;
  }

  std::string name_;
  std::unique_ptr<Trace::Scope> scope_;
  PyScope* outer_ = nullptr;
};

}  // namespace

void add_trace(nb::module_& m) {
  nb::class_<TraceRecord>(m, "TraceEvent", "An event of a trace without a file.")
      .def_ro("name", &TraceRecord::name, "'tern::matmul', the kernel's name, 'ProfilerStep#3'.")
      .def_ro("type", &TraceRecord::type, "The category: 'cpu_op', 'kernel'; 'counter' for counters.")
      .def_ro("begin", &TraceRecord::begin, "Nanoseconds of the process's monotonic clock.")
      .def_ro("end", &TraceRecord::end)
      .def_ro("thread", &TraceRecord::thread)
      .def_ro("device", &TraceRecord::device, "Number of the device; -1: the host.")
      .def_ro("stream", &TraceRecord::stream)
      .def_ro("id", &TraceRecord::id, "Number of a node or run, shared with its device work; 0: none.")
      .def_ro("correlation", &TraceRecord::correlation, "Number of a launch, shared with its device work; 0: none.")
      .def_ro("flow", &TraceRecord::flow, "Id of the arrow from a launch to its work; 0: none.")
      .def_ro("flow_begins", &TraceRecord::flow_begins)
      .def_ro("unfinished", &TraceRecord::unfinished, "Ended by an exception.")
      .def_ro("sequence", &TraceRecord::sequence, "Sequence number of a collective in its group; -1: none.")
      .def_ro("bytes", &TraceRecord::bytes, "Copied, checked or allocated; negative: released.")
      .def_ro("value", &TraceRecord::value, "A counter's sample; bytes in use after an allocation.")
      .def_ro("input_sizes", &TraceRecord::input_sizes)
      .def_ro("output_sizes", &TraceRecord::output_sizes)
      .def_ro("function", &TraceRecord::function)
      .def_ro("origin", &TraceRecord::origin, "The node's operator: 'aten.mm.default'.")
      .def_ro("module", &TraceRecord::module)
      .def_ro("call_stack", &TraceRecord::call_stack, "Python line of the operator: 'model.py:42'.")
      .def_ro("annotation", &TraceRecord::annotation, "Scopes, outermost first.")
      .def_ro("args", &TraceRecord::args, "All members as a JSON object.")
      .def("__repr__", [](const TraceRecord& r) { return "<tern.TraceEvent " + r.name + ">"; });
  nb::class_<PyTrace>(m, "Trace", R"(Records all runs of the process in a block, on all threads:

    with tern.Trace("run.json.gz") as trace:
        with tern.scope("warm-up"):
            model(images)
    print(trace.events)

The file has the JSON of PyTorch's profiler: for `tern trace`, Perfetto and chrome://tracing. A name that ends in .gz is
compressed. Without a path the events stay in the process: `recorded` lists them after the block. A process has one
trace at a time. Where the block ends with an exception, the file is written all the same.)")
      .def(
          "__init__",
          [](PyTrace* t, nb::handle path, std::uint64_t memory, int rank, int world_size, std::string backend) {
            TraceOptions options;
            options.memory = memory;
            options.rank = rank;
            options.world_size = world_size;
            options.backend = std::move(backend);
            new (t) PyTrace(path.is_none() ? std::nullopt : std::optional(file_path_of(path)), std::move(options));
          },
          "path"_a = nb::none(), nb::kw_only(), "memory"_a = TraceOptions{}.memory, "rank"_a = 0, "world_size"_a = 1,
          "backend"_a = "",
          nb::sig("def __init__(self, path: str | os.PathLike[str] | None = None, *, memory: int = 67108864, rank: int "
                  "= 0, "
                  "world_size: int = 1, backend: str = '') -> None"),
          "memory: bytes of events that may wait to be written; more are dropped and counted. rank, world_size and "
          "backend describe this process among others, for 'tern trace merge'.")
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<PyTrace&>(self).enter();
             return nb::borrow(self);
           })
      .def(
          "__exit__", [](PyTrace& t, nb::args) { t.exit(); },
          nb::sig("def __exit__(self, *exception: typing.Any) -> None"))
      .def_prop_ro("path", &PyTrace::path, "The file; None: the events stay in the process.")
      .def_prop_ro("recorded", &PyTrace::records, "The events of a trace without a file, after the block.")
      .def_prop_ro(
          "events", [](const PyTrace& t) { return t.stats().events; }, "Events that were written, after the block.")
      .def_prop_ro(
          "dropped", [](const PyTrace& t) { return t.stats().dropped; },
          "Events that were left out by the limit of memory.")
      .def_prop_ro(
          "unnamed", [](const PyTrace& t) { return t.stats().unnamed; },
          "Events whose names or arguments were left out by it.");
  nb::class_<PyScope>(m, "scope",
                      "Annotates what this thread runs in a block, in the trace that records then, if one does.")
      .def(nb::init<std::string>(), "name"_a)
      .def("__enter__", &PyScope::enter)
      .def(
          "__exit__", [](PyScope& s, nb::args) { s.exit(); },
          nb::sig("def __exit__(self, *exception: typing.Any) -> None"));
}

}  // namespace tern::python
