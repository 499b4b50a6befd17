// Records a frame: makes plans and memory, and appends steps to a list instead of running them.
#include <fmt/format.h>
#include <tern/error.h>

#include "runtime/control.h"
#include "runtime/graph/recording.h"

namespace tern {
namespace {

/// Redirects steps to another recording while alive.
class RecordingScope {
 public:
  RecordingScope(SessionContext& context, Recording& recording) : context_(context), outer_(context.recording) {
    context.recording = &recording;
  }
  ~RecordingScope() { context_.recording = outer_; }
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

 private:
  SessionContext& context_;
  Recording* outer_;
};

std::unique_ptr<Recording> empty_like(const Recording& outer) {
  auto recording = std::make_unique<Recording>();
  recording->function = outer.function;
  recording->node = outer.node;
  return recording;
}

}  // namespace

void Frame::record(PlanRun& run, const PlanStep& step) {
  Recording& recording = *context_.recording;
  recording.function = index_;
  recording.node = step.node;
  // A copy may belong to a function without nodes.
  if (step.kind != PlanStep::Kind::copy && !f_.nodes[step.node].dims(AttrKey::symbols).empty())
    fail(ErrorCode::unsupported, fmt::format("{}a size depends on data here, which graphs do not support",
                                             step.kind == PlanStep::Kind::control ? describe(step.node) + ": " : ""));
  const std::span<TensorView> in = run.inputs(step), out = run.outputs(step);
  switch (step.kind) {
    case PlanStep::Kind::kernel:
      return recording.add(RecordedKernel{
          &step, {in.data(), in.data() + step.inputs + step.outputs}, run.plan->constant.get() + step.args});
    case PlanStep::Kind::copy: return recording.add(RecordedCopy{in[0], out[0]});
    case PlanStep::Kind::control: return run_control(*this, step.node, *step.resolved, in, out);
    case PlanStep::Kind::assert_true: return recording.add(RecordedCheck{in[0], step.resolved->text(AttrKey::text)});
    default: return;
  }
}

void record_cond(Frame& frame, std::uint32_t node, std::span<TensorView> in, std::span<TensorView> out) {
  SessionContext& context = frame.context();
  RecordedBranch branch{in[0], empty_like(*context.recording), empty_like(*context.recording)};
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    const RecordingScope scope(context, slot == 0 ? *branch.chosen : *branch.otherwise);
    run_body(frame, node, slot, in.subspan(1), out);
  }
  context.recording->node = node;
  context.recording->add(std::move(branch));
}

void record_while(Frame& frame, std::uint32_t node, std::span<TensorView> in, std::span<TensorView> out) {
  SessionContext& context = frame.context();
  const Node& n = frame.function().nodes[node];
  const auto carried = static_cast<std::size_t>(n.integer(AttrKey::carried));
  Frame &condition = frame.child(node, 0), &body = frame.child(node, 1);
  BodyOperands to_condition(condition.function()), to_body(body.function());
  for (std::size_t i = 0; i < in.size(); ++i) {
    // The carried values are stored in the node's outputs.
    if (i < carried) deliver(frame, node, i, in[i], out[i]);
    to_condition.set(i, i < carried ? out[i] : in[i]);
    to_body.set(i, i < carried ? out[i] : in[i]);
  }
  RecordedLoop loop{{}, empty_like(*context.recording), empty_like(*context.recording)};
  {
    const RecordingScope scope(context, *loop.condition);
    loop.predicate = condition.run(to_condition.views(), frame.symbols())[0];
  }
  {
    const RecordingScope scope(context, *loop.body);
    const std::vector<TensorView>& results = body.run(to_body.views(), frame.symbols());
    for (std::size_t i = 0; i < carried; ++i) deliver(frame, node, i, results[i], out[i]);
  }
  context.recording->node = node;
  context.recording->add(std::move(loop));
}

}  // namespace tern
