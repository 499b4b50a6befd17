// Convolutions by a quantized weight, read in its own bits: windows become the rows of a matrix, some of them at a
// time, which is multiplied by the weight's matrix.
#include <algorithm>

#include "kernels/cpu/convolution/algorithms.h"
#include "kernels/cpu/convolution/operands.h"
#include "kernels/cpu/convolution/windows.h"
#include "kernels/cpu/matmul/quantized_rows.h"
#include "kernels/cpu/scratch.h"
#include "kernels/quantized_view.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

constexpr std::int64_t kFloats = 1 << 20;  // of rows at a time: the weight is widened again for each such part
constexpr std::int64_t kTogether = 16;     // rows whose elements are copied together: neighbours of the image

class Quantized : public PreparedAlgorithm {
 public:
  explicit Quantized(const ConvolutionProblem& p)
      : p_(p),
        elements_(plane(p.window, &WindowAxis::kernel)),
        columns_(p.in * elements_),
        positions_(plane(p.window, &WindowAxis::out)),
        rows_(std::clamp<std::int64_t>(kFloats / std::max<std::int64_t>(columns_, 1), 1,
                                       std::max<std::int64_t>(p.batch * positions_, 1))) {
    choice = {Algorithm::quantized};
  }

  void reserve(const KernelCall& c, ScratchParts& parts) const override {
    const ConvolutionOperands operands(c, DType::f32, false, parts);
    take(parts);
  }

  Left run(KernelCall& c, ScratchParts& parts, const pointwise::Epilogue*) const override {
    ConvolutionOperands at(c, DType::f32, false, parts);
    const Room room = take(parts);
    at.convert();
    const auto* x = reinterpret_cast<const float*>(at.x);
    const auto* bias = reinterpret_cast<const float*>(at.bias);
    auto* y = reinterpret_cast<float*>(at.sums);
    quantized::Product product{
        .matrix = quantized_matrix(c.in[1]), .n = p_.out, .weight = c.in[1].data, .x = room.rows, .y = room.sums};
    for (std::int64_t g = 0; g < p_.groups; ++g) {
      product.matrix.first = g * p_.out;
      product.bias = bias == nullptr ? nullptr : bias + g * p_.out;
      for (std::int64_t begin = 0; begin < p_.batch * positions_; begin += rows_) {
        product.m = std::min(rows_, p_.batch * positions_ - begin);
        gather(x, g, begin, product.m, room.rows);
        multiply_quantized(product);
        store(room.sums, g, begin, product.m, y);
      }
    }
    at.finish();
    return Left::epilogue;
  }

 private:
  struct Room {
    float *rows, *sums;
  };
  Room take(ScratchParts& parts) const {
    return {parts.take<float>(rows_ * columns_), parts.take<float>(rows_ * p_.out)};
  }

  /// Where element `e` of the window of a position lies in a channel's plane, or -1 beside it.
  std::int64_t place(std::int64_t position, std::int64_t d, std::int64_t h, std::int64_t k) const {
    const Window& w = p_.window;
    const std::int64_t iw = w[2].position(position % w[2].out, k),
                       ih = w[1].position(position / w[2].out % w[1].out, h),
                       id = w[0].position(position / (w[2].out * w[1].out), d);
    const bool inside = iw >= 0 && iw < w[2].in && ih >= 0 && ih < w[1].in && id >= 0 && id < w[0].in;
    return inside ? (id * w[1].in + ih) * w[2].in + iw : -1;
  }

  /// Rows [begin, begin + count) of the windows of group `g`, of all images: channel after channel.
  void gather(const float* x, std::int64_t g, std::int64_t begin, std::int64_t count, float* rows) const {
    const std::int64_t size = plane(p_.window, &WindowAxis::in);
    parallel_for((count + kTogether - 1) / kTogether, grain_for(kTogether * columns_),
                 [&](std::int64_t first, std::int64_t last) {
                   auto* const places = thread_buffer<std::int64_t>(static_cast<std::size_t>(elements_ * kTogether));
                   for (std::int64_t b = first; b < last; ++b) {
                     const std::int64_t row = b * kTogether, n = std::min(kTogether, count - row);
                     const float* images[kTogether];
                     for (std::int64_t r = 0; r < n; ++r)
                       images[r] = x + ((begin + row + r) / positions_ * p_.groups + g) * p_.in * size;
                     for_each_element(p_.window, [&](std::int64_t e, std::int64_t d, std::int64_t h, std::int64_t k) {
                       for (std::int64_t r = 0; r < n; ++r)
                         places[e * kTogether + r] = place((begin + row + r) % positions_, d, h, k);
                     });
                     float* const to = rows + row * columns_;
                     for (std::int64_t c = 0; c < p_.in; ++c) {
                       for (std::int64_t e = 0; e < elements_; ++e) {
                         for (std::int64_t r = 0; r < n; ++r) {
                           const std::int64_t at = places[e * kTogether + r];
                           to[r * columns_ + c * elements_ + e] = at < 0 ? 0.0F : images[r][c * size + at];
                         }
                       }
                     }
                   }
                 });
  }

  /// The sums of those rows go to the planes of the result.
  void store(const float* sums, std::int64_t g, std::int64_t begin, std::int64_t count, float* y) const {
    parallel_for(p_.out, grain_for(count), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t o = first; o < last; ++o) {
        for (std::int64_t r = 0; r < count;) {
          const std::int64_t image = (begin + r) / positions_, position = (begin + r) % positions_,
                             n = std::min(positions_ - position, count - r);
          float* const to = y + ((image * p_.groups + g) * p_.out + o) * positions_ + position;
          for (std::int64_t i = 0; i < n; ++i) to[i] = sums[(r + i) * p_.out + o];
          r += n;
        }
      }
    });
  }

  ConvolutionProblem p_;
  std::int64_t elements_, columns_, positions_;
  std::int64_t rows_;  ///< at a time
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> convolution_by_quantized(const ConvolutionCall& c) {
  if (c.call.in[1].blocks.columns == 0 || c.call.in[1].numel() == 0 || c.call.out[0].numel() == 0) return nullptr;
  return std::make_unique<Quantized>(c.problem);
}

}  // namespace tern::cpu
