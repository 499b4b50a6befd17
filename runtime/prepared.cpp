#include "runtime/prepared.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernels/cpu/linalg/linalg.h"
#include "kernels/cpu/processor.h"
#include "kernels/custom/library.h"
#include "runtime/definitions.h"
#include "runtime/devices/device.h"
#include "runtime/fuse/batched_attention.h"
#include "runtime/fuse/fuse.h"
#include "runtime/node_algorithms.h"
#include "runtime/plan/plans.h"
#include "runtime/plan/shared_weights.h"
#include "runtime/weight_cache/weight_cache.h"
#include "schema/node_precision.h"
#include "schema/op_record.h"

namespace tern {
namespace {

void check_kernels(const Program& program, const KernelTable& kernels) {
  std::map<std::string, int> missing;
  bool provided = true;
  for (const Function& f : program.functions) {
    for (std::size_t i = 0; i < f.nodes.size(); ++i) {
      const Node& n = f.nodes[i];
      const std::int64_t carried = n.integer(AttrKey::carried);
      for (std::int64_t k = 0; k < carried; ++k) {  // the memory carries these values from one iteration to the next
        if (n.outputs.at(static_cast<std::size_t>(k)) == kNoValue)
          fail(ErrorCode::bad_file, describe(program, f, i) + ": carried values of a loop must all be results");
      }
      if (is_view(n.op) || has_trait(n.op, Trait::host)) continue;
      const bool foreign = n.op == Op::custom && find_custom_op(n.text(AttrKey::name)) == nullptr;
      if (!foreign && kernels.kernels[static_cast<std::size_t>(n.op)].run != nullptr) continue;
      provided = provided && !foreign;
      std::string name(op_name(n.op));
      if (n.op == Op::custom) name += fmt::format(" '{}'", n.text(AttrKey::name));
      ++missing[name];
    }
  }
  if (missing.empty()) return;
  std::string list;
  for (const auto& [name, count] : missing)
    list += fmt::format("{}{} ({} nodes)", list.empty() ? "" : ", ", name, count);
  if (!provided) list += "; load the library that provides it: --ops LIBRARY, TERN_OP_PATH or tern::load_ops()";
  fail(ErrorCode::unsupported, "this device has no kernel for: " + list);
}

std::shared_ptr<const Program> retain_float32_nodes(const Program& program, const std::vector<std::string>& keep) {
  auto program_copy = std::make_shared<Program>(program);
  note_precision(*program_copy, Precision::exported, keep);
  return program_copy;
}

/// True if some node computes products in another precision than exported.
bool any_rounds(const Function& f, Precision precision) {
  return std::ranges::any_of(f.nodes, [&](const Node& n) {
    return has_precision(n.op) && noted_precision(n).value_or(precision) != Precision::exported;
  });
}

}  // namespace

std::string describe(const PreparedProgram& prepared, std::uint32_t function, std::uint32_t node) {
  const Program& program = *prepared.program;
  const std::vector<std::uint32_t>& numbers = prepared.facts[function].numbers;
  return describe(program, program.functions[function], node < numbers.size() ? numbers[node] : node);
}

Precision PreparedProgram::precision(const Node& node) const {
  if (!rounds) return Precision::exported;
  return noted_precision(node).value_or(options.precision);
}

std::shared_ptr<const PreparedProgram> prepare_program(std::shared_ptr<const Program> program,
                                                       const PrepareOptions& options,
                                                       const PreparationSettings& settings) {
  if (!(options.max_seconds >= 0) || options.max_iterations < 0)
    fail(ErrorCode::invalid_argument, "PrepareOptions: max_seconds and max_iterations must not be negative");
  if (options.precision != Precision::exported && options.reproducible)
    fail(ErrorCode::invalid_argument,
         "PrepareOptions: `reproducible` and `precision` cannot be combined: `precision` changes the bits");
  if (!options.float32_nodes.empty()) program = retain_float32_nodes(*program, options.float32_nodes);
  auto prepared = std::make_shared<PreparedProgram>();
  prepared->options = options;
  prepared->listeners = settings.listeners;
  prepared->weights = std::make_shared<SharedWeights>();
  prepared->plans = std::make_shared<Plans>(static_cast<std::size_t>(std::max(1, options.cached_plans)));
  Device& device = settings.device != nullptr ? *settings.device : Device::open(options.device);
  prepared->device = &device;
  // Plugins resolve `automatic` themselves.
  if (device.traits().native_kernels) prepared->options.precision = cpu::resolved(options.precision);
  prepared->constants = device.constants(*program, !options.copy_weights);
  if (options.native_code && !program->kernels.empty()) prepared->archived = device.take_kernels(*program);
  if (!options.reproducible) prepared->part_compiler = device.part_compiler();
  // Abilities of CPU kernels besides computing results with equal bits everywhere.
  const bool native = device.traits().native_kernels && !options.reproducible;
  if (native && settings.listeners.recorder == nullptr)
    prepared->cache = std::make_shared<WeightCache>(options.weight_cache);
  prepared->kernels = settings.kernels != nullptr ? settings.kernels : &device.kernels(options.reproducible);
  check_kernels(*program, *prepared->kernels);
  const bool solves =
      native && cpu::solves_unfactored(prepared->kernels->kernels[static_cast<std::size_t>(Op::lu_solve)]);
  for (const Function& original : program->functions) {
    Function exported = options.reproducible     ? apply_definitions(original)
                        : device.traits().groups ? apply_gpu_rounding(original)
                                                 : original;
    if (device.takes_precision() && !options.reproducible)
      prepared->rounds = any_rounds(exported, prepared->options.precision) || prepared->rounds;
    std::vector<std::uint32_t> numbers;
    if (device.traits().groups && !options.reproducible) numbers = batch_attention(*program, exported);
    // Epilogues see products before rounding to the product's type.
    FusedFunction f =
        settings.fusion == Fusion::enabled ? fuse(std::move(exported), native, solves) : unfused(std::move(exported));
    prepared->facts.push_back(find_facts(*program, f.function, *prepared->kernels));
    for (std::uint32_t& n : f.numbers) n = numbers.empty() ? n : numbers[n];
    prepared->facts.back().numbers = std::move(f.numbers);
    prepared->functions.push_back(std::move(f.function));
  }
  prepared->read_in_bodies.assign(program->states.size(), false);
  for (const Function& f : program->functions) {
    for (const FunctionInput& in : f.inputs) {
      if (!f.entry && in.kind == FunctionInput::Kind::state) prepared->read_in_bodies[in.state] = true;
    }
  }
  if (settings.tuning != nullptr) {
    take_algorithms(*prepared, *settings.tuning);
  } else if (native) {
    choose_algorithms(*prepared, *program);
  }
  for (const Packing& p : program->packings) prepared->packings[{p.storage, p.key}] = p.packed;
  prepared->program = std::move(program);
  return prepared;
}

}  // namespace tern
