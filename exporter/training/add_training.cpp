#include "exporter/training/add_training.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "exporter/constants.h"
#include "exporter/gradients/differentiate.h"
#include "exporter/optimizers/step.h"
#include "exporter/rewrite.h"
#include "exporter/training/losses.h"
#include "exporter/training/methods.h"
#include "exporter/training/parameters.h"
#include "exporter/training/states.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

constexpr std::string_view kGradientResult = "grad:";

using Kind = FunctionOutput::Kind;

bool is_joint(const Function& f) {
  return std::ranges::any_of(f.outputs, [](const FunctionOutput& o) { return o.name.starts_with(kGradientResult); });
}

/// What a batch norm counts in training mode, and has no use for.
void leave_batch_counts(const Program& program, Function& f) {
  std::erase_if(f.writebacks, [&](const WriteBack& w) {
    return w.target == WriteBack::Target::state && program.states[w.index].name.ends_with("num_batches_tracked");
  });
}

void require_free_name(const Function& f, std::string_view name) {
  for (const FunctionInput& in : f.inputs) {
    if (in.kind == FunctionInput::Kind::user && in.name == name)
      fail(ErrorCode::invalid_argument,
           fmt::format("--train: the program has an input '{0}', and training adds one of that name; rename the "
                       "argument, or compute the loss in the program and give --loss none",
                       name));
  }
}

ValueId add_user_input(Builder& b, TensorType type, std::string_view name) {
  require_free_name(b.function(), name);
  const ValueId v = b.add_value(std::move(type), std::string(name));
  b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, std::string(name), {}});
  return v;
}

/// Parameters that one step of the optimizer updates.
struct Group {
  DType dtype = DType::invalid;
  std::vector<std::size_t> parameters;  ///< places in Training::parameters_
  std::vector<std::uint32_t> states;    ///< of the program, in the order of optimizer_states
};

class Training {
 public:
  Training(Program& program, const TrainingOptions& options)
      : program_(program), options_(options), loss_(find_loss(options.loss)) {}

  TrainingReport run() {
    step_ = index_of(training::kTrainStep);
    joint_ = is_joint(program_.functions[step_]);
    if (joint_ && loss_ != nullptr) {
      fail(ErrorCode::invalid_argument,
           "--train: the file holds a joint graph, which computes its own loss and gradients; give --loss none");
    }
    parameters_ = choose_parameters(program_, step_, options_.freeze);
    report_.frozen = static_cast<std::size_t>(
        std::ranges::count_if(program_.states, [](const State& s) { return s.kind == State::Kind::parameter; }));
    for (const TrainedParameter& p : parameters_) report_.frozen -= p.same.size();
    add_loss_method();
    Builder b(program_, step_);
    const ValueId loss = differentiate_step(b);
    drop_unreached();
    if (options_.accumulate) add_accumulation(loss);
    ValueId norm = kNoValue;
    update(b, gradients_, &norm);
    set_results(b.function(), loss, norm);
    note_metadata();
    remove_dead_code(program_);
    return report_;
  }

 private:
  std::uint32_t index_of(std::string_view name) const {
    for (std::uint32_t i = 0; i < program_.functions.size(); ++i) {
      if (program_.functions[i].entry && program_.functions[i].name == name) return i;
    }
    fail(ErrorCode::internal, fmt::format("there is no function '{}'", name));
  }

  /// The first result: what losses compare with the target, or the program's own loss.
  static ValueId first_result(const Function& f) {
    for (const FunctionOutput& o : f.outputs) {
      if (o.kind == Kind::tensor && o.value != kNoValue) return o.value;
    }
    fail(ErrorCode::invalid_argument, "--train: the program has no tensor as its result");
  }

  ValueId own_loss(Builder& b) const {
    const ValueId v = first_result(b.function());
    if (b.rank(v) != 0 || !is_floating(b.dtype(v))) {
      fail(ErrorCode::invalid_argument,
           fmt::format("--loss none: the program's first result is {}, and a loss is one float; give --loss",
                       text_of(b.type(v), program_.pool)));
    }
    return v;
  }

  ValueId add_head(Builder& b) const {
    if (loss_ == nullptr) return own_loss(b);
    const ValueId prediction = first_result(b.function());
    const ValueId target = add_user_input(b, target_type(*loss_, b.type(prediction), options_), training::kTarget);
    return add_loss(b, *loss_, prediction, target, options_);
  }

  /// `loss`: the evaluation program with the loss before its results.
  void add_loss_method() {
    const std::uint32_t source = joint_ ? step_ : index_of(training::kForward);
    if (!joint_) leave_batch_counts(program_, program_.functions[source]);
    Function copy = program_.functions[source];
    copy.name = training::kLoss;
    copy.in_tree.clear();
    copy.out_tree.clear();
    if (joint_) {
      copy.writebacks.clear();
      std::erase_if(copy.outputs, [](const FunctionOutput& o) { return o.name.starts_with(kGradientResult); });
    }
    program_.functions.push_back(std::move(copy));
    const auto index = static_cast<std::uint32_t>(program_.functions.size() - 1);
    Builder b(program_, index);
    const ValueId loss = add_head(b);
    std::vector<FunctionOutput>& results = b.function().outputs;
    if (loss_ == nullptr) std::erase_if(results, [&](const FunctionOutput& o) { return o.value == loss; });
    results.insert(results.begin(), {Kind::tensor, loss, std::string(training::kLossResult)});
  }

  /// Fills `gradients_`, one for each parameter or kNoValue, and returns the loss.
  ValueId differentiate_step(Builder& b) {
    if (joint_) return take_joint_gradients(b);
    const ValueId loss = add_head(b);
    std::vector<ValueId> wrt;
    for (const TrainedParameter& p : parameters_) {
      for (std::uint32_t s : p.same) wrt.push_back(value_of_state(program_, b.function(), s));
    }
    const GradientSeed seed{loss, b.full({}, 1, b.dtype(loss))};
    const std::vector<ValueId> all = differentiate(b, std::span(&seed, 1), wrt);
    std::size_t next = 0;
    for (const TrainedParameter& p : parameters_) {
      ValueId sum = kNoValue;
      for (std::size_t i = 0; i < p.same.size(); ++i) sum = add_gradients(b, sum, all[next++]);
      gradients_.push_back(sum);
    }
    return loss;
  }

  ValueId take_joint_gradients(Builder& b) {
    const ValueId loss = own_loss(b);
    for (const TrainedParameter& p : parameters_) {
      ValueId gradient = kNoValue;
      for (const FunctionOutput& o : b.function().outputs) {
        for (std::uint32_t s : p.same) {
          if (o.name.starts_with(kGradientResult) && o.name.substr(kGradientResult.size()) == program_.states[s].name)
            gradient = add_gradients(b, gradient, o.value);
        }
      }
      gradients_.push_back(gradient);
    }
    return loss;
  }

  void drop_unreached() {
    std::vector<TrainedParameter> reached;
    std::vector<ValueId> gradients;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (gradients_[i] == kNoValue) {
        report_.unused.push_back(program_.states[parameters_[i].state].name);
        continue;
      }
      reached.push_back(parameters_[i]);
      gradients.push_back(gradients_[i]);
      report_.elements += program_.storages[program_.states[parameters_[i].state].storage].size /
                          static_cast<std::uint64_t>(element_size(program_.states[parameters_[i].state].type.dtype));
    }
    if (reached.empty()) fail(ErrorCode::invalid_argument, "--train: the loss depends on no parameter that is trained");
    parameters_ = std::move(reached);
    gradients_ = std::move(gradients);
    report_.trained = parameters_.size();
  }

  /// `accumulate`: `train_step` as it is now, whose gradients are added to states; `apply`: an update with their mean.
  void add_accumulation(ValueId loss) {
    std::vector<std::uint32_t> sums;
    for (const TrainedParameter& p : parameters_) {
      const State& s = program_.states[p.state];
      sums.push_back(add_training_state(program_, fmt::format("{}{}", training::kGradientState, s.name), s.type, 0));
    }
    const TensorType number{DType::f32, {}};
    const std::uint32_t count = add_training_state(program_, std::string(training::kBatchesState), number, 0);
    Function copy = program_.functions[step_];
    copy.name = training::kAccumulate;
    program_.functions.push_back(std::move(copy));
    Builder a(program_, static_cast<std::uint32_t>(program_.functions.size() - 1));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const ValueId sum = value_of_state(program_, a.function(), sums[i]);
      write_state(a, sums[i], add_gradients(a, sum, gradients_[i]));
    }
    const ValueId before = value_of_state(program_, a.function(), count);
    write_state(a, count, a.expr("n + 1", {{"n", before}}, DType::f32));
    set_results(a.function(), loss, kNoValue);

    Function apply;
    apply.name = training::kApply;
    apply.entry = true;
    program_.functions.push_back(std::move(apply));
    Builder b(program_, static_cast<std::uint32_t>(program_.functions.size() - 1));
    const ValueId n = value_of_state(program_, b.function(), count);
    std::vector<ValueId> means;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const ValueId sum = value_of_state(program_, b.function(), sums[i]);
      means.push_back(b.expr("sum / n", {{"sum", sum}, {"n", n}}, b.dtype(sum)));
      write_state(b, sums[i], zeros_like(b, sum));
    }
    write_state(b, count, b.full({}, 0, DType::f32));
    ValueId norm = kNoValue;
    update(b, means, &norm);
    set_results(b.function(), kNoValue, norm);
  }

  static void write_state(Builder& b, std::uint32_t state, ValueId value) {
    b.function().writebacks.push_back({WriteBack::Target::state, state, value});
  }

  /// The parameters of one dtype: an optimizer's op takes no others. Those of the first parameter's come first.
  std::vector<Group> groups() const {
    std::vector<Group> groups;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const DType dtype = program_.states[parameters_[i].state].type.dtype;
      auto group = std::ranges::find(groups, dtype, &Group::dtype);
      if (group == groups.end()) group = groups.insert(groups.end(), Group{dtype, {}, {}});
      group->parameters.push_back(i);
    }
    return groups;
  }

  /// With the states of the optimizer, added when they are first asked for. Groups share those that belong to no
  /// parameter, such as the number of steps.
  const std::vector<Group>& optimizer_groups() {
    if (!groups_.empty()) return groups_;
    groups_ = groups();
    std::map<std::string_view, std::uint32_t> shared;
    for (Group& g : groups_) {
      std::vector<TensorType> types;
      for (std::size_t i : g.parameters) types.push_back(program_.states[parameters_[i].state].type);
      for (const optimizers::StateTensor& t : optimizers::optimizer_states(options_.optimizer, types)) {
        std::string name = fmt::format("{}{}", training::kOptimizerState, t.name);
        if (t.parameter < 0) {
          const auto [at, is_new] = shared.try_emplace(t.name);
          if (is_new) at->second = add_training_state(program_, std::move(name), t.type, t.initial);
          g.states.push_back(at->second);
          continue;
        }
        name += "." + program_.states[parameters_[g.parameters[static_cast<std::size_t>(t.parameter)]].state].name;
        g.states.push_back(add_training_state(program_, std::move(name), t.type, t.initial));
      }
    }
    return groups_;
  }

  /// Clips the gradients, and adds the optimizer's step with its write-backs.
  void update(Builder& b, std::vector<ValueId> gradients, ValueId* norm) {
    if (options_.clip_value) gradients = optimizers::clip_by_value(b, gradients, *options_.clip_value);
    if (options_.clip_norm) {
      *norm = optimizers::total_norm(b, gradients);
      gradients = optimizers::clip_by_norm(b, gradients, *options_.clip_norm);
    }
    optimizers::StepInputs inputs;
    inputs.lr = add_user_input(b, {DType::f64, {}}, training::kRate);
    std::vector<std::uint32_t> written;
    for (const Group& g : optimizer_groups()) {
      std::vector<ValueId> params, own, states;
      for (std::size_t i : g.parameters) {
        params.push_back(value_of_state(program_, b.function(), parameters_[i].state));
        own.push_back(gradients[i]);
      }
      for (std::uint32_t s : g.states) states.push_back(value_of_state(program_, b.function(), s));
      const optimizers::StepResults results =
          optimizers::optimizer_step(b, options_.optimizer, params, own, states, inputs);
      for (std::size_t i = 0; i < params.size(); ++i)
        write_state(b, parameters_[g.parameters[i]].state, results.params.at(i));
      for (std::size_t i = 0; i < states.size(); ++i) {
        // A shared state is the same after each group's step.
        if (std::ranges::find(written, g.states[i]) != written.end()) continue;
        written.push_back(g.states[i]);
        write_state(b, g.states[i], results.states.at(i));
      }
    }
  }

  static void set_results(Function& f, ValueId loss, ValueId norm) {
    f.outputs.clear();
    f.in_tree.clear();
    f.out_tree.clear();
    if (loss != kNoValue) f.outputs.push_back({Kind::tensor, loss, std::string(training::kLossResult)});
    if (norm != kNoValue) f.outputs.push_back({Kind::tensor, norm, std::string(training::kNormResult)});
  }

  void note_metadata() {
    const auto note = [&](std::string_view key, const std::string& value) {
      program_.metadata.emplace_back(key, value);
    };
    note(training::kLossKey, options_.loss);
    if (loss_ != nullptr && loss_->classes) note(training::kClassAxisKey, fmt::format("{}", options_.class_axis));
    note(training::kOptimizerKey, std::string(optimizers::optimizer_name(options_.optimizer.optimizer)));
    note(training::kRateKey, fmt::format("{}", options_.optimizer.lr));
  }

  Program& program_;
  const TrainingOptions& options_;
  const LossRecord* loss_;
  std::uint32_t step_ = 0;
  bool joint_ = false;
  std::vector<TrainedParameter> parameters_;
  std::vector<ValueId> gradients_;
  std::vector<Group> groups_;
  TrainingReport report_;
};

}  // namespace

TrainingReport add_training(Program& program, const TrainingOptions& options) {
  optimizers::check_options(options.optimizer);
  return Training(program, options).run();
}

}  // namespace tern
