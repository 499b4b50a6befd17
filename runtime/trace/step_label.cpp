#include "runtime/trace/step_label.h"

#include <fmt/format.h>

#include <array>

#include "runtime/collective/call.h"
#include "runtime/profile.h"
#include "runtime/trace/text.h"
#include "schema/kinds.h"
#include "schema/op_record.h"

namespace tern {
namespace {

/// `"key": "value", `
void add(std::string& out, const char* key, std::string_view value) {
  out += fmt::format("\"{}\": \"{}\", ", key, escaped(value));
}

template <class Numbers>
std::string list(const Numbers& numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += ", ";
    append_number(text, numbers[i]);
  }
  return text + ']';
}

template <class Text>
std::string each(std::span<const TensorView> views, const Text& text) {
  std::string all = "[";
  for (const TensorView& v : views) all += (all.size() > 1 ? ", " : "") + text(v);
  return all + ']';
}

std::string dims_of(std::span<const TensorView> views) {
  return each(views,
              [](const TensorView& v) { return list(std::span(v.sizes).first(static_cast<std::size_t>(v.rank))); });
}
std::string strides_of(std::span<const TensorView> views) {
  return each(views,
              [](const TensorView& v) { return list(std::span(v.strides).first(static_cast<std::size_t>(v.rank))); });
}
std::string types_of(std::span<const TensorView> views) {
  return each(views, [](const TensorView& v) { return '"' + std::string(traced_name(v.dtype)) + '"'; });
}

std::string text_of(const Annotation& a) {
  return a.key + '=' +
         std::visit(
             [](const auto& v) {
               if constexpr (std::is_same_v<std::decay_t<decltype(v)>, bool>) {
                 return std::string(v ? "true" : "false");
               } else {
                 return fmt::format("{}", v);
               }
             },
             a.value);
}

/// "model.py:42" as PyTorch writes a frame: "model.py(42): aten.linear.default".
std::string frame_of(const Origin& origin) {
  const std::size_t colon = origin.source.rfind(':');
  const std::string line = colon == std::string::npos ? "?" : origin.source.substr(colon + 1);
  return escaped(fmt::format("{}({}): {}", origin.source.substr(0, colon), line, origin.op));
}

Collective call_of(const Node& node, const TensorView& in) {
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
  const bool parts = call.kind == CollectiveKind::all_to_all && !call.in_parts.empty();
  std::string text;
  add(text, "Collective name", parts ? "all_to_allv" : kind < kNames.size() ? kNames[kind] : "other");
  add(text, "dtype", traced_name(call.dtype));
  text += fmt::format(
      "\"In msg nelems\": {}, \"Out msg nelems\": {}, \"In split size\": \"{}\", \"Out split size\": \"{}\", "
      "\"Group size\": {}, ",
      call.count, results_of(call, std::max(0, rank), std::max(1, ranks)), list(call.in_parts), list(call.out_parts),
      ranks);
  if (rank >= 0) text += fmt::format("\"Rank\": {}, ", rank);
  return text + group_arg(group);
}

std::string annotations_of_step(const Program& program, std::uint32_t function, const Step& step) {
  std::string text;
  const std::vector<Node>& nodes = program.functions[function].nodes;
  if (step.number >= nodes.size()) return text;
  for (const Annotation& a : nodes[step.number].annotations) text += (text.empty() ? "" : ", ") + text_of(a);
  return text;
}

EventLabel label_of_step(const PreparedProgram& prepared, std::uint32_t function, const Step& step,
                         std::span<const TensorView> in, std::span<const TensorView> out) {
  const Program& program = *prepared.program;
  const Function& f = program.functions[function];
  const bool is_copy = step.kind == Step::Kind::copy;
  const Node* node = step.number < f.nodes.size() ? &f.nodes[step.number] : nullptr;  // a copy may have none
  const Node* ran = step.resolved != nullptr ? step.resolved : node;
  EventLabel label;
  const std::string op(is_copy            ? "copy"
                       : step.members > 0 ? "partition"
                       : ran == nullptr   ? "step"
                                          : std::string(op_name(ran->op)));
  label.name = "tern::" + op;
  std::string where;
  add(where, "Function", f.name);
  // A copy belongs to no node, but to the layout of values.
  if (!is_copy && node != nullptr) where += fmt::format("\"Node\": {}, ", step.number);
  add(where, "Op", op);
  if (step.members > 0) where += fmt::format("\"Nodes\": {}, ", step.members);
  if (!is_copy && node != nullptr && node->origin >= 0) {
    const Origin& origin = program.origins[static_cast<std::size_t>(node->origin)];
    if (!origin.op.empty()) add(where, "Origin", origin.op);
    if (!origin.module.empty()) add(where, "Module Hierarchy", origin.module);
    if (!origin.source.empty()) add(where, "Call stack", origin.source);
    label.module = escaped(origin.module);
    if (!origin.source.empty()) label.source = frame_of(origin);
  }
  const bool is_kernel = step.kind == Step::Kind::kernel && ran != nullptr;
  const double flops = is_kernel && step.members <= 1 ? flops_of(*ran, in, out) : 0;
  const double bytes = ran != nullptr ? least_bytes(*ran, in, out) : 0;
  label.device_args = where;
  if (is_kernel && ran->op == Op::collective && !in.empty()) {
    label.device_args += collective_args(call_of(*ran, in[0]), ran->text(AttrKey::name), -1,
                                         static_cast<int>(ran->integer(AttrKey::groups)));
  }
  label.args =
      label.device_args + fmt::format(
                              "\"Input Dims\": {}, \"Input Strides\": {}, \"Input type\": {}, \"Output Dims\": {}, "
                              "\"Output type\": {}, \"flops\": {:.0f}, \"bytes\": {:.0f}, ",
                              dims_of(in), strides_of(in), types_of(in), dims_of(out), types_of(out), flops, bytes);
  return label;
}

}  // namespace tern
