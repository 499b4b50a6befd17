#include "exporter/training/evaluation.h"

#include <memory>
#include <string_view>

namespace tern {
namespace {

using pt2::Argument;

struct Switch {
  std::string_view target;    ///< without overload
  std::string_view argument;  ///< name of the training flag
};
/// Training flags, set to False, and dropout probabilities, set to 0.
constexpr Switch kSwitches[] = {
    {"batch_norm", "training"},
    {"native_batch_norm", "training"},
    {"_native_batch_norm_legit", "training"},
    {"_native_batch_norm_legit_functional", "training"},
    {"_batch_norm_impl_index", "training"},
    {"cudnn_batch_norm", "training"},
    {"dropout", "train"},
    {"dropout_", "train"},
    {"native_dropout", "train"},
    {"feature_dropout", "train"},
    {"feature_dropout_", "train"},
    {"alpha_dropout", "train"},
    {"alpha_dropout_", "train"},
    {"feature_alpha_dropout", "train"},
    {"feature_alpha_dropout_", "train"},
    {"rrelu", "training"},
    {"rrelu_", "training"},
    {"rrelu_with_noise", "training"},
    {"rrelu_with_noise_functional", "training"},
    {"lstm", "train"},
    {"gru", "train"},
    {"rnn_tanh", "train"},
    {"rnn_relu", "train"},
    {"scaled_dot_product_attention", "dropout_p"},
    {"_scaled_dot_product_flash_attention_for_cpu", "dropout_p"},
    {"_scaled_dot_product_flash_attention", "dropout_p"},
    {"_scaled_dot_product_efficient_attention", "dropout_p"},
};

/// "batch_norm" of "torch.ops.aten.batch_norm.default"; empty for other libraries.
std::string_view operator_of(std::string_view target) {
  constexpr std::string_view kAten = "torch.ops.aten.";
  if (!target.starts_with(kAten)) return {};
  target.remove_prefix(kAten.size());
  return target.substr(0, target.find('.'));
}

void turn_off(Argument& a) {
  a.boolean = false;
  a.real = 0;
  a.integer = 0;
}

/// instance_norm with running statistics uses its input's statistics in training.
bool has_tensor(const pt2::Node& n, std::string_view argument) {
  const Argument* a = n.find_input(argument);
  return a != nullptr && a->kind == Argument::Kind::tensor;
}

void evaluate(pt2::Graph& graph);

void evaluate(Argument& a) {
  if (a.kind == Argument::Kind::graph && a.graph != nullptr) {
    auto copy = std::make_shared<pt2::Graph>(*a.graph);
    evaluate(*copy);
    a.graph = std::move(copy);
  }
}

void evaluate(pt2::Graph& graph) {
  for (pt2::Node& n : graph.nodes) {
    const std::string_view op = operator_of(n.target);
    for (pt2::NamedArgument& input : n.inputs) {
      evaluate(input.arg);
      for (const Switch& s : kSwitches) {
        if (s.target == op && s.argument == input.name) turn_off(input.arg);
      }
      if (op == "instance_norm" && input.name == "use_input_stats" && has_tensor(n, "running_mean"))
        turn_off(input.arg);
    }
  }
}

}  // namespace

pt2::Program evaluation_model(pt2::Program model) {
  evaluate(model.graph);
  return model;
}

}  // namespace tern
