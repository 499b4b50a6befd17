#include "fuzz/definitions/node_case.h"

#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dtypes/convert.h"
#include "exporter/archive_writer.h"
#include "exporter/constants.h"
#include "fuzz/ops/one_op.h"
#include "fuzz/run/aligned.h"
#include "fuzz/run/tame.h"
#include "kernels/cpu/processor.h"
#include "loader/archive.h"
#include "runtime/prepared.h"
#include "schema/infer.h"
#include "schema/op_record.h"
#include "schema/ops/families.h"
#include "tools/conform/widen.h"

namespace tern::fuzz {
namespace {

Choices choices_of(std::uint64_t seed) {
  std::uint8_t bytes[8];
  std::memcpy(bytes, &seed, sizeof bytes);
  Choices c(bytes);
  for (int k = 0; k < 8; ++k) c.byte();  // only the seed
  return c;
}

const TensorType* type_of(const NodeCase& c, ValueId v) {
  return v == kNoValue ? nullptr : &c.program->functions[0].values[static_cast<std::size_t>(v)].type;
}

bool accepted(const Program& program) {
  try {
    const std::vector<std::byte> bytes = archive_bytes(program);
    Aligned archive(bytes);
    open_archive(archive.span(), {Access::map, Verify::never});
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// A program with its own source: replacements in the copy leave the original alone.
Program copy_of(const Program& program) {
  Program copy = program;
  copy.source = std::make_shared<ExtendableSource>(program.source, static_cast<std::uint32_t>(program.storages.size()));
  return copy;
}

/// Rounding unit of the compute type. Attention and grid_sample round intermediates to the type of their operands, like
/// PyTorch's kernels.
double unit_of(Op op, DType t) {
  const bool rounds = op == Op::attention || op == Op::grid_sample;
  if (rounds && t == DType::f16) return 0x1p-10;
  if (rounds && t == DType::bf16) return 0x1p-7;
  return t == DType::f64 || t == DType::c128 ? 0x1p-51 : 0x1p-23;
}

/// float64 for all floats if the op accepts float64, else for floats of more than 8 bits.
DType wide_of(DType t, bool small_ones) {
  return small_ones && is_floating(t) ? DType::f64 : tern::widened(t);
}

/// True for an integer weight beside floats, part of products of floats.
bool is_integer_weight(Op op, const std::vector<HostTensor>& operands, std::size_t i) {
  return (op == Op::matmul || op == Op::grouped_matmul) && i == 1 && is_floating(operands[0].dtype) &&
         is_integral(operands[1].dtype);
}

/// Errors of linear algebra and of transforms are relative to a whole matrix, not to single elements.
bool relative_to_largest(Op op) {
  const auto is_this = [&](const OpRecord& r) { return r.op == op; };
  return std::ranges::any_of(ops::linalg_ops(), is_this) || std::ranges::any_of(ops::spectral_ops(), is_this);
}

void shake(Choices& c, std::span<double> values, double unit, bool to_largest) {
  double largest = 0;
  for (double x : values) largest = std::isfinite(x) ? std::max(largest, std::fabs(x)) : largest;
  for (double& x : values)
    x += unit * (to_largest ? 2 * largest : x) * static_cast<double>(c.between(-1000, 1000)) / 1000;
}

}  // namespace

const Node* node_of(const NodeCase& c) {
  const auto& nodes = c.program->functions[0].nodes;
  const auto found = std::ranges::find(nodes, c.op, &Node::op);
  return found == nodes.end() ? nullptr : &*found;
}

std::optional<NodeCase> make_case(Op op, std::uint64_t seed) {
  Choices c = choices_of(seed);
  std::optional<TameOp> tame = tame_op(op, c);
  if (!tame || !accepted(tame->program)) return std::nullopt;
  NodeCase made;
  made.op = op;
  made.seed = seed;
  made.threads = static_cast<int>(c.between(1, 2));
  const Function& f = tame->program.functions[0];
  for (const FunctionInput& in : f.inputs) {
    if (in.kind != FunctionInput::Kind::user) continue;
    const TensorType& type = f.values[static_cast<std::size_t>(in.value)].type;
    std::vector<std::int64_t> sizes;
    for (Dim d : type.shape) sizes.push_back(d.value());
    Tensor t(type.dtype, sizes);
    fill_tame(c, type.dtype, sizes, {static_cast<std::byte*>(t.data()), t.byte_size()}, tame->special);
    made.inputs.push_back(std::move(t));
  }
  const std::span<const AlgorithmChoice> all = cpu_kernels().kernels[static_cast<std::size_t>(op)].algorithms;
  if (!all.empty()) made.algorithm = all[c.index(all.size())];
  made.program = std::make_shared<const Program>(std::move(tame->program));
  return made;
}

std::string text_of(const NodeCase& c) {
  const Node* node = node_of(c);
  if (node == nullptr) return std::string(op_name(c.op));
  const auto list = [&](const std::vector<ValueId>& values) {
    std::string text;
    for (ValueId v : values) {
      const TensorType* type = type_of(c, v);
      text += (text.empty() ? "" : ", ") + (type == nullptr ? "none" : tern::text_of(*type, c.program->pool));
    }
    return text;
  };
  return std::string(op_name(c.op)) + "(" + list(node->inputs) + ") -> " + list(node->outputs);
}

double terms_of(const NodeCase& c) {
  const Node* node = node_of(c);
  if (node == nullptr) return 1;
  const auto sizes_of = [&](const std::vector<ValueId>& values) {
    std::vector<std::vector<std::int64_t>> all;
    for (ValueId v : values) {
      std::vector<std::int64_t> sizes;
      if (const TensorType* type = type_of(c, v)) {
        for (Dim d : type->shape) sizes.push_back(d.is_const() ? d.value() : 5);
      }
      all.push_back(std::move(sizes));
    }
    return all;
  };
  const auto in = sizes_of(node->inputs), out = sizes_of(node->outputs);
  double longest = 1, results = 1;
  for (const auto& sizes : in) {
    for (std::int64_t s : sizes) longest = std::max(longest, static_cast<double>(s));
  }
  const OpRecord& record = op_record(c.op);
  if (record.operations == nullptr || out.empty()) return longest;
  for (std::int64_t s : out[0]) results *= static_cast<double>(std::max<std::int64_t>(s, 1));
  const std::vector<OperandSizes> in_views(in.begin(), in.end()), out_views(out.begin(), out.end());
  return std::max(longest, record.operations(*node, in_views, out_views) / results);
}

std::vector<HostTensor> operands_of(const NodeCase& c) {
  Program program = copy_of(*c.program);
  Function& f = program.functions[0];
  const auto at = std::ranges::find(f.nodes, c.op, &Node::op);
  if (at == f.nodes.end()) return {};
  const std::vector<ValueId> values = at->inputs;
  f.nodes.erase(at);
  f.outputs.clear();
  const auto can_be_seen = [&](ValueId v) {
    return v != kNoValue && !f.values[static_cast<std::size_t>(v)].type.quantized();
  };
  for (ValueId v : values) {
    if (can_be_seen(v)) f.outputs.push_back({FunctionOutput::Kind::tensor, v, "x"});
  }
  NodeCase before = c;
  before.threads = 1;
  before.program = std::make_shared<const Program>(std::move(program));
  NodeResults results = run_case(before, Mode::native, cpu_kernels());
  if (results.failed) return {};
  std::vector<HostTensor> operands(values.size());
  auto next = results.outputs.begin();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (can_be_seen(values[i])) operands[i] = std::move(*next++);
  }
  return operands;
}

namespace {

std::optional<NodeCase> widened(const NodeCase& c, const std::vector<HostTensor>& operands, bool small_ones) {
  NodeCase wide = c;
  wide.inputs.clear();
  Program program = copy_of(*c.program);
  widen(program);
  Function& f = program.functions[0];
  const auto node = std::ranges::find(f.nodes, c.op, &Node::op);
  if (node == f.nodes.end() || operands.size() != node->inputs.size()) return std::nullopt;
  std::erase_if(f.inputs, [](const FunctionInput& in) { return in.kind == FunctionInput::Kind::user; });
  try {
    std::vector<const TensorType*> types;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const HostTensor& x = operands[i];
      if (node->inputs[i] == kNoValue) continue;
      if (x.dtype == DType::invalid) return std::nullopt;
      Tensor t(is_integer_weight(c.op, operands, i) ? DType::f64 : wide_of(x.dtype, small_ones), x.sizes);
      convert(x.data.data(), x.dtype, t.data(), t.dtype(), t.numel());
      node->inputs[i] = static_cast<ValueId>(f.values.size());
      f.values.push_back({{t.dtype(), Dims(x.sizes.begin(), x.sizes.end())}, "x"});
      f.inputs.push_back({FunctionInput::Kind::user, node->inputs[i], 0, "x" + std::to_string(i), {}});
      wide.inputs.push_back(std::move(t));
    }
    for (ValueId v : node->inputs)
      types.push_back(v == kNoValue ? nullptr : &f.values[static_cast<std::size_t>(v)].type);
    const std::vector<TensorType> results = infer(program, program.pool, *node, types);
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (node->outputs[k] != kNoValue) f.values[static_cast<std::size_t>(node->outputs[k])].type = results[k];
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  // Drops nodes that only produced operands; sizes bound by nodes stay.
  std::erase_if(f.nodes, [&](const Node& n) { return n.op != c.op && n.op != Op::item; });
  wide.program = std::make_shared<const Program>(std::move(program));
  return wide;
}

}  // namespace

std::optional<NodeCase> widened(const NodeCase& c, const std::vector<HostTensor>& operands) {
  if (has_trait(c.op, Trait::random)) return std::nullopt;
  std::optional<NodeCase> wide = widened(c, operands, true);
  return wide ? wide : widened(c, operands, false);
}

NodeCase shaken(const NodeCase& wide, const std::vector<HostTensor>& operands, std::uint64_t seed) {
  Choices c = choices_of(seed);
  NodeCase made = wide;
  std::size_t next = 0;
  for (const HostTensor& x : operands) {
    if (x.dtype == DType::invalid) continue;
    Tensor& t = made.inputs[next++];
    if (t.dtype() != DType::f64 && t.dtype() != DType::c128) continue;
    t = t.clone();
    shake(c, {static_cast<double*>(t.data()), t.byte_size() / sizeof(double)}, unit_of(wide.op, x.dtype),
          relative_to_largest(wide.op));
  }
  return made;
}

NodeResults run_case(const NodeCase& c, Mode mode, const KernelTable& definitions) {
  constexpr std::uint64_t kMaxMemory = 256 << 20;
  PrepareOptions options;
  options.threads = mode == Mode::native ? c.threads : 1;
  options.max_memory = kMaxMemory;
  options.weight_cache = "off";
  options.reproducible = mode == Mode::reproducible;
  PreparationSettings settings;
  Tuning tuning{cpu::processor(), 1, {}};
  if (mode == Mode::definition) settings.kernels = &definitions;
  if (mode == Mode::algorithm) {
    const auto& nodes = c.program->functions[0].nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].op == c.op) tuning.choices.push_back({0, i, std::string(name_of(c.algorithm))});
    }
    settings.tuning = &tuning;
  }
  NodeResults results;
  try {
    Session session(PreparedModel(prepare_program(c.program, options, settings)));
    std::vector<Tensor> inputs;
    for (const Tensor& t : c.inputs) inputs.push_back(t.clone());
    for (const Tensor& t : session.run(inputs)) {
      const auto* bytes = static_cast<const std::byte*>(t.data());
      results.outputs.push_back({t.dtype(), t.sizes(), {bytes, bytes + t.byte_size()}});
    }
  } catch (const Error& e) {
    results.failed = e.code();
    results.message = e.what();
  }
  return results;
}

}  // namespace tern::fuzz
