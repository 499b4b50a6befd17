// layer_norm, rms_norm, group_norm and batch_norm: ((x - mean) * rstd) * weight + bias in the elements' type, mean and
// rstd rounded to this type from double, sums in the order of ordered_reduce.h.
#include "kernels/cpu/reductions/normalization.h"

#include "kernels/cpu/reproducible/ordered_reduce.h"
#include "kernels/cpu/reproducible/reproducible.h"

namespace tern {
namespace {

struct ReproducibleMoments {
  double mean, rstd;
};

template <class T>
ReproducibleMoments moments(const T* x, std::int64_t n, double epsilon, bool root_mean_square) {
  const auto count = static_cast<double>(n);
  const double mean = root_mean_square || n == 0 ? 0.0 : sum_line(x, n) / count;
  return {mean, 1 / std::sqrt(reduce_line(DistanceReduction<T>{&mean}, x, n) / count + epsilon)};
}

template <class T>
void normalize_last_axes(const KernelCall& c, bool root_mean_square) {
  const TensorView& x = c.in[0];
  const std::int64_t n = product_of_last(x, c.node->integer(AttrKey::k));
  std::int64_t rows = 1;
  for (int i = 0; i < x.rank - static_cast<int>(c.node->integer(AttrKey::k)); ++i) rows *= x.size(i);
  const double epsilon = c.node->number(AttrKey::epsilon);
  const Weights<T> weight(c, 1), bias(c, root_mean_square ? c.in.size() : 2);
  const RowAccess<T> access{x.dtype, n};
  parallel_for(rows, grain_for(n * 4), [&](std::int64_t begin, std::int64_t end) {
    T* buffer = thread_buffer<T>(static_cast<std::size_t>(n));
    for (std::int64_t t = begin; t < end; ++t) {
      const T* row = access.read(x.data, t, buffer);
      const ReproducibleMoments m = moments(row, n, epsilon, root_mean_square);
      if (c.wants_output(0)) {
        T* y = access.begin(c.out[0].data, t, buffer);
        rows::loops<T>().normalize(row, static_cast<T>(m.mean), static_cast<T>(m.rstd), weight.data(), bias.data(), y,
                                   n);
        access.end(c.out[0].data, t, y);
      }
      store_number(c, 1, t, m.mean);
      store_number(c, 2, t, m.rstd);
    }
  });
}

/// Normalizes a run of a single channel.
template <class T>
void normalize(const T* x, const ReproducibleMoments& m, const Weights<T>& weight, const Weights<T>& bias,
               std::int64_t channel, T* y, std::int64_t n) {
  const auto mean = static_cast<T>(m.mean), rstd = static_cast<T>(m.rstd);
  const T by = weight.value_or(channel, T{1}), plus = bias.value_or(channel, T{0});
  if (bias.data() == nullptr) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = ((x[i] - mean) * rstd) * by;
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = ((x[i] - mean) * rstd) * by + plus;
  }
}

template <class T>
void group_norm(const KernelCall& c) {
  const TensorView& x = c.in[0];
  const std::int64_t groups = c.node->integer(AttrKey::groups), channels = x.size(1);
  const std::int64_t per_group = channels / groups, inner = product_of_last(x, x.rank - 2), n = per_group * inner;
  const double epsilon = c.node->number(AttrKey::epsilon);
  const Weights<T> weight(c, 1), bias(c, 2);
  const RowAccess<T> access{x.dtype, n};
  parallel_for(x.size(0) * groups, grain_for(n * 4), [&](std::int64_t begin, std::int64_t end) {
    T* buffer = thread_buffer<T>(static_cast<std::size_t>(n));
    for (std::int64_t t = begin; t < end; ++t) {
      const T* row = access.read(x.data, t, buffer);
      const ReproducibleMoments m = moments(row, n, epsilon, false);
      if (c.wants_output(0)) {
        T* y = access.begin(c.out[0].data, t, buffer);
        for (std::int64_t k = 0; k < per_group; ++k)
          normalize(row + k * inner, m, weight, bias, t % groups * per_group + k, y + k * inner, inner);
        access.end(c.out[0].data, t, y);
      }
      store_number(c, 1, t, m.mean);
      store_number(c, 2, t, m.rstd);
    }
  });
}

template <class T>
void batch_norm(const KernelCall& c) {
  const TensorView& x = c.in[0];
  const std::int64_t channels = x.size(1), inner = product_of_last(x, x.rank - 2);
  const double epsilon = c.node->number(AttrKey::epsilon);
  const Weights<T> mean(c, 1), var(c, 2), weight(c, 3), bias(c, 4);
  const RowAccess<T> access{x.dtype, inner};
  parallel_for(x.size(0) * channels, grain_for(inner), [&](std::int64_t begin, std::int64_t end) {
    T* buffer = thread_buffer<T>(static_cast<std::size_t>(inner));
    for (std::int64_t t = begin; t < end; ++t) {
      const T* row = access.read(x.data, t, buffer);
      T* y = access.begin(c.out[0].data, t, buffer);
      const std::int64_t k = t % channels;
      const ReproducibleMoments m{static_cast<double>(mean.value_or(k, T{0})),
                                  1 / std::sqrt(static_cast<double>(var.value_or(k, T{1})) + epsilon)};
      normalize(row, m, weight, bias, k, y, inner);
      access.end(c.out[0].data, t, y);
    }
  });
}

void run_layer_norm(KernelCall& c) {
  visit_row_type(c, [&]<class T>(std::type_identity<T>) { normalize_last_axes<T>(c, false); });
}
void run_rms_norm(KernelCall& c) {
  visit_row_type(c, [&]<class T>(std::type_identity<T>) { normalize_last_axes<T>(c, true); });
}
void run_group_norm(KernelCall& c) {
  visit_row_type(c, [&]<class T>(std::type_identity<T>) { group_norm<T>(c); });
}
void run_batch_norm(KernelCall& c) {
  visit_row_type(c, [&]<class T>(std::type_identity<T>) { batch_norm<T>(c); });
}

}  // namespace

void register_reproducible_normalizations(KernelTable& t) {
  t.set(Op::layer_norm, {.run = run_layer_norm});
  t.set(Op::rms_norm, {.run = run_rms_norm});
  t.set(Op::group_norm, {.run = run_group_norm});
  t.set(Op::batch_norm, {.run = run_batch_norm});
}

}  // namespace tern
