// Public functions of sessions.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <utility>

#include "dtypes/convert.h"
#include "runtime/devices/device.h"
#include "runtime/graph/graph.h"
#include "runtime/outputs.h"
#include "runtime/session.h"

namespace tern {
namespace {

Stream stream_for(const PreparedModel& prepared) {
  const Device& device = *prepared.impl()->device;
  auto scoped = scoped_stream(device);
  return scoped == nullptr ? Stream(device.name()) : Stream(std::move(scoped));
}

std::uint32_t only_entry(const Program& program) {
  const int forward = program.find_entry("forward");
  if (forward >= 0) return static_cast<std::uint32_t>(forward);
  int found = -1;
  for (std::size_t i = 0; i < program.functions.size(); ++i) {
    if (!program.functions[i].entry) continue;
    if (found >= 0) fail(ErrorCode::invalid_argument, "the program has several functions; name the one to run");
    found = static_cast<int>(i);
  }
  if (found < 0) fail(ErrorCode::invalid_argument, "the program has no function to run");
  return static_cast<std::uint32_t>(found);
}

std::string list_entries(const Program& program) {
  std::string names;
  for (const Function& f : program.functions) {
    if (f.entry) names += (names.empty() ? "" : ", ") + f.name;
  }
  return names;
}

std::uint32_t find_function(const Program& program, std::string_view name) {
  for (std::uint32_t i = 0; i < program.functions.size(); ++i) {
    if (program.functions[i].entry && program.functions[i].name == name) return i;
  }
  fail(ErrorCode::invalid_argument,
       fmt::format("the program has no function '{}'; it has: {}", name, list_entries(program)));
}

void refuse_capture(const Stream& stream) {
  if (stream.is_capturing())
    fail(ErrorCode::invalid_argument, "a captured run has no results to wait for; use run() or enqueue_into()");
}

const Program& program_of(const std::shared_ptr<SessionImpl>& session) {
  if (session == nullptr) fail(ErrorCode::invalid_argument, "the session object was moved from");
  return *session->prepared->program;
}

/// Results in new memory of the host or the session's device.
std::vector<Tensor> run_fresh(const SessionUse& session, std::string_view function, std::span<const Tensor> inputs,
                              Device& place) {
  const std::uint32_t index = find_function(*session->prepared->program, function);
  CallerOutputs new_outputs(session->prepared->program->functions[index], *session->prepared->device, place);
  if (GraphImpl* graph = session->stream.impl()->capture) {
    graph->record(session.session(), index, inputs, &new_outputs);
  } else {
    session->run(index, inputs, &new_outputs, true);
  }
  return new_outputs.release_tensors();
}

const std::vector<Tensor>& enqueue_run(const SessionUse& session, std::string_view function,
                                       std::span<const Tensor> inputs) {
  const std::uint32_t index = find_function(*session->prepared->program, function);
  if (GraphImpl* graph = session->stream.impl()->capture)
    return graph->record(session.session(), index, inputs, nullptr);
  session->run(index, inputs, nullptr);
  session.check_kept();
  return session->outputs;
}

const std::vector<Tensor>& run_and_wait(const SessionUse& session, std::string_view function,
                                        std::span<const Tensor> inputs) {
  const std::vector<Tensor>& outputs = enqueue_run(session, function, inputs);
  if (session->stream.is_capturing()) return outputs;
  try {
    session->stream.synchronize();
  } catch (const std::exception& e) {
    session->give_up(e);
    throw;
  }
  return outputs;
}

void drop(const std::shared_ptr<SessionImpl>& session) noexcept {
  if (session != nullptr) session->is_dropped = true;
}

}  // namespace

SessionUse::SessionUse(std::shared_ptr<SessionImpl> session) : session_(std::move(session)) {
  program_of(session_);
  if (session_->is_in_use.exchange(true))
    fail(ErrorCode::invalid_argument,
         "the session is in use, by another thread or by the run whose operator calls it; it has one caller at a time: "
         "make a session for each");
}

void SessionUse::check_kept() const {
  if (session_->is_dropped)
    fail(ErrorCode::invalid_argument, "the session was replaced or destroyed while it ran; its results are gone");
}

Session::Session(const PreparedModel& prepared) : Session(prepared, stream_for(prepared)) {}
Session::Session(const PreparedModel& prepared, const Stream& stream) {
  const std::string& device = prepared.impl()->device->name();
  if (stream.device() != device) {
    fail(ErrorCode::invalid_argument,
         fmt::format("the program is prepared for {}, but the stream is one of {}", device, stream.device()));
  }
  impl_ = std::make_shared<SessionImpl>(prepared.impl(), stream);
}
Session::~Session() {
  drop(impl_);
}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  if (this == &other) return *this;
  drop(impl_);
  impl_ = std::move(other.impl_);
  return *this;
}

const std::vector<Tensor>& Session::run(std::span<const Tensor> inputs) {
  const Program& program = program_of(impl_);
  return run(program.functions[only_entry(program)].name, inputs);
}

const std::vector<Tensor>& Session::run(const std::vector<NamedTensor>& inputs) {
  const Program& program = program_of(impl_);
  return run(program.functions[only_entry(program)].name, inputs);
}

const std::vector<Tensor>& Session::run(std::string_view function, const std::vector<NamedTensor>& inputs) {
  const Program& program = program_of(impl_);
  return run(function, order_inputs(program.functions[find_function(program, function)], inputs));
}

const std::vector<Tensor>& Session::run(std::string_view function, std::span<const Tensor> inputs) {
  return run_and_wait(SessionUse(impl_), function, inputs);
}

void Session::run_into(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const Program& program = program_of(impl_);
  run_into(program.functions[only_entry(program)].name, inputs, outputs);
}

void Session::run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const SessionUse session(impl_);
  refuse_capture(session->stream);
  const Program& program = *session->prepared->program;
  const std::uint32_t index = find_function(program, function);
  if (outputs.empty() && !program.functions[index].outputs.empty())
    fail(ErrorCode::invalid_argument, fmt::format("'{}' has {} results, but no tensors were given for them", function,
                                                  program.functions[index].outputs.size()));
  if (outputs.empty()) {
    run_and_wait(session, function, inputs);
  } else {
    CallerOutputs caller_outputs(program.functions[index], *session->prepared->device, outputs);
    session->run(index, inputs, &caller_outputs, true);
    session.check_kept();
  }
}

void Session::enqueue_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const SessionUse session(impl_);
  const std::uint32_t index = find_function(*session->prepared->program, function);
  CallerOutputs caller_outputs(session->prepared->program->functions[index], *session->prepared->device, outputs);
  if (GraphImpl* graph = session->stream.impl()->capture) {
    graph->record(session.session(), index, inputs, &caller_outputs);
  } else {
    session->run(index, inputs, &caller_outputs);
    session.check_kept();
  }
}

std::vector<Tensor> Session::run_into_new(std::string_view function, std::span<const Tensor> inputs) {
  const SessionUse session(impl_);
  refuse_capture(session->stream);
  return run_fresh(session, function, inputs, cpu_device());
}

std::vector<Tensor> Session::run_on_device(std::string_view function, std::span<const Tensor> inputs) {
  const SessionUse session(impl_);
  return run_fresh(session, function, inputs, *session->prepared->device);
}

const Tensor& Session::output(std::string_view name) const {
  const SessionUse session(impl_);
  if (session->last == nullptr) fail(ErrorCode::invalid_argument, "no run has produced results yet");
  const std::vector<FunctionOutput>& names = session->last->outputs;
  const auto found = std::ranges::find(names, name, &FunctionOutput::name);
  if (found != names.end()) return session->outputs[static_cast<std::size_t>(found - names.begin())];
  std::string list;
  for (const FunctionOutput& o : names) list += fmt::format("{}'{}'", list.empty() ? "" : ", ", o.name);
  fail(ErrorCode::invalid_argument, fmt::format("'{}' has no result '{}'; it has {}", session->last->name, name, list));
}

const std::vector<Tensor>& Session::enqueue(std::string_view function, std::span<const Tensor> inputs) {
  return enqueue_run(SessionUse(impl_), function, inputs);
}

const Stream& Session::stream() const {
  program_of(impl_);
  return impl_->stream;
}

void Session::set_seed(std::uint64_t seed) {
  SessionUse(impl_)->context.random = {seed, 0};
}

RandomPosition Session::random_position() const {
  const SessionUse session(impl_);
  return {session->context.random.seed, session->context.random.offset};
}

void Session::set_random_position(const RandomPosition& position) {
  SessionUse(impl_)->context.random = {position.seed, position.offset};
}

double Session::step(std::span<const Tensor> inputs, double rate) {
  std::vector<Tensor> all(inputs.begin(), inputs.end());
  all.push_back(Tensor::borrow(&rate, DType::f64, {}));
  run("train_step", all);
  const Tensor& loss = output("loss");
  double value = 0;
  convert(loss.data(), loss.dtype(), &value, DType::f64, 1);
  return value;
}

void Session::set_profiling(bool on) {
  const SessionUse session(impl_);
  session->profile = on ? std::make_unique<Profile>() : nullptr;
  session->context.profile = session->profile.get();
}

std::vector<NodeTime> Session::profile() const {
  const SessionUse session(impl_);
  return session->profile == nullptr ? std::vector<NodeTime>{} : session->profile->times(*session->prepared->program);
}

SessionStats Session::stats() const {
  const SessionUse session(impl_);
  SessionStats stats;
  for (const auto& [i, frame] : session->frames) {
    stats.arena_bytes += frame->arena_bytes();
    frame->count_parts(stats);
  }
  stats.arena_bytes += session->context.scratch.size();
  stats.state_bytes = session->state.bytes();
  stats.plans_made = session->context.plans_made;
  stats.bytes_copied = session->context.bytes_copied;
  return stats;
}

}  // namespace tern
