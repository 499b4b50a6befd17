// Optimizers over lists of tensors, without an archive: for programs that have gradients and want the CPU's kernels.
//
//   tern::optim::Options options = tern::optim::defaults(tern::optim::Kind::adamw);
//   tern::optim::States states = tern::optim::make_states(options, params);
//   tern::optim::step(options, params, grads, states);  // for each batch
//
// A step is one loop over the elements of all tensors, which threads share whatever the tensors' sizes; it updates
// parameters and states where they are. Values are those of torch.optim to the last bits, and the same for any number
// of threads. Adafactor and Muon, which need reductions and products, exist in archives only.
#pragma once

#include <tern/api.h>
#include <tern/tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tern::optim {

/// Those of torch.optim, and Lion (Chen et al., 2023). The numbers stay.
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

/// The arguments of PyTorch's constructors; each kind reads its own.
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
  /// States of 8 bits with a float32 scale for each 256 elements, as torchao's AdamW8bit has them: a quarter of the
  /// memory. Of sgd, adam, adamw, adagrad, rmsprop, adamax, nadam, radam and lion; parameters of float64, with fewer
  /// than 4096 elements, or whose number 256 does not divide, keep floating states.
  bool eight_bits = false;
};
/// PyTorch's defaults; Lion: those of its paper.
TERN_API Options defaults(Kind kind);

/// What an optimizer keeps. Tensors have the parameters' sizes and are contiguous; lists are empty or have one for each
/// parameter. Save and restore all members to continue a run with the same bits.
struct States {
  std::int64_t steps = 0;  ///< done so far; sgd's first one sets momentum_buffer to the gradient, without dampening
  double mu_product = 1;   ///< nadam
  /// sgd, rmsprop (with momentum): momentum_buffer. adam, adamw, nadam, radam, adamax, lion: exp_avg. adadelta:
  /// acc_delta. asgd: ax. rprop: prev.
  std::vector<Tensor> first;
  /// adam, adamw, nadam, radam: exp_avg_sq. adagrad: sum. rmsprop, adadelta: square_avg. adamax: exp_inf. rprop:
  /// step_size.
  std::vector<Tensor> second;
  std::vector<Tensor> third;    ///< adam, adamw: max_exp_avg_sq (amsgrad). rmsprop: grad_avg (centered).
  std::vector<Tensor> masters;  ///< float32 copies of parameters of 16 bits; empty without
  /// With Options::eight_bits: the scales of the first, second and third states that are uint8; others have empty
  /// tensors.
  std::vector<Tensor> first_scales, second_scales, third_scales;
};

enum class Precision16 : std::uint8_t {
  same,     ///< states have the parameters' type
  wide,     ///< float32 states
  masters,  ///< float32 states, and float32 copies of the parameters, which steps update and round into the parameters
};

/// States before the first step. Parameters have one type: float32, float64, float16 or bfloat16. Throws
/// invalid_argument for other types, mixed ones and numbers out of the range that PyTorch allows.
TERN_API States make_states(const Options& options, std::span<const Tensor> params,
                            Precision16 precision = Precision16::same);

/// What changes from step to step.
struct StepSettings {
  double lr = -1;          ///< takes the place of Options::lr; negative: it does not
  double grad_scale = 1;   ///< gradients are divided by it; they stay as they are
  bool found_inf = false;  ///< leaves the step out
  int threads = 0;         ///< 0: as many as OpenMP reports
};

/// One step. params, grads and states are contiguous and have the same sizes, tensor by tensor; gradients have one
/// type: that of the parameters, or float32. Memory stays the caller's; parameters and states may not overlap. Throws
/// invalid_argument, before anything changes, for lists that do not fit and parameters that are read-only. A call may
/// use several threads; several calls may run at once on different tensors.
TERN_API void step(const Options& options, std::span<const Tensor> params, std::span<const Tensor> grads,
                   States& states, const StepSettings& settings = {});

}  // namespace tern::optim
