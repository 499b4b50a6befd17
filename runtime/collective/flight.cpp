#include "runtime/collective/flight.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "platform/environment.h"
#include "platform/signals.h"
#include "runtime/collective/call.h"
#include "runtime/collective/pickle_writer.h"
#include "runtime/log.h"

namespace tern {
namespace {

/// Names used by torchfrtrace and torch.distributed's recorders, by CollectiveKind.
constexpr const char* kFlightNames[] = {
    "all_reduce", "_all_gather_base", "_reduce_scatter_base", "broadcast", "all_to_all", "gather", "scatter",
    "reduce",     "all_gather_v",     "reduce_scatter_v",     "barrier",   "send",       "recv"};
constexpr const char* kStates[] = {"scheduled", "started", "completed"};

std::string_view torch_name(DType t) {
  switch (t) {
    case DType::f32: return "Float";
    case DType::f64: return "Double";
    case DType::f16: return "Half";
    case DType::bf16: return "BFloat16";
    case DType::i64: return "Long";
    case DType::i32: return "Int";
    case DType::i16: return "Short";
    case DType::i8: return "Char";
    case DType::u8: return "Byte";
    case DType::boolean: return "Bool";
    default: return name_of(t);
  }
}

/// torchfrtrace does not know mpi and rccl (PyTorch names RCCL "nccl").
std::string torch_engine(std::string_view engine) {
  return engine == "nccl" || engine == "rccl" ? "nccl:" : "gloo:";
}

template <std::size_t N>
void copy_text(std::array<char, N>& to, std::string_view text) {
  const std::size_t n = std::min(text.size(), N - 1);
  std::copy_n(text.begin(), n, to.begin());
  to[n] = 0;
}

std::int64_t nanoseconds(std::chrono::system_clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

void put_sizes(PickleWriter& p, const char* key, std::int64_t n) {
  p.text(key);
  p.begin_list();
  p.begin_list();
  p.number(n);
  p.end_list();
  p.end_list();
}
void put_type(PickleWriter& p, const char* key, DType t) {
  p.text(key);
  p.begin_list();
  p.text(torch_name(t));
  p.end_list();
}

std::optional<int> launched_rank() {
  try {
    return launched_group_options().rank;
  } catch (const Error&) {
    return {};  // no launcher
  }
}

std::string folder_of_environment() {
  return platform::trusted_variable("TERN_FLIGHT_FOLDER").value_or("");
}

/// Installs the handler early: a signal before the connection of the group must not kill the process.
[[maybe_unused]] const bool kHandlesSignalEarly = !folder_of_environment().empty() && platform::catch_report_signal();

}  // namespace

FlightRecorder::FlightRecorder() {
  set_folder(folder_of_environment());
}

FlightRecorder& FlightRecorder::process() {
  static auto* const recorder = new FlightRecorder;  // NOLINT: threads may use it until the process ends
  return *recorder;
}

void FlightRecorder::add_group(const std::string& name, int size, int rank, bool is_in_process) {
  const std::optional<int> launched = is_in_process ? std::nullopt : launched_rank();
  const std::lock_guard lock(mutex_);
  groups_[name] = size;
  if (is_in_process || size <= largest_group_size_) return;
  largest_group_size_ = size;
  rank_ = launched.value_or(rank);
}

std::uint64_t FlightRecorder::schedule(const GroupMember& member, const Collective& c, std::uint64_t number) {
  const int rank = member.rank, ranks = member.ranks;
  const std::lock_guard lock(mutex_);
  if (ring_.empty()) ring_.resize(kMaxRecords);
  Entry& e = ring_[record_count_ % kMaxRecords];
  e = {.record = ++record_count_,
       .number = number,
       .kind = c.kind,
       .reduce = c.reduce,
       .dtype = c.dtype,
       .in = c.kind == CollectiveKind::receive ? 0 : c.count,
       .rank = rank,
       .ranks = ranks,
       .root = c.root,
       .is_in_process = member.is_in_process,
       .created = Clock::now()};
  const auto rank_count = static_cast<std::size_t>(ranks);
  const bool complete = (c.kind != CollectiveKind::reduce_scatter_v || c.input_splits.size() == rank_count) &&
                        (c.kind != CollectiveKind::all_gather_v || c.output_splits.size() == rank_count);
  e.out = complete ? results_of(c, rank, ranks) : 0;
  copy_text(e.engine, member.engine);
  copy_text(e.group, member.group);
  copy_text(e.where, c.location);
  if (largest_group_size_ == 0) rank_ = rank;
  return e.record;
}

FlightRecorder::Entry* FlightRecorder::find(std::uint64_t record) {
  Entry& e = ring_[(record - 1) % kMaxRecords];
  return e.record == record ? &e : nullptr;
}

void FlightRecorder::start(std::uint64_t record) {
  const std::lock_guard lock(mutex_);
  if (Entry* e = find(record)) e->state = State::started, e->started = Clock::now();
}
void FlightRecorder::complete(std::uint64_t record) {
  const std::lock_guard lock(mutex_);
  if (Entry* e = find(record)) e->state = State::completed, e->completed = Clock::now();
}

void FlightRecorder::set_folder(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  folder_ = folder;
  if (!folder.empty()) platform::report_on_signal([] { process().write_on_failure(-1); });
}

void FlightRecorder::write_on_failure(int rank) noexcept {
  try {
    std::string folder;
    {
      const std::lock_guard lock(mutex_);
      folder = folder_;
      if (rank < 0) rank = rank_;
    }
    if (!folder.empty()) write(folder, rank);
  } catch (const std::exception& e) {
    log_message(LogLevel::error, std::string("the flight record was not written: ") + e.what());
  }
}

/// Pickles the calls of this process, or of rank `rank` in groups of threads.
std::string FlightRecorder::pickle_bytes(int rank) const {
  PickleWriter p;
  p.begin_dict();
  p.text("version");
  p.text("2.10");
  p.text("pg_config");
  p.begin_dict();
  for (const auto& [name, size] : groups_) {
    p.text(name);
    p.begin_dict();
    p.text("name");
    p.text(name);
    p.text("desc");
    p.text(name == "0" ? "default_pg" : name);
    p.text("ranks");
    std::string ranks;
    for (int r = 0; r < size; ++r) ranks += fmt::format("{}{}", r == 0 ? "[" : ", ", r);
    p.text(ranks + "]");
    p.end_dict();
  }
  p.end_dict();
  p.text("entries");
  p.begin_list();
  for (std::uint64_t i = record_count_ > kMaxRecords ? record_count_ - kMaxRecords : 0; i < record_count_; ++i) {
    const Entry& e = ring_[i % kMaxRecords];
    if (e.is_in_process && e.rank != rank) continue;
    const bool p2p = is_point_to_point(e.kind);
    std::string name = kFlightNames[static_cast<std::size_t>(e.kind)];
    if (e.kind == CollectiveKind::send) name += fmt::format(" {}->{}", e.rank, e.root);
    if (e.kind == CollectiveKind::receive) name += fmt::format(" {}<-{}", e.rank, e.root);
    p.begin_dict();
    const auto put_number = [&](const char* key, std::uint64_t x) {
      p.text(key);
      p.number(static_cast<std::int64_t>(x));
    };
    put_number("record_id", e.record);
    put_number("pg_id", 0);
    p.text("process_group");
    p.begin_tuple();
    p.text(e.group.data());
    p.text(std::string_view(e.group.data()) == "0" ? "default_pg" : e.group.data());
    p.end_tuple();
    put_number("collective_seq_id", p2p ? 0 : e.number);
    put_number("p2p_seq_id", p2p ? e.number : 0);
    put_number("op_id", e.record);
    p.text("profiling_name");
    p.text(torch_engine(e.engine.data()) + name);
    p.text("engine");
    p.text(e.engine.data());
    put_number("time_created_ns", static_cast<std::uint64_t>(nanoseconds(e.created)));
    put_sizes(p, "input_sizes", e.in);
    put_sizes(p, "output_sizes", e.out);
    put_type(p, "input_dtypes", e.dtype);
    put_type(p, "output_dtypes", e.dtype);
    p.text("state");
    p.text(kStates[static_cast<std::size_t>(e.state)]);
    p.text("time_discovered_started_ns");
    e.state == State::scheduled ? p.none() : p.number(nanoseconds(e.started));
    p.text("time_discovered_completed_ns");
    e.state == State::completed ? p.number(nanoseconds(e.completed)) : p.none();
    p.text("retired");
    p.flag(e.state == State::completed);
    p.text("is_p2p");
    p.flag(p2p);
    p.text("timeout_ms");
    p.number(0);
    p.text("frames");
    p.begin_list();
    if (const std::string_view where = e.where.data(); !where.empty()) {
      const std::size_t colon = where.rfind(':');
      const std::string line(colon == std::string_view::npos ? "" : where.substr(colon + 1));
      p.begin_dict();
      p.text("name");
      p.text("forward");
      p.text("filename");
      p.text(where.substr(0, colon));
      p.text("line");
      p.number(std::atoll(line.c_str()));
      p.end_dict();
    }
    p.end_list();
    p.end_dict();
  }
  p.end_list();
  p.end_dict();
  return std::move(p).finish();
}

std::string FlightRecorder::write(const std::string& folder, int rank) {
  const std::lock_guard files_lock(files_mutex_);
  std::string bytes;
  {
    const std::lock_guard lock(mutex_);
    bytes = pickle_bytes(rank);
  }
  return files_.write(folder, rank, bytes);
}

std::string write_flight_record(const std::string& folder, int rank) {
  return FlightRecorder::process().write(folder, rank);
}
void set_flight_folder(const std::string& folder) {
  FlightRecorder::process().set_folder(folder);
}

}  // namespace tern
