#include "runtime/trace/step_label.h"

#include <algorithm>
#include <array>
#include <variant>

#include "runtime/collective/call.h"
#include "runtime/profile.h"
#include "runtime/trace/text.h"
#include "schema/kinds.h"
#include "schema/op_record.h"

namespace tern {
namespace {

/// `"key": "value", `
void add(std::string& out, const char* key, std::string_view value) {
  append(out, {"\"", key, "\": \""});
  append_escaped(out, value);
  out += "\", ";
}

/// `"key": 3, ` for a whole number.
void add(std::string& out, const char* key, double value) {
  append(out, {"\"", key, "\": "});
  append_signed(out, static_cast<std::int64_t>(std::min(value, 9e18)));
  out += ", ";
}

/// `"key": [[2, 3], [4]], `: one list per view, with its sizes or strides.
void add_lists(std::string& out, const char* key, std::span<const TensorView> views, bool strides) {
  append(out, {"\"", key, "\": ["});
  for (const TensorView& v : views) {
    out += &v == views.data() ? "[" : ", [";
    const auto& numbers = strides ? v.strides : v.sizes;
    for (std::int32_t i = 0; i < v.rank; ++i) {
      if (i > 0) out += ", ";
      append_signed(out, numbers[static_cast<std::size_t>(i)]);
    }
    out += ']';
  }
  out += "], ";
}

void add_types(std::string& out, const char* key, std::span<const TensorView> views) {
  append(out, {"\"", key, "\": ["});
  for (const TensorView& v : views) append(out, {&v == views.data() ? "\"" : ", \"", traced_name(v.dtype), "\""});
  out += "], ";
}

/// `"key": "[2, 3]", `, Kineto's format for sizes of parts.
void add_parts(std::string& out, const char* key, std::span<const std::int64_t> parts) {
  append(out, {"\"", key, "\": \"["});
  for (const std::int64_t& part : parts) {
    if (&part != parts.data()) out += ", ";
    append_signed(out, part);
  }
  out += "]\", ";
}

void append_value(std::string& out, const Annotation& a) {
  if (const auto* whole = std::get_if<std::int64_t>(&a.value)) return append_signed(out, *whole);
  if (const auto* number = std::get_if<double>(&a.value)) return append_number(out, *number);
  if (const auto* yes = std::get_if<bool>(&a.value)) return append(out, {*yes ? "true" : "false"});
  out += *std::get_if<std::string>(&a.value);
}

/// Formats "model.py:42" like a frame of PyTorch: "model.py(42): aten.linear.default".
std::string frame_of(const Origin& origin) {
  const std::size_t colon = origin.source.rfind(':');
  const std::string_view source = origin.source;
  std::string text;
  append(text, {source.substr(0, colon), "(", colon == source.npos ? "?" : source.substr(colon + 1), "): ", origin.op});
  return escaped(text);
}

Collective call_of_step_label(const Node& node, const TensorView& in) {
  Collective c;
  c.kind = static_cast<CollectiveKind>(node.integer(AttrKey::kind));
  c.dtype = in.dtype;
  c.count = in.numel();
  return c;
}

}  // namespace

std::string_view traced_name(DType t) {
  switch (t) {
    case DType::invalid: return "";
    case DType::u8: return "unsigned char";
    case DType::i8: return "signed char";
    case DType::i16: return "short int";
    case DType::i32: return "int";
    case DType::i64: return "long int";
    case DType::f16: return "c10::Half";
    case DType::bf16: return "c10::BFloat16";
    case DType::f32: return "float";
    case DType::f64: return "double";
    case DType::c32: return "c10::complex<c10::Half>";
    case DType::c64: return "c10::complex<float>";
    case DType::c128: return "c10::complex<double>";
    default: return name_of(t);
  }
}

std::string group_arg(std::string_view group) {
  std::string text;
  add(text, "Process Group Name", group);
  return text;
}

std::string collective_args(const Collective& call, std::string_view group, int rank, int ranks) {
  constexpr std::array<const char*, 5> kNames = {"allreduce", "_allgather_base", "_reduce_scatter_base", "broadcast",
                                                 "all_to_all"};
  const auto kind = static_cast<std::size_t>(call.kind);
  const bool parts = call.kind == CollectiveKind::all_to_all && !call.input_splits.empty();
  std::string text;
  add(text, "Collective name", parts ? "all_to_allv" : kind < kNames.size() ? kNames[kind] : "other");
  add(text, "dtype", traced_name(call.dtype));
  add(text, "In msg nelems", static_cast<double>(call.count));
  add(text, "Out msg nelems", static_cast<double>(results_of(call, std::max(0, rank), std::max(1, ranks))));
  add_parts(text, "In split size", call.input_splits);
  add_parts(text, "Out split size", call.output_splits);
  add(text, "Group size", ranks);
  if (rank >= 0) add(text, "Rank", rank);
  return text + group_arg(group);
}

std::string annotations_of_step(const Program& program, std::uint32_t function, const PlanStep& step) {
  std::string text;
  const std::vector<Node>& nodes = program.functions[function].nodes;
  if (step.number >= nodes.size()) return text;
  for (const Annotation& a : nodes[step.number].annotations) {
    append(text, {text.empty() ? "" : ", ", a.key, "="});
    append_value(text, a);
  }
  return text;
}

EventLabel label_of_step(const PreparedProgram& prepared, std::uint32_t function, const PlanStep& step,
                         std::span<const TensorView> in, std::span<const TensorView> out) {
  const Program& program = *prepared.program;
  const Function& f = program.functions[function];
  const bool is_copy = step.kind == PlanStep::Kind::copy;
  const Node* node = step.number < f.nodes.size() ? &f.nodes[step.number] : nullptr;  // copies may have no node
  const Node* ran = step.resolved != nullptr ? step.resolved : node;
  EventLabel label;
  const std::string_view op = is_copy            ? "copy"
                              : step.members > 0 ? "partition"
                              : ran == nullptr   ? "step"
                                                 : op_name(ran->op);
  append(label.name, {"tern::", op});
  std::string& where = label.device_args;
  add(where, "Function", f.name);
  // A copy serves the layout of values and belongs to no node.
  if (!is_copy && node != nullptr) add(where, "Node", step.number);
  add(where, "Op", op);
  if (step.members > 0) add(where, "Nodes", step.members);
  if (!is_copy && node != nullptr && node->origin >= 0) {
    const Origin& origin = program.origins[static_cast<std::size_t>(node->origin)];
    if (!origin.op.empty()) add(where, "Origin", origin.op);
    if (!origin.module.empty()) add(where, "Module Hierarchy", origin.module);
    if (!origin.source.empty()) add(where, "Call stack", origin.source);
    label.module = escaped(origin.module);
    if (!origin.source.empty()) label.source = frame_of(origin);
  }
  const bool is_kernel = step.kind == PlanStep::Kind::kernel && ran != nullptr;
  const double flops = is_kernel && step.members <= 1 ? flops_of(*ran, in, out) : 0;
  const double bytes = ran != nullptr ? min_bytes(*ran, in, out) : 0;
  const bool is_collective = is_kernel && ran->op == Op::collective && !in.empty();
  if (is_collective) {
    label.device_args += collective_args(call_of_step_label(*ran, in[0]), ran->text(AttrKey::name), -1,
                                         static_cast<int>(ran->integer(AttrKey::groups)));
  }
  label.args = label.device_args;
  if (is_collective) add(label.device_args, "bytes", bytes);
  add_lists(label.args, "Input Dims", in, false);
  add_lists(label.args, "Input Strides", in, true);
  add_types(label.args, "Input type", in);
  add_lists(label.args, "Output Dims", out, false);
  add_types(label.args, "Output type", out);
  add(label.args, "flops", flops);
  add(label.args, "bytes", bytes);
  return label;
}

}  // namespace tern
