// Traces of runs.
#include <tern/error.h>
#include <tern/trace.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/c_api/errors.h"
#include "runtime/c_api/structs.h"

using namespace tern;         // NOLINT: the functions below are C's
using namespace tern::c_api;  // NOLINT

struct tern_trace {
  tern::Trace trace;
  bool is_in_memory = false;              ///< has no file
  std::vector<TraceRecord> records = {};  ///< after the stop
};
struct tern_trace_scope {
  tern::Trace::Scope scope;
};

extern "C" {

tern_status tern_trace_start(const char* path, const tern_trace_options* options, tern_trace** trace) {
  return guarded([&] {
    require_pointer(trace, "`trace`");
    tern_trace_options o = TERN_TRACE_OPTIONS_INIT;
    if (options != nullptr) read_struct(&o, sizeof o, options);
    TraceOptions chosen;
    chosen.memory = o.memory;
    chosen.rank = o.rank;
    chosen.world_size = o.world_size;
    if (o.backend != nullptr) chosen.backend = o.backend;
    *trace = path != nullptr ? new tern_trace{Trace(path, chosen)} : new tern_trace{Trace(chosen)};
    (*trace)->is_in_memory = path == nullptr;
  });
}

tern_status tern_trace_stop(tern_trace* trace, uint64_t* events, uint64_t* dropped) {
  return guarded([&] {
    require_pointer(trace, "`trace`");
    const TraceStats stats = trace->trace.stop();
    if (events != nullptr) *events = stats.events;
    if (dropped != nullptr) *dropped = stats.dropped;
    if (trace->is_in_memory) trace->records = trace->trace.events();
  });
}

size_t tern_trace_event_count(const tern_trace* trace) {
  return trace == nullptr ? 0 : trace->records.size();
}

tern_status tern_trace_event(const tern_trace* trace, size_t index, tern_trace_record* record) {
  return guarded([&] {
    require_pointer(trace, "`trace`");
    require_pointer(record, "`record`");
    if (index >= trace->records.size())
      fail(ErrorCode::invalid_argument, "event " + std::to_string(index) + " of " +
                                            std::to_string(trace->records.size()) + ": there is no such event");
    const TraceRecord& r = trace->records[index];
    tern_trace_record made{};
    made.size = record->size;
    made.unfinished = r.unfinished ? 1 : 0;
    made.name = r.name.c_str();
    made.type = r.type.c_str();
    made.begin = r.begin;
    made.end = r.end;
    made.thread = r.thread;
    made.device = r.device;
    made.stream = r.stream;
    made.id = r.id;
    made.correlation = r.correlation;
    made.flow = r.flow;
    made.flow_begins = r.flow_begins ? 1 : 0;
    made.sequence = r.sequence;
    made.bytes = r.bytes;
    made.value = r.value;
    made.function = r.function.c_str();
    made.origin = r.origin.c_str();
    made.module = r.module.c_str();
    made.call_stack = r.call_stack.c_str();
    made.annotation = r.annotation.c_str();
    made.args = r.args.c_str();
    std::memcpy(record, &made, std::min<std::size_t>(record->size, sizeof made));
  });
}

void tern_trace_free(tern_trace* trace) {
  delete trace;
}

tern_status tern_trace_scope_begin(const char* name, tern_trace_scope** scope) {
  return guarded([&] {
    require_pointer(name, "`name`");
    require_pointer(scope, "`scope`");
    *scope = new tern_trace_scope{Trace::Scope(name)};
  });
}

void tern_trace_scope_end(tern_trace_scope* scope) {
  delete scope;
}

tern_status tern_trace_counter(const char* name, const char* series, double value) {
  return guarded([&] {
    require_pointer(name, "`name`");
    require_pointer(series, "`series`");
    Trace::counter(name, series, value);
  });
}
}
