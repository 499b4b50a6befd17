#include "tools/train/export_options.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>

#include "exporter/optimizers/settings.h"
#include "exporter/training/adapters.h"
#include "exporter/training/losses.h"
#include "tools/bounds.h"
#include "tools/text.h"
#include "tools/train/activation_memory.h"

namespace tern {
namespace {

using optimizers::OptimizerOptions;

constexpr std::uint64_t kBucket = 25'000'000;

std::string loss_names() {
  std::string names;
  for (const LossRecord& l : losses()) names += fmt::format("{}, ", l.name);
  return names + "or none: the program's first result is the loss";
}

/// Settings given for --optimizer must have an effect.
void require_settings_read(const TrainArguments& a, const OptimizerOptions& o) {
  const std::pair<const char*, bool> option_flags[] = {
      {"momentum", a.momentum.has_value()},
      {"dampening", a.dampening.has_value()},
      {"nesterov", a.nesterov},
      {"amsgrad", a.amsgrad},
      {"betas", !a.betas.empty()},
      {"eps", a.eps.has_value()},
      {"weight-decay", a.weight_decay.has_value()},
  };
  for (const auto& [name, is_given] : option_flags) {
    if (is_given)
      optimizers::require_read(o.optimizer, name, fmt::format("--{}", name),
                               fmt::format("--optimizer {}", optimizers::optimizer_name(o.optimizer)));
  }
}

OptimizerOptions parse_optimizer(const TrainArguments& a) {
  OptimizerOptions o = optimizers::options_of_name(a.optimizer.empty() ? "adamw" : a.optimizer, "--optimizer");
  require_settings_read(a, o);
  if (a.lr && !(*a.lr >= 0 && std::isfinite(*a.lr)))
    fail(ErrorCode::invalid_argument, fmt::format("--lr takes a finite number from 0, not {}", *a.lr));
  o.lr = a.lr.value_or(o.lr);
  o.weight_decay = a.weight_decay.value_or(o.weight_decay);
  o.momentum = a.momentum.value_or(o.momentum);
  o.dampening = a.dampening.value_or(o.dampening);
  if (a.dampening && o.momentum == 0) fail(ErrorCode::invalid_argument, "--dampening needs --momentum");
  o.eps = a.eps.value_or(o.eps);
  if (!a.betas.empty()) o.betas = {a.betas.at(0), a.betas.at(1)};
  o.nesterov = o.nesterov || a.nesterov;
  o.amsgrad = a.amsgrad;
  return o;
}

bool any_given(const TrainArguments& a) {
  return a.accumulate || !a.loss.empty() || !a.optimizer.empty() || a.class_axis || a.label_smoothing || a.clip_norm ||
         a.clip_value || a.loss_scale || a.ema || a.gradient_norm || !a.class_weights.empty() || a.lr ||
         a.weight_decay || a.momentum || a.eps || !a.betas.empty() || a.nesterov || a.amsgrad || !a.freeze.empty() ||
         !a.params.empty() || !a.steps.empty() || !a.activation_memory.empty() || !a.lora.empty() || a.lora_seed ||
         a.dampening || a.data_parallel || !a.bucket.empty();
}

/// A line with the names of weights without adapters; empty if there are none.
std::string unadapted_text(const std::vector<std::string>& weights, std::string_view reason) {
  constexpr std::size_t kMaxNames = 8;
  if (weights.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < std::min(weights.size(), kMaxNames); ++i)
    names += (i == 0 ? "" : ", ") + escape_name(weights[i]);
  if (weights.size() > kMaxNames) names += fmt::format(" and {} more", weights.size() - kMaxNames);
  return fmt::format("no adapters: {}: {}\n", names, reason);
}

}  // namespace

void add_train_options(Command command, TrainArguments& a) {
  command.add_flag("--train", a.train,
                   "Make an archive that 'tern train' trains: methods forward, loss and train_step (docs/training.md). "
                   "Export the model in train() mode");
  command.add_option("--loss", a.loss, "With --train: " + loss_names() + " (default: none)").type_name("LOSS");
  command.add_option("--class-axis", a.class_axis,
                     "The prediction's axis of classes, for cross_entropy and nll; -1 is the last (default: 1)");
  command.add_option("--label-smoothing", a.label_smoothing, "Label smoothing, as in PyTorch's cross_entropy");
  command
      .add_option("--optimizer", a.optimizer,
                  "With --train: " + optimizers::optimizer_names() +
                      " (default: adamw). adamw8bit and similar ones keep states of 8 bits (docs/training.md)")
      .type_name("NAME");
  command.add_option("--lr", a.lr, "Learning rate; 'tern train --lr' can give another (default: PyTorch's)");
  command.add_option("--weight-decay", a.weight_decay, "Weight decay (default: PyTorch's for the optimizer)");
  command.add_option("--momentum", a.momentum, "Momentum of sgd, rmsprop and muon");
  command.add_option("--dampening", a.dampening, "Dampening of sgd's momentum");
  command.add_option("--betas", a.betas, "Two numbers, for adam, adamw and similar optimizers")
      .delimiter(',')
      .expected(2)
      .type_name("B1,B2");
  command.add_option("--eps", a.eps, "Number added to divisors, so that none is 0");
  command.add_flag("--nesterov", a.nesterov, "Nesterov's momentum, of sgd and muon");
  command.add_flag("--amsgrad", a.amsgrad, "The AMSGrad variant of adam and adamw");
  command
      .add_option("--class-weights", a.class_weights,
                  "Weight of each class in cross_entropy and nll, as in PyTorch; of positive targets in "
                  "bce_with_logits (pos_weight)")
      .delimiter(',')
      .type_name("W,W...");
  command.add_option("--ema", a.ema,
                     "Also average the parameters over the steps with this decay, such as 0.999; methods forward_ema "
                     "and loss_ema use the averages, and so do 'tern train --held-out' and --forward");
  command.add_flag("--gradient-norm", a.gradient_norm,
                   "The steps also return the norm of the gradients, which 'tern train' reports");
  command.add_option("--clip-norm", a.clip_norm, "Scale the gradients to a norm of at most this number");
  command.add_option("--clip-value", a.clip_value, "Limit each element of the gradients to this magnitude");
  command.add_option("--loss-scale", a.loss_scale,
                     "First scale of the loss with --precision float16; steps with infinite gradients halve it "
                     "(default: 65536)");
  command
      .add_option("--freeze", a.freeze,
                  "Parameters whose names match PATTERN (* ? []) keep their values. May be repeated")
      .type_name("PATTERN");
  command
      .add_option(
          "--step", a.steps,
          "A step of its own, with a loss, parameters and an optimizer: 'critic: loss=1, trains=critic|trunk, "
          "optimizer=adam, lr=1e-3'; every=N takes it with every Nth batch. Several make methods of these names "
          "instead of train_step, for a GAN or actor and critic")
      .type_name("NAME:SETTINGS");
  command
      .add_option("--params", a.params,
                  "Train the parameters that SELECTOR matches with other settings: 'norm*|*.bias: weight-decay=0', "
                  "'lm_head: lr=0.1x', 'ndim<2: optimizer=adamw, lr=3e-4', 'encoder: frozen'. May be repeated; later "
                  "settings override earlier ones")
      .type_name("SELECTOR:SETTINGS");
  command
      .add_option("--lora", a.lora,
                  "Train low-rank adapters on the linear weights whose names match PATTERN (* ? []), and nothing else; "
                  "the rank is 8 and alpha the rank unless given. May be repeated")
      .type_name("PATTERN[:rank=R,alpha=A]");
  command.add_option("--lora-seed", a.lora_seed, "Seed of the adapters' first values (default: 0)");
  command
      .add_option("--activation-memory", a.activation_memory,
                  "Limit for the memory of a step's intermediate values, as 'tern inspect' shows it: 512MB, 2GB, or "
                  "least. Long-lived values are recomputed; --size gives symbolic sizes, such "
                  "as the batch's (default: 32). Results keep their bits")
      .type_name("BYTES");
  command.add_flag("--data-parallel", a.data_parallel,
                   "Several ranks share each batch ('tern train --group'): a step averages the gradients of all ranks "
                   "while the backward pass goes on. A single rank can also train with it");
  command
      .add_option("--bucket", a.bucket,
                  "Gradients that travel together with --data-parallel (default: 25MB, and 1 MB in the first bucket)")
      .type_name("BYTES");
  command.add_flag("--accumulate", a.accumulate,
                   "Also make methods accumulate and apply, for 'tern train --accumulate': a step over several "
                   "batches. With --step: "
                   "accumulate_NAME and apply_NAME for each step");
}

std::optional<TrainingOptions> parse_train(const TrainArguments& a) {
  if (!a.train) {
    if (any_given(a))
      fail(ErrorCode::invalid_argument, "options of training, such as --loss and --optimizer, need --train");
    return {};
  }
  TrainingOptions o;
  o.loss = a.loss.empty() ? "none" : a.loss;
  const LossRecord* loss = find_loss(o.loss);
  if (a.class_axis && (loss == nullptr || !loss->classes))
    fail(ErrorCode::invalid_argument, "--class-axis needs --loss cross_entropy or nll");
  if (a.label_smoothing && o.loss != "cross_entropy")
    fail(ErrorCode::invalid_argument, "--label-smoothing needs --loss cross_entropy");
  o.class_axis = a.class_axis.value_or(1);
  o.label_smoothing = a.label_smoothing.value_or(0);
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    fail(ErrorCode::invalid_argument, "--label-smoothing takes a number from 0 to 1");
  for (const auto& [name, limit] :
       {std::pair{"--clip-norm", a.clip_norm}, {"--clip-value", a.clip_value}, {"--loss-scale", a.loss_scale}}) {
    if (limit && !(*limit > 0)) fail(ErrorCode::invalid_argument, fmt::format("{} takes a positive number", name));
  }
  o.optimizer = parse_optimizer(a);
  o.clip_norm = a.clip_norm;
  if (a.ema && !(*a.ema >= 0 && *a.ema < 1))
    fail(ErrorCode::invalid_argument, "--ema takes a decay from 0 to below 1, such as 0.999");
  o.ema = a.ema;
  o.gradient_norm = a.gradient_norm;
  o.class_weights = a.class_weights;
  for (const double w : o.class_weights) {
    if (!(w >= 0 && std::isfinite(w)))
      fail(ErrorCode::invalid_argument, "--class-weights takes finite numbers from 0, such as 1,2.5,1");
  }
  o.loss_scale = a.loss_scale.value_or(o.loss_scale);
  o.clip_value = a.clip_value;
  o.freeze = a.freeze;
  for (const std::string& text : a.steps) o.steps.push_back(parse_step_rule(text));
  for (const std::string& text : a.params) o.rules.push_back(parse_parameter_rule(text));
  for (const std::string& text : a.lora) o.lora.push_back(parse_lora(text));
  o.lora_seed = a.lora_seed.value_or(0);
  if (a.lora_seed && a.lora.empty()) fail(ErrorCode::invalid_argument, "--lora-seed needs --lora");
  if (!o.lora.empty() && std::ranges::any_of(o.rules, [](const ParameterRule& r) { return r.frozen.has_value(); }))
    fail(ErrorCode::invalid_argument, "--params with frozen cannot be combined with --lora: it trains only adapters");
  if (!o.freeze.empty() && !o.lora.empty())
    fail(ErrorCode::invalid_argument, "--freeze cannot be combined with --lora: it trains only adapters");
  o.accumulate = a.accumulate;
  if (!a.bucket.empty() && !a.data_parallel) fail(ErrorCode::invalid_argument, "--bucket needs --data-parallel");
  if (a.data_parallel) o.bucket = a.bucket.empty() ? kBucket : parse_bytes(a.bucket, "--bucket");
  return o;
}

void check_loss_scale(const TrainArguments& a, DType precision) {
  if (a.loss_scale && precision != DType::f16)
    fail(ErrorCode::invalid_argument, "--loss-scale needs --train and --precision float16");
}

std::string training_text(const TrainingOptions& options, const TrainingReport& report) {
  std::string text = fmt::format(
      "trains {} parameters of {} elements with {}{}{}\n", report.trained, report.elements,
      options.steps.empty() ? optimizers::full_name(options.optimizer) : fmt::format("{} steps", options.steps.size()),
      options.loss == "none" ? "" : " on " + options.loss,
      report.frozen > 0 ? fmt::format("; {} keep their values", report.frozen) : "");
  for (const std::string& group : report.groups) text += "  " + escape_message(group) + "\n";
  for (const std::string& name : report.unused)
    text += fmt::format("not trained: {}: the loss does not depend on it\n", escape_name(name));
  text += unadapted_text(report.unadapted, "--lora matches, but not only linear layers read them");
  text += unadapted_text(report.tied_weights,
                         "--lora matches, but the weights are tied: give the layers weights of their own before "
                         "torch.export, as the error of --lora NAME shows");
  return text;
}

}  // namespace tern
