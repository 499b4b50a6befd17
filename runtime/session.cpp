#include "runtime/session.h"

#include <tern/error.h>

#include <algorithm>

#include "runtime/device_tensor.h"
#include "runtime/devices/times.h"
#include "runtime/outputs.h"
#include "runtime/tensor_view.h"

namespace tern {

SessionImpl::SessionImpl(std::shared_ptr<const PreparedProgram> p, const Stream& s)
    : prepared(std::move(p)),
      stream(s),
      state(*prepared, *stream.impl()->device_stream),
      context{.prepared = prepared.get(),
              .state = &state,
              .stream = stream.impl()->device_stream.get(),
              .groups = &groups} {}

void SessionImpl::give_up(const std::exception& why) noexcept {
  context.stream->recover();
  const auto* e = dynamic_cast<const Error*>(&why);
  const bool refused =
      e != nullptr && (e->code() == ErrorCode::invalid_argument || e->code() == ErrorCode::unsupported);
  if (!refused || groups.called()) groups.abort(why.what());
  groups.settle();
}

void SessionImpl::lend(std::span<const TensorView> results, std::vector<Tensor>& outputs) {
  outputs.resize(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorView& v = results[i];
    Tensor& t = outputs[i];
    if (t.owner_ != nullptr || t.device_ != 0 || !t.strides_.empty()) t = Tensor();  // the caller's, of an earlier run
    t.dtype_ = v.dtype;
    t.sizes_.assign(v.sizes.begin(), v.sizes.begin() + v.rank);
    t.data_ = v.data;
    t.bytes_ = static_cast<std::size_t>(Transfer::bytes_of(v));
  }
}

std::span<const Tensor> SessionImpl::make_dense(std::span<const Tensor> arguments) {
  if (std::ranges::all_of(arguments, &Tensor::is_contiguous)) return arguments;
  transfer.settle();  // an earlier run may still read its copies
  dense.assign(arguments.begin(), arguments.end());
  for (Tensor& t : dense) {
    if (t.is_contiguous() || !TensorMemory::is_on_host(t) || t.sizes().size() > kMaxRank) continue;
    const bool read_only = t.read_only();
    t = t.clone();
    t.read_only_ = read_only;
  }
  return dense;
}

/// Copies written inputs from their contiguous copies back to the caller's strided memory.
void SessionImpl::update_strided(const Function& f, std::span<const Tensor> arguments) {
  std::size_t k = 0;
  for (std::uint32_t i = 0; i < f.inputs.size(); ++i) {
    if (f.inputs[i].kind != FunctionInput::Kind::user) continue;
    const Tensor& t = arguments[k];
    const Tensor& copy = dense[k++];
    const auto is_target = [&](const WriteBack& w) { return w.target == WriteBack::Target::input && w.index == i; };
    if (t.is_contiguous() || !TensorMemory::is_on_host(t) || !std::ranges::any_of(f.writebacks, is_target)) continue;
    stream.synchronize();
    copy_strided(tensor_view(copy), tensor_view(t));
  }
}

void SessionImpl::run(std::uint32_t index, std::span<const Tensor> arguments, CallerOutputs* caller_outputs,
                      bool waits) {
  const Program& program = *prepared->program;
  const Function& f = program.functions[index];
  context.threads = Threads::chosen(prepared->options.threads);
  const ThreadScope scope(context.threads);
  const std::span<const Tensor> contiguous = make_dense(arguments);
  fill_inputs(*prepared, f, contiguous, inputs);
  if (caller_outputs != nullptr) caller_outputs->keep_apart(inputs);
  if (caller_outputs != nullptr && !waits) caller_outputs->check_asynchronous();
  auto& frame = frames[index];
  if (frame == nullptr) frame = std::make_unique<Frame>(context, index);
  context.bytes_copied = 0;
  context.limits.start(prepared->options);
  groups.begin_run();
  try {
    const TracedRun traced(context, tracing, f.name);
    DeviceTimes times(context);
    transfer.bring(f, contiguous, inputs);
    const std::vector<TensorView>& results = frame->run(inputs, {}, caller_outputs);
    const std::vector<TensorView>& there = transfer.take_back(f, results, caller_outputs);
    if (caller_outputs != nullptr) {
      if (waits) stream.synchronize();
      caller_outputs->copy(there);
      caller_outputs->expose_results(outputs);
    } else {
      lend(there, outputs);
    }
    last = outputs.size() == f.outputs.size() ? &f : nullptr;
    times.finish();
    if (contiguous.data() != arguments.data()) update_strided(f, arguments);
  } catch (const std::exception& e) {
    give_up(e);
    throw;
  }
}

}  // namespace tern
