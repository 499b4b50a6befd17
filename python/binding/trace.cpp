// tern.Trace: a file with timed events of runs.
#include <nanobind/stl/string.h>
#include <tern/trace.h>

#include <memory>
#include <string>
#include <utility>

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
  PyTrace(std::string path, TraceOptions options) : path_(std::move(path)), options_(std::move(options)) {}

  void enter() {
    if (trace_ != nullptr) throw nb::value_error("this trace is already recording");
    trace_ = std::make_unique<Trace>(path_, options_);
  }
  void exit() {
    if (trace_ == nullptr) return;
    const std::unique_ptr<Trace> trace = std::move(trace_);
    const WithoutGil released;  // stopping writes and compresses
    stats_ = trace->stop();
  }
  const TraceStats& stats() const { return stats_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  TraceOptions options_;
  std::unique_ptr<Trace> trace_;
  TraceStats stats_;
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
  nb::class_<PyTrace>(m, "Trace", R"(Records all runs of the process in a block, on all threads:

    with tern.Trace("run.json.gz") as trace:
        with tern.scope("warm-up"):
            model(images)
    print(trace.events)

The file has the JSON of PyTorch's profiler: for `tern trace`, Perfetto and chrome://tracing. A name that ends in .gz is
compressed. A process has one trace at a time. Where the block ends with an exception, the file is written all the same.)")
      .def(
          "__init__",
          [](PyTrace* t, nb::handle path, std::uint64_t memory, int rank, int world_size, std::string backend) {
            TraceOptions options;
            options.memory = memory;
            options.rank = rank;
            options.world_size = world_size;
            options.backend = std::move(backend);
            new (t) PyTrace(file_path_of(path), std::move(options));
          },
          "path"_a, nb::kw_only(), "memory"_a = TraceOptions{}.memory, "rank"_a = 0, "world_size"_a = 1,
          "backend"_a = "",
          nb::sig("def __init__(self, path: str | os.PathLike[str], *, memory: int = 67108864, rank: int = 0, "
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
      .def_prop_ro("path", &PyTrace::path, "The file.")
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
