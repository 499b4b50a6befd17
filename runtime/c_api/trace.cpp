// Traces of runs.
#include <tern/trace.h>

#include <memory>
#include <utility>

#include "runtime/c_api/errors.h"
#include "runtime/c_api/structs.h"

using namespace tern;         // NOLINT: the functions below are C's
using namespace tern::c_api;  // NOLINT

struct tern_trace {
  tern::Trace trace;
};
struct tern_trace_scope {
  tern::Trace::Scope scope;
};

extern "C" {

tern_status tern_trace_start(const char* path, const tern_trace_options* options, tern_trace** trace) {
  return guarded([&] {
    need(path, "`path`");
    need(trace, "`trace`");
    tern_trace_options o = TERN_TRACE_OPTIONS_INIT;
    if (options != nullptr) read_struct(&o, sizeof o, options);
    TraceOptions chosen;
    chosen.memory = o.memory;
    chosen.rank = o.rank;
    chosen.world_size = o.world_size;
    if (o.backend != nullptr) chosen.backend = o.backend;
    *trace = new tern_trace{Trace(path, chosen)};
  });
}

tern_status tern_trace_stop(tern_trace* trace, uint64_t* events, uint64_t* dropped) {
  return guarded([&] {
    need(trace, "`trace`");
    const TraceStats stats = trace->trace.stop();
    if (events != nullptr) *events = stats.events;
    if (dropped != nullptr) *dropped = stats.dropped;
  });
}

void tern_trace_free(tern_trace* trace) {
  delete trace;
}

tern_status tern_trace_scope_begin(const char* name, tern_trace_scope** scope) {
  return guarded([&] {
    need(name, "`name`");
    need(scope, "`scope`");
    *scope = new tern_trace_scope{Trace::Scope(name)};
  });
}

void tern_trace_scope_end(tern_trace_scope* scope) {
  delete scope;
}

tern_status tern_trace_counter(const char* name, const char* series, double value) {
  return guarded([&] {
    need(name, "`name`");
    need(series, "`series`");
    Trace::counter(name, series, value);
  });
}
}
