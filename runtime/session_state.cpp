// Reads and writes a session's states by name.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "runtime/device_tensor.h"
#include "runtime/devices/device.h"
#include "runtime/session.h"
#include "runtime/tensor_view.h"

namespace tern {
namespace {

void refuse_during_capture(const SessionImpl& s) {
  if (s.stream.is_capturing())
    fail(ErrorCode::invalid_argument,
         "a session's state and groups cannot be read or changed while its stream is captured");
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
  const SessionUse session(impl_);
  refuse_during_capture(*session.session());
  const Program& program = *session->prepared->program;
  const std::uint32_t index = find_state(program, name);
  const State& s = program.states[index];
  const ThreadScope scope(Threads::chosen(session->prepared->options.threads));
  const TensorView from = state_view(s, session->state.data(index));
  Tensor t(s.type.dtype, std::vector<std::int64_t>(from.shape().begin(), from.shape().end()));
  session->transfer.read(from, tensor_view(t));
  return t;
}

void Session::write_state(std::string_view name, const Tensor& value) {
  const SessionUse session(impl_);
  refuse_during_capture(*session.session());
  const Program& program = *session->prepared->program;
  const std::uint32_t index = find_state(program, name);
  const State& s = program.states[index];
  if (!s.is_mutable)
    fail(
        ErrorCode::invalid_argument,
        fmt::format("no function updates state '{}', so all sessions share it; Model::with_weights replaces it", name));
  if (s.type.quantized())
    fail(ErrorCode::invalid_argument,
         fmt::format("state '{}' is a quantized value, and a tensor cannot hold its scales", name));
  const ThreadScope scope(Threads::chosen(session->prepared->options.threads));
  const TensorView to = state_view(s, session->state.data(index));
  if (value.dtype() != s.type.dtype || !std::ranges::equal(value.sizes(), to.shape())) {
    fail(ErrorCode::invalid_argument, fmt::format("state '{}' is {}, but the value given is {}", name,
                                                  text_of(s.type, program.pool), text_of(value)));
  }
  if (TensorMemory::is_on_host(value)) return session->transfer.write(tensor_view(value.contiguous()), to);
  if (&TensorMemory::device(value) != session->prepared->device)
    return session->transfer.write(tensor_view(value.to("cpu").contiguous()), to);
  session->context.stream->copy(tensor_view(value), to);
  session->context.stream->finish();
}

void Session::copy_in_state(std::string_view name, std::int64_t from, std::int64_t to, std::int64_t axis,
                            std::int64_t count) {
  const SessionUse session(impl_);
  refuse_during_capture(*session.session());
  const Program& program = *session->prepared->program;
  const std::uint32_t index = find_state(program, name);
  const State& s = program.states[index];
  if (!s.is_mutable || s.type.quantized())
    fail(ErrorCode::invalid_argument,
         fmt::format("state '{}' is no mutable state of plain numbers, so no part of it can be copied", name));
  TensorView source = state_view(s, session->state.data(index));
  const std::int64_t slices = source.rank > 0 ? source.sizes[0] : 0;
  if (axis < 1 || axis >= source.rank || from < 0 || from >= slices || to < 0 || to >= slices || count < 0 ||
      count > source.size(static_cast<int>(axis))) {
    fail(ErrorCode::invalid_argument,
         fmt::format("state '{}' is {}: it has no {} elements along axis {} in slices {} and {}", name,
                     text_of(s.type, program.pool), count, axis, from, to));
  }
  if (from == to || count == 0) return;
  source.sizes[0] = 1;
  source.sizes[static_cast<std::size_t>(axis)] = count;
  TensorView target = source;
  const auto offset = [&](std::int64_t slice) {
    return slice * source.strides[0] * static_cast<std::int64_t>(element_size(s.type.dtype));
  };
  source.data += offset(from);
  target.data += offset(to);
  const ThreadScope scope(Threads::chosen(session->prepared->options.threads));
  session->context.stream->copy(source, target);
  session->context.stream->finish();
}

void Session::reset_state() {
  const SessionUse session(impl_);
  refuse_during_capture(*session.session());
  const ThreadScope scope(Threads::chosen(session->prepared->options.threads));
  session->state.reset();
}

void Session::set_group(std::shared_ptr<ProcessGroup> group, std::string_view name) {
  const SessionUse session(impl_);
  refuse_during_capture(*session.session());
  session->groups.set(name, std::move(group));
}

void Session::connect_groups() {
  const SessionUse session(impl_);
  refuse_during_capture(*session.session());
  session->groups.connect();
}

}  // namespace tern
