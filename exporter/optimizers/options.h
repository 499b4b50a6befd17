// Optimizer, its options, and its state tensors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/program.h"

namespace tern::optimizers {

/// The optimizers of torch.optim, and Lion (Chen et al., 2023).
enum class Optimizer : std::uint8_t {
  sgd,
  adam,
  adamw,
  adagrad,
  rmsprop,
  adadelta,
  adamax,
  nadam,
  radam,
  asgd,
  rprop,
  adafactor,
  lion,
  muon,
};
inline constexpr int kOptimizers = 14;
/// "adamw"; optimizer_from_name returns -1 for unknown names.
std::string_view optimizer_name(Optimizer o);
int optimizer_from_name(std::string_view name);
/// True for optimizers with an 8-bit form: "adamw8bit" is then a valid name too.
bool can_be_coded(Optimizer o);
inline constexpr std::string_view kCodedSuffix = "8bit";

/// Arguments of PyTorch's constructors. Each optimizer reads its own; options_for returns PyTorch's defaults.
struct OptimizerOptions {
  Optimizer optimizer = Optimizer::adamw;
  double lr = 1e-3;
  double weight_decay = 0;
  double eps = 1e-8;
  std::array<double, 2> betas{0.9, 0.999};            ///< adam, adamw, adamax, nadam, radam, lion
  double momentum = 0, dampening = 0;                 ///< sgd; rmsprop and muon: momentum
  double alpha = 0.99;                                ///< rmsprop; asgd
  double rho = 0.9;                                   ///< adadelta
  double lr_decay = 0, initial_accumulator = 0;       ///< adagrad
  double momentum_decay = 4e-3;                       ///< nadam
  double lambd = 1e-4, t0 = 1e6;                      ///< asgd
  std::array<double, 2> etas{0.5, 1.2};               ///< rprop
  std::array<double, 2> step_sizes{1e-6, 50};         ///< rprop: least and most
  double beta2_decay = -0.8, d = 1, eps_square = -1;  ///< adafactor; eps is eps[1], eps_square eps[0], < 0: the dtype's
  std::array<double, 3> ns_coefficients{3.4445, -4.775, 2.0315};  ///< muon
  int ns_steps = 5;                                               ///< muon, 1..99
  bool match_rms_adamw = false;                                   ///< muon: adjust_lr_fn
  bool nesterov = false, amsgrad = false, centered = false, maximize = false;
  bool decoupled = false;  ///< nadam, radam: decoupled_weight_decay
  bool coded = false;      ///< 8-bit states, like torchao's AdamW8bit, for parameters accepted by is_coded

  bool operator==(const OptimizerOptions&) const = default;
};
/// "adamw", or "adamw8bit".
std::string full_name(const OptimizerOptions& o);
/// Defaults of PyTorch 2.12's constructor; for Lion, the paper's.
OptimizerOptions options_for(Optimizer o);
/// Fails for a number outside the range checked by PyTorch's constructor, naming the number.
void check_options(const OptimizerOptions& o);

/// True if the parameter's states have 8 bits: requires `coded`, float32 or 16 bits, and many elements
/// (dtypes/state_codes.h). A step takes parameters with equal answers.
bool is_coded(const OptimizerOptions& o, const TensorType& parameter);

/// True for sgd with a special first step: momentum starts as the undampened gradient.
bool is_dampened(const OptimizerOptions& o);

/// "exp_avg_scale" for "exp_avg", a state with an 8-bit form.
std::string_view scale_name(std::string_view state);

/// Tensor stored by an optimizer between steps.
struct StateTensor {
  std::string_view name;        ///< name in PyTorch's state_dict: "exp_avg"
  std::int64_t parameter = -1;  ///< number of the parameter, or -1 for a tensor common to all
  TensorType type;
  double initial = 0;  ///< the value of each element before the first step
};

/// All states, in the order of optimizer_step's operands and results: the shared ones, then list after list.
///
/// | optimizer | shared (no dimensions, float32) | per parameter (its sizes and dtype) |
/// |---|---|---|
/// | sgd | step, with momentum and dampening | momentum_buffer, with momentum |
/// | adam, adamw | step | exp_avg, exp_avg_sq, and max_exp_avg_sq with amsgrad |
/// | adagrad | step | sum (starts with initial_accumulator) |
/// | rmsprop | | momentum_buffer with momentum, square_avg, grad_avg with centered |
/// | adadelta | | acc_delta, square_avg |
/// | adamax | step | exp_avg, exp_inf |
/// | nadam | step, mu_product (starts with 1) | exp_avg, exp_avg_sq |
/// | radam | step | exp_avg, exp_avg_sq |
/// | asgd | step | ax |
/// | rprop | | prev, step_size (starts with lr) |
/// | adafactor | step | row_var [..., 1] and col_var [..., 1, n] of matrices, variance of others |
/// | lion | | exp_avg |
/// | muon | | momentum_buffer |
///
/// All others start with 0. Parameters of 16 bits have float32 states if `float32_states`. Coded states are uint8; each
/// list of them precedes a list of scales ("exp_avg_scale"): float32, one per 256 elements.
std::vector<StateTensor> optimizer_states(const OptimizerOptions& o, const std::vector<TensorType>& params,
                                          bool float32_states = false);

}  // namespace tern::optimizers
