// Control flow: cond, while_loop, scan_loop, map_loop and call run bodies in their own frames; results are copied to
// the caller's memory.
#include "runtime/control.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/cancel.h"
#include "runtime/plan/concrete.h"

namespace tern {

void BodyOperands::set(std::size_t operand, const TensorView& v) {
  std::size_t k = 0;
  for (std::size_t i = 0; i < body_.inputs.size(); ++i) {
    if (body_.inputs[i].kind == FunctionInput::Kind::state) continue;
    if (k++ == operand) {
      views_[i] = v;
      return;
    }
  }
  fail(ErrorCode::internal, "a body has fewer inputs than operands");
}

void deliver(Frame& frame, std::uint32_t number, std::size_t output, const TensorView& result, TensorView& out) {
  const Node& node = frame.function().nodes[number];
  const ValueId v = node.outputs[output];
  if (v == kNoValue) return;
  const TensorType& type = frame.function().values[static_cast<std::size_t>(v)].type;
  if (result.dtype != type.dtype || result.rank != type.rank())
    fail(ErrorCode::runtime,
         fmt::format("result {} of a body does not have the type that the program declares", output));
  const bool dynamic = out.data == nullptr || std::ranges::any_of(node.dims(AttrKey::symbols), [&](Dim s) {
                         return std::ranges::find(type.shape, s) != type.shape.end();
                       });
  if (dynamic) {
    out = result;
    make_contiguous(out);
    out.data = frame.dynamic(v, view_bytes(type, result));
    for (std::size_t a = 0; a < type.shape.size(); ++a) {
      const Dims& symbols = node.dims(AttrKey::symbols);
      if (std::ranges::find(symbols, type.shape[a]) != symbols.end()) frame.bind(type.shape[a], result.sizes[a]);
    }
    frame.check_found(number, output, out);
  } else if (!std::ranges::equal(result.shape(), out.shape())) {
    fail(ErrorCode::runtime,
         fmt::format("result {} of a body does not have the shape that the program declares", output));
  }
  frame.context().bytes_copied +=
      static_cast<std::uint64_t>(out.numel()) * static_cast<std::uint64_t>(element_size(out.dtype));
  frame.context().copy(view_to_copy(type, result), view_to_copy(type, out));
}

bool truth(const SessionContext& context, const TensorView& v) {
  std::array<std::byte, 16> element{};
  const auto n = static_cast<std::size_t>(element_size(v.dtype));
  context.read(element.data(), v.data, n);
  return std::any_of(element.begin(), element.begin() + static_cast<std::ptrdiff_t>(n),
                     [](std::byte b) { return b != std::byte{0}; });
}

void run_body(Frame& frame, std::uint32_t node, std::uint32_t slot, std::span<TensorView> operands,
              std::span<TensorView> out) {
  Frame& body = frame.child(node, slot);
  BodyOperands arguments(body.function());
  for (std::size_t i = 0; i < operands.size(); ++i) arguments.set(i, operands[i]);
  const std::vector<TensorView>& results = body.run(arguments.views(), frame.symbols());
  for (std::size_t i = 0; i < out.size(); ++i) deliver(frame, node, i, results[i], out[i]);
}

namespace {

/// Checks the limits of PrepareOptions before iteration `number` of a while loop.
void check_iteration(Frame& frame, std::uint32_t node, std::int64_t number) {
  try {
    frame.context().limits.check_time();
    RunLimits::check_iteration(frame.context().prepared->options, number);
  } catch (const Error& e) {
    fail_at(frame.describe(node), e);
  }
}

void run_while(Frame& frame, std::uint32_t node, std::span<TensorView> in, std::span<TensorView> out) {
  const Node& n = frame.function().nodes[node];
  const auto carried = static_cast<std::size_t>(n.integer(AttrKey::carried));
  Frame &condition = frame.child(node, 0), &body = frame.child(node, 1);
  BodyOperands to_condition(condition.function()), to_body(body.function());
  for (std::size_t i = carried; i < in.size(); ++i) {
    to_condition.set(i, in[i]);
    to_body.set(i, in[i]);
  }
  const SessionContext& context = frame.context();
  std::vector<TensorView> current(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(carried));
  for (std::int64_t iteration = 0;; ++iteration) {
    for (std::size_t i = 0; i < carried; ++i) {
      // After the first iteration the carried values live in the node's outputs, or in the body's results if the
      // outputs are unused.
      if (n.outputs[i] != kNoValue) {
        deliver(frame, node, i, current[i], out[i]);
        current[i] = out[i];
      }
      to_condition.set(i, current[i]);
      to_body.set(i, current[i]);
    }
    if (!truth(context, condition.run(to_condition.views(), frame.symbols())[0])) return;
    check_iteration(frame, node, iteration);
    const std::vector<TensorView>& results = body.run(to_body.views(), frame.symbols());
    std::copy_n(results.begin(), carried, current.begin());
  }
}

TensorView row(const TensorView& v, std::int64_t i) {
  TensorView r = v;
  r.rank = v.rank - 1;
  for (int a = 0; a < r.rank; ++a) {
    r.sizes[static_cast<std::size_t>(a)] = v.size(a + 1);
    r.strides[static_cast<std::size_t>(a)] = v.stride(a + 1);
  }
  r.data += i * v.stride(0) * element_size(v.dtype);
  return r;
}

/// scan_loop and map_loop (no carried values): run the body for each row of the mapped operands.
void run_rows(Frame& frame, std::uint32_t node, std::span<TensorView> in, std::span<TensorView> out) {
  const Node& n = frame.function().nodes[node];
  const auto carried = static_cast<std::size_t>(n.integer(AttrKey::carried)),
             mapped = static_cast<std::size_t>(n.integer(AttrKey::mapped));
  Frame& body = frame.child(node, 0);
  BodyOperands arguments(body.function());
  for (std::size_t i = carried + mapped; i < in.size(); ++i) arguments.set(i, in[i]);
  std::vector<TensorView> current(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(carried));
  const std::int64_t rows = in[carried].size(0);
  for (std::size_t i = carried; i < carried + mapped; ++i) {
    if (in[i].size(0) != rows) fail(ErrorCode::runtime, "the operands of a loop have different numbers of rows");
  }
  for (std::size_t i = carried; i < out.size(); ++i) {
    if (n.outputs[i] != kNoValue && (out[i].data == nullptr || out[i].size(0) != rows))
      fail(ErrorCode::runtime, fmt::format("result {} of a loop does not have as many rows as its operands", i));
  }
  for (std::int64_t step = 0;; ++step) {
    for (std::size_t i = 0; i < carried; ++i) {
      if (n.outputs[i] != kNoValue) {
        deliver(frame, node, i, current[i], out[i]);
        current[i] = out[i];
      }
      arguments.set(i, current[i]);
    }
    if (step == rows) return;
    check_iteration(frame, node, 0);  // the operands fix the number of rows
    for (std::size_t i = 0; i < mapped; ++i) arguments.set(carried + i, row(in[carried + i], step));
    const std::vector<TensorView>& results = body.run(arguments.views(), frame.symbols());
    for (std::size_t i = carried; i < out.size(); ++i) {
      if (n.outputs[i] == kNoValue) continue;
      const TensorView to = row(out[i], step);
      if (!std::ranges::equal(results[i].shape(), to.shape()))
        fail(ErrorCode::runtime, "rows of a loop differ in shape");
      frame.context().copy(results[i], to);
    }
    std::copy_n(results.begin(), carried, current.begin());
  }
}

}  // namespace

void run_control(Frame& frame, std::uint32_t node, const Node& resolved, std::span<TensorView> in,
                 std::span<TensorView> out) {
  const bool recorded = frame.context().recording != nullptr;
  switch (resolved.op) {
    case Op::cond:
      if (recorded) return record_cond(frame, node, in, out);
      return run_body(frame, node, truth(frame.context(), in[0]) ? 0 : 1, in.subspan(1), out);
    case Op::call: return run_body(frame, node, 0, in, out);
    case Op::while_loop:
      if (recorded) return record_while(frame, node, in, out);
      return run_while(frame, node, in, out);
    case Op::scan_loop:
    case Op::map_loop: return run_rows(frame, node, in, out);
    default: fail(ErrorCode::internal, "not control flow");
  }
}

}  // namespace tern
