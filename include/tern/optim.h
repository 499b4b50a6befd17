// Optimizers over lists of tensors with the CPU's kernels, without an archive: for programs with their own gradients.
//
//   tern::optim::Options options = tern::optim::defaults(tern::optim::Kind::adamw);
//   tern::optim::States states = tern::optim::make_states(options, params);
//   tern::optim::step(options, params, grads, states);  // for each batch
//
// A step is a single loop over the elements of all tensors, divided evenly among the threads for any sizes of tensors;
// the step updates parameters and states in place. Values equal torch.optim's to the last bits for any number of
// threads. Adafactor and Muon exist in archives only, because they need reductions and products.
#pragma once

#include <tern/api.h>
#include <tern/tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tern::optim {

/// The optimizers of torch.optim, and Lion (Chen et al., 2023). The numbers stay.
enum class Kind : std::uint8_t {
  sgd = 0,
  adam = 1,
  adamw = 2,
  adagrad = 3,
  rmsprop = 4,
  adadelta = 5,
  adamax = 6,
  nadam = 7,
  radam = 8,
  asgd = 9,
  rprop = 10,
  lion = 11,
};

/// The arguments of PyTorch's constructors; each kind reads a subset.
struct Options {
  Kind kind = Kind::adamw;
  double lr = 1e-3;
  double weight_decay = 0;
  double eps = 1e-8;
  std::array<double, 2> betas{0.9, 0.999};     ///< adam, adamw, adamax, nadam, radam, lion
  double momentum = 0, dampening = 0;          ///< sgd; rmsprop: momentum
  double alpha = 0.99;                         ///< rmsprop, asgd
  double rho = 0.9;                            ///< adadelta
  double lr_decay = 0, initial_sum = 0;        ///< adagrad
  double momentum_decay = 4e-3;                ///< nadam
  double lambd = 1e-4, t0 = 1e6;               ///< asgd
  std::array<double, 2> etas{0.5, 1.2};        ///< rprop
  std::array<double, 2> step_sizes{1e-6, 50};  ///< rprop: the least and the largest
  bool nesterov = false;                       ///< sgd, with momentum and without dampening
  bool amsgrad = false;                        ///< adam, adamw
  bool centered = false;                       ///< rmsprop
  bool decoupled_weight_decay = false;         ///< nadam, radam
  bool maximize = false;
  /// States of 8 bits with a float32 scale for each 256 elements, in the format of torchao's AdamW8bit: a quarter of
  /// the memory. For sgd, adam, adamw, adagrad, rmsprop, adamax, nadam, radam and lion; states stay floating for
  /// float64 parameters, for fewer than 4096 elements, and for numbers of elements not divisible by 256.
  bool eight_bits = false;
};
/// PyTorch's defaults; for Lion the defaults of its paper.
TERN_API Options defaults(Kind kind);

/// The state of an optimizer. Tensors have the parameters' sizes and are contiguous; lists are empty or have a tensor
/// for each parameter. Save and restore all members to continue a run with the same bits.
struct States {
  std::int64_t steps = 0;  ///< steps done so far; sgd's first step sets momentum_buffer to the gradient, without
                           ///< dampening
  double mu_product = 1;   ///< nadam
  /// sgd, rmsprop (with momentum): momentum_buffer. adam, adamw, nadam, radam, adamax, lion: exp_avg. adadelta:
  /// acc_delta. asgd: ax. rprop: prev.
  std::vector<Tensor> first;
  /// adam, adamw, nadam, radam: exp_avg_sq. adagrad: sum. rmsprop, adadelta: square_avg. adamax: exp_inf. rprop:
  /// step_size.
  std::vector<Tensor> second;
  std::vector<Tensor> third;    ///< adam, adamw: max_exp_avg_sq (amsgrad). rmsprop: grad_avg (centered).
  std::vector<Tensor> masters;  ///< float32 copies of parameters of 16 bits; empty without such copies
  /// Scales of the uint8 states among the first, second and third (Options::eight_bits); other states have empty
  /// tensors.
  std::vector<Tensor> first_scales, second_scales, third_scales;
};

enum class Precision16 : std::uint8_t {
  parameters,  ///< states have the parameters' type
  wide,        ///< float32 states
  masters,  ///< float32 states, and float32 copies of the parameters; steps update the copies and round them into the
            ///< parameters
};

/// Creates the states before the first step. All parameters have the same type: float32, float64, float16 or bfloat16.
/// Throws invalid_argument for other or mixed types and for numbers outside PyTorch's ranges.
TERN_API States make_states(const Options& options, std::span<const Tensor> params,
                            Precision16 precision = Precision16::parameters);

/// Settings changing from step to step.
struct StepSettings {
  double lr = -1;          ///< replaces Options::lr; negative: keeps Options::lr
  double grad_scale = 1;   ///< divisor of gradients; `grads` stay unchanged
  bool found_inf = false;  ///< skips the step
  int threads = 0;         ///< 0: as many as OpenMP reports
};

/// Performs a step. params, grads and states are contiguous and have the same sizes, tensor by tensor; all gradients
/// have the same type: the parameters' type, or float32. Memory stays the caller's; parameters and states may not
/// overlap. Throws invalid_argument, before any change, for mismatched lists and read-only parameters. A call may use
/// several threads; several calls may run at once on different tensors.
TERN_API void step(const Options& options, std::span<const Tensor> params, std::span<const Tensor> grads,
                   States& states, const StepSettings& settings = {});

}  // namespace tern::optim
