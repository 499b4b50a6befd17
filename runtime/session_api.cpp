// What the application calls of a session.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "dtypes/convert.h"
#include "runtime/devices/device.h"
#include "runtime/graph/graph.h"
#include "runtime/outputs.h"
#include "runtime/session.h"

namespace tern {
namespace {

Stream stream_for(const Prepared& prepared) {
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
    if (found >= 0) fail(ErrorCode::invalid_argument, "the program has several functions; say which one to run");
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
    fail(ErrorCode::invalid_argument,
         "this waits for results, which a captured run has none of; use run() or "
         "enqueue_into()");
}

/// Results in new memory of the host or the session's device.
std::vector<Tensor> run_fresh(const std::shared_ptr<SessionImpl>& session, std::string_view function,
                              std::span<const Tensor> inputs, Device& place) {
  const std::uint32_t index = find_function(*session->prepared->program, function);
  CallerOutputs made(session->prepared->program->functions[index], *session->prepared->device, place);
  if (GraphImpl* graph = session->stream.impl()->capture) {
    graph->record(session, index, inputs, &made);
  } else {
    session->run(index, inputs, &made, true);
  }
  return made.take();
}

}  // namespace

Session::Session(const Prepared& prepared) : Session(prepared, stream_for(prepared)) {}
Session::Session(const Prepared& prepared, const Stream& stream) {
  const std::string& device = prepared.impl()->device->name();
  if (stream.device() != device) {
    fail(ErrorCode::invalid_argument,
         fmt::format("the program is prepared for {}, but the stream is one of {}", device, stream.device()));
  }
  impl_ = std::make_shared<SessionImpl>(prepared.impl(), stream);
}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::vector<Tensor>& Session::run(std::span<const Tensor> inputs) {
  const Program& program = *impl_->prepared->program;
  return run(program.functions[only_entry(program)].name, inputs);
}

const std::vector<Tensor>& Session::run(const std::vector<NamedTensor>& inputs) {
  const Program& program = *impl_->prepared->program;
  return run(program.functions[only_entry(program)].name, inputs);
}

const std::vector<Tensor>& Session::run(std::string_view function, const std::vector<NamedTensor>& inputs) {
  const Program& program = *impl_->prepared->program;
  return run(function, in_order(program.functions[find_function(program, function)], inputs));
}

const std::vector<Tensor>& Session::run(std::string_view function, std::span<const Tensor> inputs) {
  const std::vector<Tensor>& outputs = enqueue(function, inputs);
  if (impl_->stream.is_capturing()) return outputs;
  try {
    impl_->stream.synchronize();
  } catch (const std::exception& e) {
    impl_->give_up(e);
    throw;
  }
  return outputs;
}

void Session::run_into(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const Program& program = *impl_->prepared->program;
  run_into(program.functions[only_entry(program)].name, inputs, outputs);
}

void Session::run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  refuse_capture(impl_->stream);
  const Program& program = *impl_->prepared->program;
  const std::uint32_t index = find_function(program, function);
  if (outputs.empty() && !program.functions[index].outputs.empty())
    fail(ErrorCode::invalid_argument, fmt::format("'{}' has {} results, but no tensors were given for them", function,
                                                  program.functions[index].outputs.size()));
  if (outputs.empty()) {
    run(function, inputs);
  } else {
    CallerOutputs into(program.functions[index], *impl_->prepared->device, outputs);
    impl_->run(index, inputs, &into, true);
  }
}

void Session::enqueue_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const std::uint32_t index = find_function(*impl_->prepared->program, function);
  CallerOutputs into(impl_->prepared->program->functions[index], *impl_->prepared->device, outputs);
  if (GraphImpl* graph = impl_->stream.impl()->capture) {
    graph->record(impl_, index, inputs, &into);
  } else {
    impl_->run(index, inputs, &into);
  }
}

std::vector<Tensor> Session::run_owned(std::string_view function, std::span<const Tensor> inputs) {
  refuse_capture(impl_->stream);
  return run_fresh(impl_, function, inputs, cpu_device());
}

std::vector<Tensor> Session::run_on_device(std::string_view function, std::span<const Tensor> inputs) {
  return run_fresh(impl_, function, inputs, *impl_->prepared->device);
}

const Tensor& Session::output(std::string_view name) const {
  if (impl_->last == nullptr) fail(ErrorCode::invalid_argument, "no run has given results yet");
  const std::vector<FunctionOutput>& names = impl_->last->outputs;
  const auto found = std::ranges::find(names, name, &FunctionOutput::name);
  if (found != names.end()) return impl_->outputs[static_cast<std::size_t>(found - names.begin())];
  std::string list;
  for (const FunctionOutput& o : names) list += fmt::format("{}'{}'", list.empty() ? "" : ", ", o.name);
  fail(ErrorCode::invalid_argument, fmt::format("'{}' has no result '{}'; it has {}", impl_->last->name, name, list));
}

const std::vector<Tensor>& Session::enqueue(std::string_view function, std::span<const Tensor> inputs) {
  const std::uint32_t index = find_function(*impl_->prepared->program, function);
  if (GraphImpl* graph = impl_->stream.impl()->capture) return graph->record(impl_, index, inputs, nullptr);
  impl_->run(index, inputs, nullptr);
  return impl_->outputs;
}

const Stream& Session::stream() const {
  return impl_->stream;
}

void Session::set_seed(std::uint64_t seed) {
  impl_->context.random = {seed, 0};
}

RandomPosition Session::random_position() const {
  return {impl_->context.random.seed, impl_->context.random.offset};
}

void Session::set_random_position(const RandomPosition& position) {
  impl_->context.random = {position.seed, position.offset};
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
  impl_->profile = on ? std::make_unique<Profile>() : nullptr;
  impl_->context.profile = impl_->profile.get();
}

std::vector<NodeTime> Session::profile() const {
  return impl_->profile == nullptr ? std::vector<NodeTime>{} : impl_->profile->times(*impl_->prepared->program);
}

SessionStats Session::stats() const {
  SessionStats stats;
  for (const auto& [i, frame] : impl_->frames) {
    stats.arena_bytes += frame->arena_bytes();
    frame->count_parts(stats);
  }
  stats.arena_bytes += impl_->context.scratch.size();
  stats.state_bytes = impl_->state.bytes();
  stats.plans_made = impl_->context.plans_made;
  stats.bytes_copied = impl_->context.bytes_copied;
  return stats;
}

}  // namespace tern
