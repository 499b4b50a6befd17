#include <fmt/format.h>

#include "kernels/cpu/convolution/integers.h"
#include "kernels/cpu/convolution/reordered.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/int8/depthwise_driver.h"
#include "kernels/cpu/products/int8/exact.h"
#include "kernels/cpu/products/packed_weight.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

/// True if the padded reach of all windows is not much larger than image and result: strides, dilations and paddings
/// are unbounded.
bool has_sensible_reach(const KernelCall& call, const ConvolutionProblem& p) {
  constexpr double kAlways = 1 << 24;
  const auto reach = [](const WindowAxis& a) {
    const auto of = [](std::int64_t n, std::int64_t step) {
      return static_cast<double>(n) * static_cast<double>(step);
    };
    return of(a.out, a.stride) + of(a.kernel, a.dilation);
  };
  // Reads whole tiles of rows.
  const double positions = reach(p.window[1]) * reach(p.window[2]) +
                           static_cast<double>(int8::kTile) * static_cast<double>(p.window[2].stride);
  const double tensors = static_cast<double>(call.in[0].numel()) + 4 * static_cast<double>(call.out[0].numel());
  return positions * static_cast<double>(p.in * p.groups) <= kAlways + 4 * tensors;
}

int8::ConvolutionShape shape_of(const KernelCall& call, const ConvolutionProblem& p) {
  return {{p.window, p.batch, p.groups, p.in, p.out, tiles::kRounded},
          {call.in[0].dtype == DType::i8, call.in[1].dtype == DType::i8},
          static_cast<int>(p.fill & 0xff)};
}

}  // namespace

struct IntegerConvolution::Room {
  Room(const IntegerConvolution& of, ScratchArena& arena)
      : scratch(of.depthwise_ ? nullptr
                              : arena.allocate<std::byte>(static_cast<std::int64_t>(of.convolution_.scratch()))),
        packed(of.depthwise_ || of.weight_ != nullptr ? nullptr
                                                      : arena.allocate<std::byte>(of.convolution_.packed_bytes())) {}
  std::byte *scratch, *packed;
};

bool IntegerConvolution::serves(const KernelCall& call, const ConvolutionProblem& p) {
  const TensorView &x = call.in[0], &w = call.in[1], &y = call.out[0];
  if (!is_byte_integer(x.dtype) || !is_byte_integer(w.dtype) || !int8::holds_sums(call)) return false;
  if (p.transposed || (x.rank != 3 && x.rank != 4) || x.numel() == 0 || w.numel() == 0 || y.numel() == 0) return false;
  const Algorithm asked = call.algorithm.algorithm;
  if (asked != Algorithm::none && asked != Algorithm::integer_rows) return false;
  const std::int64_t count = p.in * plane(p.window, &WindowAxis::kernel);
  return (y.dtype == DType::i32 || int8::is_exact(x.dtype, w.dtype, count)) && has_sensible_reach(call, p);
}

IntegerConvolution::IntegerConvolution(const KernelCall& call, const ConvolutionProblem& p,
                                       std::unique_ptr<pointwise::Epilogue> epilogue)
    : shape_(shape_of(call, p)),
      stores_sums_(call.out[0].dtype == DType::i32),
      depthwise_(int8::suits_depthwise(shape_)),
      convolution_(shape_, int8::methods().front()) {
  choice = {Algorithm::integer_rows};
  own_epilogue = true;
  epilogue_ = std::move(epilogue);
  const TensorView& w = call.in[1];
  if (depthwise_ || call.constant == nullptr || !call.constant[1] || w.data == nullptr) return;
  unread = 1u << 1;
  const std::string key =
      fmt::format("integer rows in {}: {} of {}, {} x {}, {} groups, {}", int8::methods().front().name,
                  p.groups * p.out, p.in, p.window[1].kernel, p.window[2].kernel, p.groups, p.window[2].dilation == 1);
  weight_ =
      tiles::packed_weight(call, 1, key, convolution_.packed_bytes(),
                           [convolution = convolution_, data = w.data](std::byte* to) { convolution.pack(data, to); });
}

std::unique_ptr<IntegerConvolution> IntegerConvolution::create(const KernelCall& call, const ConvolutionProblem& p) {
  if (!serves(call, p) || !has_channels_last(call.in[0]) || !has_channels_last(call.out[0])) return nullptr;
  if (!call.in[1].contiguous()) return nullptr;
  auto epilogue = pointwise::Epilogue::create(Reordered(call).call());
  // 8-bit results are stored directly; a bias would come between product and store.
  const bool bytes = is_byte_integer(call.out[0].dtype);
  if (bytes && (call.has_input(2) || !epilogue->stores_bytes(call.out[0].size(1)))) return nullptr;
  return std::unique_ptr<IntegerConvolution>(new IntegerConvolution(call, p, std::move(epilogue)));
}

void IntegerConvolution::reserve(const KernelCall&, ScratchArena& arena) const {
  Room(*this, arena);
}

void IntegerConvolution::add_bias(const KernelCall& call) const {
  const auto* bias = call.in[2].data_as<const float>();
  auto* y = call.out[0].data_as<float>();
  const std::int64_t channels = call.out[0].size(1);
  parallel_for(call.out[0].numel() / channels, grain_for(channels), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      for (std::int64_t c = 0; c < channels; ++c) y[p * channels + c] += bias[c];
    }
  });
}

RemainingWork IntegerConvolution::run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue*) const {
  const Room room(*this, arena);
  const Reordered reordered(call);
  const bool late = has_late_bias(call);
  const pointwise::BoundEpilogue finish{late ? nullptr : epilogue_.get(), &reordered.call()};
  const auto* bias = call.has_input(2) && stores_sums_ ? call.in[2].data_as<const std::int32_t>() : nullptr;
  if (depthwise_) {
    int8::convolve_depthwise(shape_, {.x = call.in[0].data,
                                      .weight = call.in[1].data,
                                      .bias = bias,
                                      .y = call.out[0].data,
                                      .stores_sums = stores_sums_,
                                      .bytes = is_byte_integer(call.out[0].dtype),
                                      .finish = finish});
  } else {
    if (room.packed != nullptr) convolution_.pack(call.in[1].data, room.packed);
    convolution_.run({.x = call.in[0].data,
                      .weight = room.packed != nullptr ? room.packed : weight_.get(),
                      .bias = bias,
                      .y = call.out[0].data,
                      .stores_sums = stores_sums_,
                      .finish = finish},
                     room.scratch);
  }
  if (late) {
    add_bias(call);
    if (epilogue_ != nullptr) epilogue_->apply(reordered.call());
  }
  return RemainingWork::nothing;
}

}  // namespace tern::cpu
