// Convolutions by a quantized weight: converts the kernels of some result channels to floats. These floats stay in the
// second cache while a float algorithm multiplies them.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/convolution/algorithms.h"
#include "kernels/cpu/convolution/operands.h"
#include "kernels/cpu/products/block_quantized/driver.h"
#include "kernels/cpu/scratch.h"
#include "kernels/quantized_view.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

constexpr std::int64_t kFloats = 1 << 19;    // floats per step: 2 MB
constexpr std::int64_t kLeastChannels = 16;  // channels per step: fewer are slow, however large their kernels are

/// A call with the float weight of some kernels. Holds pointers to its own members.
class FloatPart {
 public:
  FloatPart(const KernelCall& c, const Node& node) : call_(c) {
    call_.node = &node;
    call_.constant = constant_.data();
    call_.weights = nullptr;
    call_.algorithm = {};
    call_.scratch = {};
  }
  FloatPart(const FloatPart&) = delete;
  FloatPart& operator=(const FloatPart&) = delete;

  KernelCall& call() { return call_; }

  /// Covers the whole convolution with its epilogue.
  void take_all(const KernelCall& c) {
    in_.assign(c.in.begin(), c.in.end());
    out_ = c.out[0];
    in_[1] = convolution_weight(c);
    finish();
  }

  /// Covers `count` channels of one image and group.
  void set_channels(const KernelCall& c, const ConvolutionProblem& p, std::int64_t count) {
    in_.assign(c.in.begin(), c.in.begin() + static_cast<std::ptrdiff_t>(c.has_input(2) ? 3 : 2));
    out_ = c.out[0];
    in_[0].sizes[0] = out_.sizes[0] = 1;
    in_[0].sizes[1] = p.in;
    in_[1] = convolution_weight(c);
    in_[1].sizes[0] = out_.sizes[1] = count;
    if (c.has_input(2)) in_[2].sizes[0] = count;
    finish();
  }

  void set(const float* x, const float* weight, const float* bias, float* y) {
    const auto at = [](const float* f) { return reinterpret_cast<std::byte*>(const_cast<float*>(f)); };
    in_[0].data = at(x);
    in_[1].data = at(weight);
    if (in_.size() > 2) in_[2].data = at(bias);
    out_.data = at(y);
  }

 private:
  void finish() {
    in_[1].blocks = {};
    for (std::size_t i = 0; i < std::min<std::size_t>(in_.size(), 3); ++i) {
      if (in_[i].dtype == DType::invalid) continue;
      in_[i].dtype = DType::f32;
      make_contiguous(in_[i]);
      in_[i].data = nullptr;
    }
    out_.dtype = DType::f32;
    make_contiguous(out_);
    out_.data = nullptr;
    call_.in = in_;
    call_.out = {&out_, 1};
  }

  KernelCall call_;
  std::vector<TensorView> in_;
  TensorView out_;
  std::array<bool, 64> constant_{};  ///< all false: no algorithm packs a weight ahead
};

class QuantizedConvolution : public PreparedAlgorithm {
 public:
  explicit QuantizedConvolution(const ConvolutionCall& c)
      : p_(c.problem), columns_(c.call.in[1].size(1)), is_single_step_(columns_ * c.call.in[1].size(0) <= kFloats) {
    choice = {Algorithm::quantized};
    node_ = *c.call.node;
    if (!is_single_step_) {
      node_.expr = {};
      node_.set(AttrKey::groups, Dims{1});
    }
    channels_ = std::clamp<std::int64_t>(kFloats / columns_, std::min(kLeastChannels, p_.out), p_.out);
    step_state_ = prepare(c.call, channels_);
    if (!is_single_step_ && p_.out % channels_ != 0) tail_state_ = prepare(c.call, p_.out % channels_);
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override { Room(*this, c, arena); }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    Room room(*this, c, arena);
    room.operands.convert();
    const auto floats = [](const std::byte* b) { return reinterpret_cast<const float*>(b); };
    const float *x = floats(room.operands.x), *bias = floats(room.operands.bias);
    auto* const y = reinterpret_cast<float*>(room.operands.sums);
    QuantizedMatrix m = quantized_matrix(c.in[1]);
    RemainingWork left = RemainingWork::epilogue;
    if (is_single_step_) {
      widen(m, c.in[1].data, m.rows, room.weight);
      FloatPart part(c, node_);
      part.take_all(c);
      part.set(x, room.weight, bias, y);
      const bool in_place = room.operands.sums == c.out[0].data;
      left = run(*step_state_, part, room, in_place ? epilogue : nullptr);
      if (!in_place) left = RemainingWork::epilogue;
    } else {
      for (std::int64_t g = 0; g < p_.groups; ++g) {
        for (std::int64_t o = 0; o < p_.out; o += channels_) {
          m.first = g * p_.out + o;
          run_some(c, m, x, bias == nullptr ? nullptr : bias + m.first, y, g, std::min(channels_, p_.out - o), room);
        }
      }
    }
    room.operands.finish();
    return left;
  }

 private:
  struct Room {
    Room(const QuantizedConvolution& of, const KernelCall& c, ScratchArena& arena)
        : operands(c, DType::f32, false, arena),
          weight(arena.allocate<float>((of.is_single_step_ ? c.in[1].size(0) : of.channels_) * of.columns_)),
          scratch(arena.allocate<std::byte>(static_cast<std::int64_t>(of.scratch_))) {}
    ConvolutionOperands operands;
    float* weight;
    std::byte* scratch;
  };

  std::unique_ptr<AlgorithmState> prepare(const KernelCall& c, std::int64_t channels) {
    FloatPart part(c, node_);
    if (is_single_step_) {
      part.take_all(c);
    } else {
      part.set_channels(c, p_, channels);
    }
    auto state = prepare_float_convolution(part.call());
    ScratchArena probe;
    state->prepared->reserve(part.call(), probe);
    scratch_ = std::max(scratch_, probe.used());
    return state;
  }

  static RemainingWork run(const AlgorithmState& state, FloatPart& part, const Room& room,
                           const pointwise::Epilogue* epilogue) {
    ScratchArena scratch(room.scratch);
    return state.prepared->run(part.call(), scratch, epilogue);
  }

  /// Computes the result channels of weight rows [m.first, m.first + count), for all images.
  void run_some(const KernelCall& c, const QuantizedMatrix& m, const float* x, const float* bias, float* y,
                std::int64_t group, std::int64_t count, const Room& room) const {
    const std::int64_t image = plane(p_.window, &WindowAxis::in), result = plane(p_.window, &WindowAxis::out);
    widen(m, c.in[1].data, count, room.weight);
    FloatPart part(c, node_);
    part.set_channels(c, p_, count);
    for (std::int64_t n = 0; n < p_.batch; ++n) {
      part.set(x + (n * p_.groups + group) * p_.in * image, room.weight, bias,
               y + (n * p_.groups * p_.out + m.first) * result);
      run(count == channels_ ? *step_state_ : *tail_state_, part, room, nullptr);
    }
  }

  void widen(const QuantizedMatrix& m, const std::byte* at, std::int64_t rows, float* to) const {
    parallel_for(rows, grain_for(columns_), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        block_quantized::numbers_of_row(m, at, r, 0, columns_, to + r * columns_);
    });
  }

  ConvolutionProblem p_;
  std::int64_t columns_, channels_ = 0;  ///< columns of the weight; channels per step
  bool is_single_step_;                  ///< all channels in one step
  Node node_;
  std::unique_ptr<AlgorithmState> step_state_, tail_state_;
  std::size_t scratch_ = 0;
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> convolution_by_quantized(const ConvolutionCall& c) {
  if (c.call.in[1].blocks.columns == 0 || c.call.in[0].numel() == 0 || c.call.in[1].numel() == 0 ||
      c.call.out[0].numel() == 0)
    return nullptr;
  return std::make_unique<QuantizedConvolution>(c);
}

}  // namespace tern::cpu
