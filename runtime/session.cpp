#include "runtime/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/devices/times.h"
#include "runtime/graph/graph.h"
#include "runtime/outputs.h"
#include "runtime/tensor_view.h"

namespace tern {

SessionImpl::SessionImpl(std::shared_ptr<const PreparedProgram> p, const Stream& s)
    : prepared(std::move(p)),
      stream(s),
      transfer(prepared->device == nullptr ? nullptr : std::make_unique<DeviceTransfer>(stream.impl()->work)),
      state(*prepared, stream.impl()->work.get()) {
  context.prepared = prepared.get();
  context.state = &state;
  context.stream = stream.impl()->work.get();
  context.groups = &groups;
}

void SessionImpl::give_up(const std::exception& why) noexcept {
  if (context.stream != nullptr) context.stream->recover();
  const auto* e = dynamic_cast<const Error*>(&why);
  const bool refused =
      e != nullptr && (e->code() == ErrorCode::invalid_argument || e->code() == ErrorCode::unsupported);
  if (!refused) groups.abort(why.what());
}

namespace {

std::string device_of(const Prepared& prepared) {
  const Device* device = prepared.impl()->device;
  return device == nullptr ? "cpu" : device->name();
}

Stream stream_for(const Prepared& prepared) {
  const std::string device = device_of(prepared);
  auto scoped = scoped_stream(device);
  return scoped == nullptr ? Stream(device) : Stream(std::move(scoped));
}

}  // namespace

Session::Session(const Prepared& prepared) : Session(prepared, stream_for(prepared)) {}
Session::Session(const Prepared& prepared, const Stream& stream) {
  const std::string device = device_of(prepared);
  if (stream.device() != device) {
    fail(ErrorCode::invalid_argument,
         fmt::format("the program is prepared for {}, but the stream is one of {}", device, stream.device()));
  }
  impl_ = std::make_shared<SessionImpl>(prepared.impl(), stream);
}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

namespace {

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

}  // namespace

void fill_inputs(const Program& program, const Function& f, std::span<const Tensor> given,
                 std::vector<TensorView>& views) {
  views.resize(f.inputs.size());
  const auto wanted =
      static_cast<std::size_t>(std::ranges::count(f.inputs, FunctionInput::Kind::user, &FunctionInput::kind));
  if (given.size() != wanted) {
    std::string names;
    for (const FunctionInput& in : f.inputs) {
      if (in.kind == FunctionInput::Kind::user) names += (names.empty() ? "" : ", ") + in.name;
    }
    fail(ErrorCode::invalid_argument,
         fmt::format("'{}' takes {} inputs ({}), but {} were given", f.name, wanted, names, given.size()));
  }
  std::size_t k = 0;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    if (f.inputs[i].kind != FunctionInput::Kind::user) continue;
    const Tensor& t = given[k++];
    TensorView& v = views[i];
    v.dtype = t.dtype();
    v.rank = static_cast<std::int32_t>(t.sizes().size());
    v.data = static_cast<std::byte*>(const_cast<void*>(t.data()));
    if (f.inputs[i].value == kNoValue) continue;
    const TensorType& type = f.values[static_cast<std::size_t>(f.inputs[i].value)].type;
    if (t.dtype() != type.dtype || v.rank != type.rank()) {
      fail(ErrorCode::invalid_argument, fmt::format("input '{}' is {}, where the program takes {}", f.inputs[i].name,
                                                    text_of(t), text_of(type, program.pool)));
    }
    if (!t.is_contiguous())
      fail(ErrorCode::invalid_argument,
           fmt::format("input '{}' is strided; a captured run takes contiguous inputs", f.inputs[i].name));
    std::ranges::copy(t.sizes(), v.sizes.begin());
    make_contiguous(v);
  }
  for (const WriteBack& w : f.writebacks) {
    if (w.target != WriteBack::Target::input) continue;
    const auto position = static_cast<std::size_t>(
        std::count_if(f.inputs.begin(), f.inputs.begin() + w.index,
                      [](const FunctionInput& in) { return in.kind == FunctionInput::Kind::user; }));
    if (given[position].read_only()) {
      fail(ErrorCode::invalid_argument,
           fmt::format("the program writes input '{}' back, but it was given read-only", f.inputs[w.index].name));
    }
  }
}

void SessionImpl::lend(std::span<const TensorView> results, std::vector<Tensor>& outputs) {
  outputs.resize(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorView& v = results[i];
    Tensor& t = outputs[i];
    t.dtype_ = v.dtype;
    t.sizes_.assign(v.sizes.begin(), v.sizes.begin() + v.rank);
    t.data_ = v.data;
    t.bytes_ = static_cast<std::size_t>(DeviceTransfer::bytes_of(v));
  }
}

std::span<const Tensor> SessionImpl::make_dense(std::span<const Tensor> given) {
  if (std::ranges::all_of(given, &Tensor::is_contiguous)) return given;
  if (transfer != nullptr) stream.impl()->work->settle();  // a run before may still read its copies
  dense.assign(given.begin(), given.end());
  for (Tensor& t : dense) {
    if (t.is_contiguous() || t.sizes().size() > kMaxRank) continue;
    const bool read_only = t.read_only();
    t = t.clone();
    t.read_only_ = read_only;
  }
  return dense;
}

/// Copies what the run wrote to contiguous copies of strided inputs back to the caller's memory.
void SessionImpl::update_strided(const Function& f, std::span<const Tensor> given) {
  std::size_t k = 0;
  for (std::uint32_t i = 0; i < f.inputs.size(); ++i) {
    if (f.inputs[i].kind != FunctionInput::Kind::user) continue;
    const Tensor& t = given[k];
    const Tensor& copy = dense[k++];
    const auto is_target = [&](const WriteBack& w) { return w.target == WriteBack::Target::input && w.index == i; };
    if (t.is_contiguous() || !std::ranges::any_of(f.writebacks, is_target)) continue;
    stream.synchronize();
    copy_strided(tensor_view(copy), tensor_view(t));
  }
}

void SessionImpl::run(std::uint32_t index, std::span<const Tensor> given, std::span<const Tensor> into) {
  const Program& program = *prepared->program;
  const Function& f = program.functions[index];
  context.threads = Threads::chosen(prepared->options.threads);
  const ThreadScope scope(context.threads);
  const std::span<const Tensor> contiguous = make_dense(given);
  fill_inputs(program, f, contiguous, inputs);
  std::optional<CallerOutputs> caller;
  if (!into.empty()) caller.emplace(f, into, inputs);
  CallerOutputs* const to = caller ? &*caller : nullptr;
  auto& frame = frames[index];
  if (frame == nullptr) frame = std::make_unique<Frame>(context, index);
  context.bytes_copied = 0;
  context.limits.start(prepared->options);
  try {
    DeviceTimes times(context);
    if (transfer != nullptr) transfer->bring(f, inputs);
    const std::vector<TensorView>& results = frame->run(inputs, {}, to);
    const std::vector<TensorView>& there = transfer == nullptr ? results : transfer->take_back(f, results, to);
    if (to != nullptr) {
      if (transfer != nullptr) stream.synchronize();
      to->copy(there);
      outputs.assign(into.begin(), into.end());
    } else {
      lend(there, outputs);
    }
    last = &f;
    times.finish();
    if (contiguous.data() != given.data()) update_strided(f, given);
  } catch (const std::exception& e) {
    give_up(e);
    throw;
  }
}

namespace {

std::uint32_t find_function(const Program& program, std::string_view name) {
  for (std::uint32_t i = 0; i < program.functions.size(); ++i) {
    if (program.functions[i].entry && program.functions[i].name == name) return i;
  }
  fail(ErrorCode::invalid_argument,
       fmt::format("the program has no function '{}'; it has: {}", name, list_entries(program)));
}

/// "'a', 'b'" of those that have a name and are of the kind.
std::string list_inputs(const Function& f) {
  std::string names;
  for (const FunctionInput& in : f.inputs) {
    if (in.kind == FunctionInput::Kind::user) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", in.name);
  }
  return names;
}

/// The tensors in the order in which the function takes them.
std::vector<Tensor> in_order(const Function& f, const std::vector<NamedTensor>& given) {
  std::vector<Tensor> ordered;
  for (const FunctionInput& in : f.inputs) {
    if (in.kind != FunctionInput::Kind::user) continue;
    const auto found = std::ranges::find(given, in.name, &NamedTensor::name);
    if (found == given.end())
      fail(ErrorCode::invalid_argument, fmt::format("input '{}' of '{}' was not given", in.name, f.name));
    ordered.push_back(found->tensor);
  }
  for (const NamedTensor& g : given) {
    const auto is = [&](const FunctionInput& in) { return in.kind == FunctionInput::Kind::user && in.name == g.name; };
    if (std::ranges::count(given, g.name, &NamedTensor::name) > 1)
      fail(ErrorCode::invalid_argument, fmt::format("input '{}' was given twice", g.name));
    if (std::ranges::none_of(f.inputs, is))
      fail(ErrorCode::invalid_argument,
           fmt::format("'{}' has no input '{}'; it takes {}", f.name, g.name, list_inputs(f)));
  }
  return ordered;
}

}  // namespace

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
  if (impl_->stream.is_capturing())
    fail(ErrorCode::invalid_argument, "a captured run keeps its results in the graph's memory; use run()");
  const Program& program = *impl_->prepared->program;
  const std::uint32_t index = find_function(program, function);
  if (outputs.empty() && !program.functions[index].outputs.empty())
    fail(ErrorCode::invalid_argument, fmt::format("'{}' has {} results, but no tensors were given for them", function,
                                                  program.functions[index].outputs.size()));
  if (outputs.empty()) {
    run(function, inputs);
  } else {
    impl_->run(index, inputs, outputs);
  }
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
  if (GraphImpl* graph = impl_->stream.impl()->capture) return graph->record(impl_, index, inputs);
  impl_->run(index, inputs, {});
  return impl_->outputs;
}

const Stream& Session::stream() const {
  return impl_->stream;
}

namespace {

void refuse_during_capture(const SessionImpl& s) {
  if (s.stream.is_capturing())
    fail(ErrorCode::invalid_argument,
         "a session's state and groups are neither read nor changed while its stream is captured");
}

std::uint32_t find_state(const Program& program, std::string_view name) {
  for (std::uint32_t i = 0; i < program.states.size(); ++i) {
    if (program.states[i].name == name) return i;
  }
  fail(ErrorCode::invalid_argument, fmt::format("the program has no state '{}'; Model::states() lists them", name));
}

TensorView state_view(const State& s, std::byte* data) {
  TensorView v;
  v.dtype = s.type.dtype;
  v.rank = s.type.rank();
  for (std::size_t i = 0; i < s.type.shape.size(); ++i) v.sizes[i] = s.type.shape[i].value();
  std::ranges::copy(s.strides, v.strides.begin());
  v.data = data;
  return v;
}

}  // namespace

Tensor Session::read_state(std::string_view name) const {
  refuse_during_capture(*impl_);
  const Program& program = *impl_->prepared->program;
  const std::uint32_t index = find_state(program, name);
  const State& s = program.states[index];
  const ThreadScope scope(Threads::chosen(impl_->prepared->options.threads));
  const TensorView from = state_view(s, impl_->state.data(index));
  Tensor t(s.type.dtype, std::vector<std::int64_t>(from.shape().begin(), from.shape().end()));
  if (impl_->transfer != nullptr) {
    impl_->transfer->read(from, tensor_view(t));
  } else {
    copy_strided(from, tensor_view(t));
  }
  return t;
}

void Session::write_state(std::string_view name, const Tensor& value) {
  refuse_during_capture(*impl_);
  const Program& program = *impl_->prepared->program;
  const std::uint32_t index = find_state(program, name);
  const State& s = program.states[index];
  if (!s.is_mutable)
    fail(
        ErrorCode::invalid_argument,
        fmt::format("no function updates state '{}', so all sessions share it; Model::with_weights replaces it", name));
  if (s.type.block != 0)
    fail(ErrorCode::invalid_argument,
         fmt::format("state '{}' is an MX value, and a tensor has no room for its scales", name));
  const ThreadScope scope(Threads::chosen(impl_->prepared->options.threads));
  const TensorView to = state_view(s, impl_->state.data(index));
  if (value.dtype() != s.type.dtype || !std::ranges::equal(value.sizes(), to.shape())) {
    fail(ErrorCode::invalid_argument, fmt::format("state '{}' is {}, but the value given is {}", name,
                                                  text_of(s.type, program.pool), text_of(value)));
  }
  if (impl_->transfer != nullptr) {
    impl_->transfer->write(tensor_view(value.contiguous()), to);
  } else {
    copy_strided(tensor_view(value), to);
  }
}

void Session::reset_state() {
  refuse_during_capture(*impl_);
  const ThreadScope scope(Threads::chosen(impl_->prepared->options.threads));
  impl_->state.reset();
}

void Session::set_group(std::shared_ptr<ProcessGroup> group, std::string_view name) {
  refuse_during_capture(*impl_);
  impl_->groups.set(name, std::move(group));
}

void Session::set_seed(std::uint64_t seed) {
  impl_->context.random = {seed, 0};
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
