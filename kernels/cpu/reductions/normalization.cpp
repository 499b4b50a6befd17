// layer_norm, rms_norm, group_norm and batch_norm. Means and variances take two passes.
#include "kernels/cpu/reductions/normalization.h"

#include "kernels/cpu/reductions/reductions.h"

namespace tern {
namespace {

struct VectorMoments {
  double mean, rstd;
};

template <class T>
VectorMoments moments(const rows::RowLoops<T>& r, const T* x, std::int64_t n, double epsilon) {
  const auto count = static_cast<double>(n);
  const double mean = r.block_sum(x, n) / count;
  // Distances start from m, the mean rounded to T: mean of (x - m)^2 = mean of (x - mean)^2 + (mean - m)^2.
  const T from = static_cast<T>(mean);
  const double off = mean - static_cast<double>(from);
  const double variance = r.block_distances(x, from, n) / count - off * off;
  return {mean, 1 / std::sqrt((variance < 0 ? 0 : variance) + epsilon)};  // NaN stays NaN
}

template <class T>
void layer_norm(KernelCall& c) {
  const TensorView& x = c.in[0];
  const std::int64_t n = product_of_last(x, c.node->integer(AttrKey::k)), rows = n == 0 ? 0 : x.numel() / n;
  const double epsilon = c.node->number(AttrKey::epsilon);
  const Weights<T> weight(c, 1), bias(c, 2);
  const RowAccess<T> access{x.dtype, n}, results{c.wants_output(0) ? c.out[0].dtype : x.dtype, n};
  parallel_for(rows, grain_for(n * 2), [&](std::int64_t begin, std::int64_t end) {
    const auto& r = rows::loops<T>();
    T* buffer = thread_buffer<T>(static_cast<std::size_t>(n));
    for (std::int64_t t = begin; t < end; ++t) {
      const T* row = access.read(x.data, t, buffer);
      const VectorMoments m = moments(r, row, n, epsilon);
      if (c.wants_output(0)) {
        T* y = results.begin(c.out[0].data, t, buffer);
        r.normalize(row, static_cast<T>(m.mean), static_cast<T>(m.rstd), weight.data(), bias.data(), y, n);
        results.end(c.out[0].data, t, y);
      }
      store_number(c, 1, t, m.mean);
      store_number(c, 2, t, m.rstd);
    }
  });
  if (n > 0) return;
  const std::int64_t statistics = c.wants_output(1) ? c.out[1].numel() : c.wants_output(2) ? c.out[2].numel() : 0;
  for (std::int64_t t = 0; t < statistics; ++t) {
    store_number(c, 1, t, 0);
    store_number(c, 2, t, std::nan(""));
  }
}

template <class T>
void rms_norm(KernelCall& c) {
  const TensorView& x = c.in[0];
  const std::int64_t n = product_of_last(x, c.node->integer(AttrKey::k)), rows = n == 0 ? 0 : x.numel() / n;
  const double epsilon = c.node->number(AttrKey::epsilon);
  const Weights<T> weight(c, 1);
  const RowAccess<T> access{x.dtype, n}, results{c.out[0].dtype, n};
  parallel_for(rows, grain_for(n * 2), [&](std::int64_t begin, std::int64_t end) {
    const auto& r = rows::loops<T>();
    T* buffer = thread_buffer<T>(static_cast<std::size_t>(n));
    for (std::int64_t t = begin; t < end; ++t) {
      const T* row = access.read(x.data, t, buffer);
      const double mean = r.block_distances(row, T{}, n) / static_cast<double>(n);
      T* y = results.begin(c.out[0].data, t, buffer);
      r.normalize(row, T{}, static_cast<T>(1 / std::sqrt(mean + epsilon)), weight.data(), nullptr, y, n);
      results.end(c.out[0].data, t, y);
    }
  });
}

template <class T>
void group_norm(KernelCall& c) {
  const TensorView& x = c.in[0];
  const std::int64_t groups = c.node->integer(AttrKey::groups), channels = x.size(1);
  const std::int64_t per_group = channels / groups, inner = product_of_last(x, x.rank - 2), n = per_group * inner;
  const double epsilon = c.node->number(AttrKey::epsilon);
  const Weights<T> weight(c, 1), bias(c, 2);
  const RowAccess<T> access{x.dtype, n};
  parallel_for(x.size(0) * groups, grain_for(n * 2), [&](std::int64_t begin, std::int64_t end) {
    const auto& r = rows::loops<T>();
    T* buffer = thread_buffer<T>(static_cast<std::size_t>(n));
    for (std::int64_t t = begin; t < end; ++t) {
      const T* row = access.read(x.data, t, buffer);
      const VectorMoments m = n == 0 ? VectorMoments{0, std::nan("")} : moments(r, row, n, epsilon);
      if (c.wants_output(0)) {
        T* y = access.begin(c.out[0].data, t, buffer);
        for (std::int64_t k = 0; k < per_group; ++k) {
          const std::int64_t channel = t % groups * per_group + k;
          const double by = m.rstd * static_cast<double>(weight.value_or(channel, 1));
          const double plus = static_cast<double>(bias.value_or(channel, 0)) - m.mean * by;
          r.affine(row + k * inner, static_cast<T>(by), static_cast<T>(plus), y + k * inner, inner);
        }
        access.end(c.out[0].data, t, y);
      }
      store_number(c, 1, t, m.mean);
      store_number(c, 2, t, m.rstd);
    }
  });
}

template <class T>
void batch_norm(KernelCall& c) {
  const TensorView& x = c.in[0];
  const std::int64_t channels = x.size(1), inner = product_of_last(x, x.rank - 2);
  const double epsilon = c.node->number(AttrKey::epsilon);
  const Weights<T> mean(c, 1), var(c, 2), weight(c, 3), bias(c, 4);
  std::vector<T> by(static_cast<std::size_t>(channels)), plus(by.size());
  for (std::size_t k = 0; k < by.size(); ++k) {
    const auto i = static_cast<std::int64_t>(k);
    const double scale =
        static_cast<double>(weight.value_or(i, 1)) / std::sqrt(static_cast<double>(var.value_or(i, 1)) + epsilon);
    by[k] = static_cast<T>(scale);
    plus[k] =
        static_cast<T>(static_cast<double>(bias.value_or(i, 0)) - static_cast<double>(mean.value_or(i, 0)) * scale);
  }
  const bool columns = inner == 1;  // each row holds all channels
  const RowAccess<T> access{x.dtype, columns ? channels : inner};
  parallel_for(x.size(0) * (columns ? 1 : channels), grain_for(access.n), [&](std::int64_t begin, std::int64_t end) {
    const auto& r = rows::loops<T>();
    T* buffer = thread_buffer<T>(static_cast<std::size_t>(access.n));
    for (std::int64_t t = begin; t < end; ++t) {
      const T* row = access.read(x.data, t, buffer);
      T* y = access.begin(c.out[0].data, t, buffer);
      const auto k = static_cast<std::size_t>(columns ? 0 : t % channels);
      if (columns) {
        r.affine_each(row, by.data(), plus.data(), y, channels);
      } else {
        r.affine(row, by[k], plus[k], y, inner);
      }
      access.end(c.out[0].data, t, y);
    }
  });
}

}  // namespace

void cpu_layer_norm(KernelCall& c) {
  visit_row_type(c, [&]<class T>(std::type_identity<T>) { layer_norm<T>(c); });
}
void cpu_rms_norm(KernelCall& c) {
  visit_row_type(c, [&]<class T>(std::type_identity<T>) { rms_norm<T>(c); });
}
void cpu_group_norm(KernelCall& c) {
  visit_row_type(c, [&]<class T>(std::type_identity<T>) { group_norm<T>(c); });
}
void cpu_batch_norm(KernelCall& c) {
  visit_row_type(c, [&]<class T>(std::type_identity<T>) { batch_norm<T>(c); });
}

}  // namespace tern
