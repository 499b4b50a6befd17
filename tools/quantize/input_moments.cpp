#include "tools/quantize/input_moments.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "exporter/passes/quantize/error_feedback.h"
#include "exporter/rewrite.h"
#include "schema/passes/dead_code.h"
#include "tools/quantize/multiplied_rows.h"

namespace tern {
namespace {

using namespace quantize;

struct Input {
  MultipliedRows rows;
  std::size_t node = 0;  ///< a node that multiplies the rows
  std::int64_t columns = 0;
};

struct PartInputs {
  WeightPart name;
  MatrixPart matrix_part;
  DType type = DType::f32;
  std::uint32_t storage = 0;
  std::vector<std::size_t> inputs;  ///< numbers of Input; sorted
  bool is_table = false;            ///< an embedding reads the part, too
};

/// The parts of weights that products and convolutions of the function read.
class Inputs {
 public:
  explicit Inputs(const FloatProgram& program) {
    const Function& f = program.f();
    for (const auto& [storage, weight] : weights_of(program.program())) {
      if (!weight.obstacle.empty()) continue;
      const std::string& name = program.program().states[weight.state].name;
      for (const WeightUse& weight_use : weight.uses) {
        PartInputs& part_inputs = part_of(WeightPart(name, weight_use.matrix), weight_use.matrix);
        part_inputs.type = weight.type;
        part_inputs.storage = storage;
        part_inputs.is_table = part_inputs.is_table || !weight_use.product;
        if (weight_use.product && weight_use.function == program.function())
          part_inputs.inputs.push_back(input_of(f, weight_use.node, weight_use.matrix.columns));
      }
    }
    std::erase_if(weight_parts, [](const PartInputs& p) { return p.inputs.empty(); });
    for (PartInputs& p : weight_parts) {
      std::ranges::sort(p.inputs);
      p.inputs.erase(std::unique(p.inputs.begin(), p.inputs.end()), p.inputs.end());
    }
    // Parts in the order of the nodes: the first runs end early.
    std::ranges::stable_sort(weight_parts, {}, [&](const PartInputs& p) { return inputs[p.inputs.back()].node; });
  }

  std::vector<Input> inputs;
  std::vector<PartInputs> weight_parts;

 private:
  PartInputs& part_of(const WeightPart& name, const MatrixPart& matrix_part) {
    const auto found = std::ranges::find(weight_parts, name, &PartInputs::name);
    return found != weight_parts.end()
               ? *found
               : weight_parts.emplace_back(PartInputs{name, matrix_part, DType::f32, 0, {}, false});
  }
  std::size_t input_of(const Function& f, std::size_t node, std::int64_t columns) {
    const MultipliedRows rows = multiplied_rows(f, f.nodes[node]);
    const auto found = std::ranges::find(inputs, rows, &Input::rows);
    if (found != inputs.end()) return static_cast<std::size_t>(found - inputs.begin());
    inputs.push_back({rows, node, columns});
    return inputs.size() - 1;
  }
};

const std::vector<Tensor>& run_sample(Session& session, const std::string& function, const Calls& calls,
                                      std::size_t c) {
  try {
    return session.run(function, copies_of(calls[c]));
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("--calibrate: sample {}: {}", c, e.what()));
  }
}

/// Runs all samples and adds up what `compute` adds to the program for each of these inputs.
template <class Compute>
std::map<std::size_t, std::vector<float>> sums_over_samples(const FloatProgram& program, const Calls& calls,
                                                            const std::vector<Input>& inputs,
                                                            const std::vector<std::size_t>& chosen,
                                                            const Compute& compute,
                                                            const std::function<void()>& on_run) {
  const std::shared_ptr<Program> copy = program.branch();
  Function& f = copy->functions[program.function()];
  const std::vector<Node> nodes = f.nodes;
  f.outputs.clear();
  for (const std::size_t i : chosen) {
    Builder b(*copy, program.function());
    const std::size_t first = f.nodes.size();
    const ValueId sum = compute(b, add_multiplied_rows(b, nodes[inputs[i].node], inputs[i].columns));
    move_up(f, first);
    f.outputs.push_back({FunctionOutput::Kind::tensor, sum, fmt::format("input{}", i)});
  }
  remove_dead_code(*copy);
  Side program_side = program.reference();
  program_side.program = copy;
  Session session = program_side.session(copy);
  std::map<std::size_t, std::vector<float>> sums;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const std::vector<Tensor>& results = run_sample(session, f.name, calls, c);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::span<const float> values = results[i].span<const float>();
      std::vector<float>& sum = sums[chosen[i]];
      sum.resize(values.size());
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += values[k];
    }
    on_run();
  }
  return sums;
}

/// Sum of the values of several inputs.
std::vector<float> sum_of(const std::map<std::size_t, std::vector<float>>& sums,
                          const std::vector<std::size_t>& inputs) {
  std::vector<float> joined_sums = sums.at(inputs.front());
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const std::vector<float>& input_sums = sums.at(inputs[i]);
    for (std::size_t k = 0; k < joined_sums.size(); ++k) joined_sums[k] += input_sums[k];
  }
  return joined_sums;
}

/// The rows of a table are results of embeddings as well as factors of products: both errors count alike.
void add_table(std::vector<float>& moments, std::int64_t columns) {
  double mean = 0;
  for (std::int64_t j = 0; j < columns; ++j)
    mean += static_cast<double>(moments[static_cast<std::size_t>(j * columns + j)]) / static_cast<double>(columns);
  for (std::int64_t j = 0; j < columns; ++j)
    moments[static_cast<std::size_t>(j * columns + j)] += static_cast<float>(mean);
}

std::uint64_t moment_bytes(const Input& input) {
  return static_cast<std::uint64_t>(input.columns * input.columns) * sizeof(float);
}

/// Number of parts from `first` on whose second moments fit in `max_bytes` bytes; at least 1.
std::size_t count_parts_within(const Inputs& inputs_of_program, const std::vector<PartInputs>& parts, std::size_t first,
                               std::uint64_t max_bytes, std::vector<std::size_t>& chosen) {
  std::set<std::size_t> inputs;
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (; first + count < parts.size(); ++count) {
    std::uint64_t input_sums = 0;
    for (const std::size_t i : parts[first + count].inputs)
      input_sums += inputs.contains(i) ? 0 : moment_bytes(inputs_of_program.inputs[i]);
    if (count > 0 && bytes + input_sums > max_bytes) break;
    bytes += input_sums;
    inputs.insert(parts[first + count].inputs.begin(), parts[first + count].inputs.end());
  }
  chosen.assign(inputs.begin(), inputs.end());
  return count;
}

FloatMatrix matrix_of(const FloatProgram& program, const PartInputs& p) {
  const std::byte* const bytes = program.program().source->bytes(p.storage).data();
  return {bytes + p.matrix_part.offset * element_size(p.type),
          p.type,
          p.matrix_part.planes * p.matrix_part.rows,
          p.matrix_part.columns,
          p.matrix_part.row_stride,
          p.matrix_part.column_stride,
          p.matrix_part.rows,
          p.matrix_part.plane_stride};
}

}  // namespace

std::map<WeightPart, std::vector<float>> measure_importance(const FloatProgram& program, const Calls& calls) {
  const Inputs program_inputs(program);
  std::map<WeightPart, std::vector<float>> importance;
  if (program_inputs.weight_parts.empty()) return importance;
  std::vector<std::size_t> chosen(program_inputs.inputs.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  const auto squares = [](Builder& b, ValueId rows) {
    return b.reduce(b.expr("x * x", {{"x", rows}}, DType::f32), "sum", {0}, false, DType::f32);
  };
  const std::map<std::size_t, std::vector<float>> sums =
      sums_over_samples(program, calls, program_inputs.inputs, chosen, squares, [] {});
  for (const PartInputs& p : program_inputs.weight_parts) {
    std::vector<float>& of_part = importance[p.name] = sum_of(sums, p.inputs);
    if (!p.is_table) continue;
    const float mean = std::accumulate(of_part.begin(), of_part.end(), 0.0F) /
                       static_cast<float>(std::max<std::size_t>(1, of_part.size()));
    for (float& v : of_part) v += mean;
  }
  return importance;
}

std::map<WeightPart, EncodedPart> encode_with_feedback(const FloatProgram& program, const QuantizeChoices& choices,
                                                       const Calls& calls, const OnStep& on_step,
                                                       std::uint64_t max_bytes) {
  const Inputs program_inputs(program);
  std::vector<PartInputs> parts;
  const auto recipe_of = [&](const PartInputs& p) -> const Recipe* {
    const auto found = choices.find(p.name.weight);
    const bool feeds_back = found != choices.end() && found->second.recipe.format != nullptr &&
                            found->second.recipe.rule == ScaleRule::gptq;
    return feeds_back ? &found->second.recipe : nullptr;
  };
  std::ranges::copy_if(program_inputs.weight_parts, std::back_inserter(parts), recipe_of);
  std::vector<std::size_t> chosen;
  std::size_t portions = 0, completed_steps = 0;
  for (std::size_t first = 0; first < parts.size(); ++portions)
    first += count_parts_within(program_inputs, parts, first, max_bytes, chosen);
  const std::size_t steps = portions * calls.size() + parts.size();
  const auto step = [&] { on_step(++completed_steps, steps); };
  const auto products = [](Builder& b, ValueId rows) { return b.matmul(b.transpose(rows, 0, 1), rows); };
  std::map<WeightPart, EncodedPart> encoded;
  for (std::size_t first = 0; first < parts.size();) {
    const std::size_t count = count_parts_within(program_inputs, parts, first, max_bytes, chosen);
    const std::map<std::size_t, std::vector<float>> sums =
        sums_over_samples(program, calls, program_inputs.inputs, chosen, products, step);
    std::optional<FeedbackFactor> factor;
    std::pair<std::vector<std::size_t>, bool> factor_inputs;  // weights of one input share a factor
    for (const PartInputs& p : std::span(parts).subspan(first, count)) {
      if (!factor || factor_inputs != std::pair(p.inputs, p.is_table)) {
        std::vector<float> moments = sum_of(sums, p.inputs);
        if (p.is_table) add_table(moments, p.matrix_part.columns);
        factor = feedback_factor(moments, p.matrix_part.columns);
        factor_inputs = {p.inputs, p.is_table};
      }
      const Recipe& recipe = *recipe_of(p);
      if (factor) encoded[p.name] = {recipe, quantize_with_feedback(matrix_of(program, p), recipe, *factor)};
      step();
    }
    first += count;
  }
  return encoded;
}

}  // namespace tern
