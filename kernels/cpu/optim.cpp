// Optimizer steps as PyTorch's fused CPU kernels compute them
// (aten/src/ATen/native/cpu/Fused{SGD,Adam,Adagrad}Kernel.cpp): in float for the 16-bit types, in the type itself else.
// Each place is read before it is written, so outputs may lie on the operands that they replace.
#include <cmath>
#include <cstring>

#include "dtypes/convert.h"
#include "kernels/cpu/dense.h"
#include "kernels/kernel.h"
#include "schema/kinds.h"
#include "threads/parallel.h"

namespace tern {
namespace {

enum : std::size_t { kParam, kGrad, kM, kV, kVmax, kStep, kLr, kScale, kInf };

/// The one number that an operand holds.
double number(const KernelCall& c, std::size_t i, double otherwise) {
  if (!c.has(i)) return otherwise;
  double value = 0;
  TensorView one = c.in[i];
  one.rank = 0;
  to_dense(one, DType::f64, &value);
  return value;
}

struct Settings {
  OptimKind kind{};
  double lr = 0, a = 0, b = 0, weight_decay = 0, eps = 0, step = 1, scale = 1;
  bool nesterov = false, first = false, maximize = false, has_m = false, has_vmax = false, has_scale = false;
  double correction1 = 1, correction2_root = 1;
};

Settings settings_of(const KernelCall& c) {
  const Node& n = *c.node;
  const std::vector<double>& h = n.numbers(AttrKey::hyper);
  Settings s;
  s.kind = static_cast<OptimKind>(n.integer(AttrKey::kind));
  s.lr = number(c, kLr, h[0]);
  s.a = h[1];
  s.b = h[2];
  s.weight_decay = h[3];
  s.eps = h[4];
  s.step = number(c, kStep, 1);
  s.scale = number(c, kScale, 1);
  const std::int64_t mode = n.integer(AttrKey::mode);
  s.nesterov = (mode & 1) != 0;
  s.first = (mode & 2) != 0;
  s.maximize = n.integer(AttrKey::maximize) != 0;
  s.has_m = c.has(kM);
  s.has_vmax = c.has(kVmax);
  s.has_scale = c.has(kScale);
  if (s.kind == OptimKind::adam || s.kind == OptimKind::adamw) {
    s.correction1 = 1 - std::pow(s.a, s.step);
    s.correction2_root = std::sqrt(1 - std::pow(s.b, s.step));
  } else if (s.kind == OptimKind::adagrad) {
    s.lr = s.lr / (1 + (s.step - 1) * s.a);
  }
  return s;
}

/// What one place of a parameter has; T is the type that is computed in.
template <class T>
struct Place {
  T p, g, m, v, vmax;
};

template <class T>
void sgd(const Settings& s, Place<T>& x, T g) {
  if (s.weight_decay != 0) g += x.p * static_cast<T>(s.weight_decay);
  if (s.has_m) {
    x.m = s.first ? g : x.m * static_cast<T>(s.a) + g * static_cast<T>(1 - s.b);
    g = s.nesterov ? g + x.m * static_cast<T>(s.a) : x.m;
  }
  x.p += g * static_cast<T>(-s.lr);
}

template <class T>
void adam(const Settings& s, Place<T>& x, T g) {
  if (s.weight_decay != 0) {
    if (s.kind == OptimKind::adam) {
      g += x.p * static_cast<T>(s.weight_decay);
    } else {
      x.p *= static_cast<T>(1 - s.lr * s.weight_decay);
    }
  }
  const T weight = static_cast<T>(1 - s.a);  // m.lerp(g, 1 - beta1)
  x.m = std::fabs(weight) < T(0.5) ? std::fma(weight, g - x.m, x.m) : std::fma(weight - T(1), g - x.m, g);
  x.v = x.v * static_cast<T>(s.b) + static_cast<T>(1 - s.b) * g * g;
  if (s.has_vmax) x.vmax = std::isnan(x.v) || x.v > x.vmax ? x.v : x.vmax;
  const T denominator =
      std::sqrt(s.has_vmax ? x.vmax : x.v) / static_cast<T>(s.correction2_root) + static_cast<T>(s.eps);
  x.p += static_cast<T>(-s.lr / s.correction1) * x.m / denominator;
}

template <class T>
void adagrad(const Settings& s, Place<T>& x, T g) {
  if (s.weight_decay != 0) g += x.p * static_cast<T>(s.weight_decay);
  x.v += g * g;
  x.p -= static_cast<T>(s.lr) * g / (std::sqrt(x.v) + static_cast<T>(s.eps));
}

template <class T>
void update(const Settings& s, Place<T>& x) {
  T g = x.g;
  if (s.has_scale) x.g = g = g / static_cast<T>(s.scale);
  if (s.maximize) g = -g;
  switch (s.kind) {
    case OptimKind::sgd: return sgd(s, x, g);
    case OptimKind::adam:
    case OptimKind::adamw: return adam(s, x, g);
    case OptimKind::adagrad: return adagrad(s, x, g);
  }
}

/// Where each of p, g, m, v, vmax comes from and goes to; null where there is none.
struct Lists {
  std::byte* in[5] = {};
  std::byte* out[5] = {};
};

Lists lists_of(const KernelCall& c) {
  Lists l;
  for (std::size_t i = 0; i < 5; ++i) {
    if (c.has(i)) l.in[i] = c.in[i].data;
  }
  std::size_t k = 0;
  const auto next = [&]() -> std::byte* {
    const std::size_t i = k++;
    return c.wants(i) ? c.out[i].data : nullptr;
  };
  l.out[kParam] = next();
  if (c.has(kScale)) l.out[kGrad] = next();
  for (std::size_t i = kM; i <= kVmax; ++i) {
    if (c.has(i)) l.out[i] = next();
  }
  return l;
}

template <class T>
void run_native(const Settings& s, const Lists& l, std::int64_t begin, std::int64_t end) {
  const auto read = [&](std::size_t i, std::int64_t at) {
    return l.in[i] != nullptr ? reinterpret_cast<const T*>(l.in[i])[at] : T(0);
  };
  const auto write = [&](std::size_t i, std::int64_t at, T value) {
    if (l.out[i] != nullptr) reinterpret_cast<T*>(l.out[i])[at] = value;
  };
  for (std::int64_t i = begin; i < end; ++i) {
    Place<T> x{read(0, i), read(1, i), read(2, i), read(3, i), read(4, i)};
    update(s, x);
    write(0, i, x.p);
    write(1, i, x.g);
    write(2, i, x.m);
    write(3, i, x.v);
    write(4, i, x.vmax);
  }
}

/// 16-bit types, by tiles that are converted to float and back.
void run_small(const Settings& s, const Lists& l, DType t, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kTile = 1024;
  float tiles[5][kTile];
  for (std::int64_t at = begin; at < end; at += kTile) {
    const std::int64_t n = std::min(kTile, end - at);
    Lists tile;
    for (std::size_t i = 0; i < 5; ++i) {
      if (l.in[i] == nullptr) continue;
      convert(l.in[i] + at * 2, t, tiles[i], DType::f32, n);
      tile.in[i] = reinterpret_cast<std::byte*>(tiles[i]);
      if (l.out[i] != nullptr) tile.out[i] = tile.in[i];
    }
    run_native<float>(s, tile, 0, n);
    for (std::size_t i = 0; i < 5; ++i) {
      if (tile.out[i] != nullptr) convert(tiles[i], DType::f32, l.out[i] + at * 2, t, n);
    }
  }
}

void keep(const KernelCall& c, const Lists& l) {
  const std::size_t bytes =
      static_cast<std::size_t>(c.in[0].numel()) * static_cast<std::size_t>(element_size(c.in[0].dtype));
  for (std::size_t i = 0; i < 5; ++i) {
    if (l.out[i] != nullptr && l.in[i] != l.out[i] && bytes != 0) std::memmove(l.out[i], l.in[i], bytes);
  }
}

void optim(KernelCall& c) {
  const Lists l = lists_of(c);
  if (number(c, kInf, 0) != 0) return keep(c, l);
  const Settings s = settings_of(c);
  const DType t = c.in[0].dtype;
  parallel_for(c.in[0].numel(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    if (t == DType::f32) {
      run_native<float>(s, l, begin, end);
    } else if (t == DType::f64) {
      run_native<double>(s, l, begin, end);
    } else {
      run_small(s, l, t, begin, end);
    }
  });
}

/// Each result takes the place of what it updates.
int updated_input(const Node& node, std::size_t output) {
  const auto has = [&](std::size_t i) { return i < node.inputs.size() && node.inputs[i] != kNoValue; };
  std::size_t k = 0;
  for (std::size_t i = kParam; i <= kVmax; ++i) {
    const bool given = i == kParam || (i == kGrad ? has(kScale) : has(i));
    if (given && k++ == output) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

void register_cpu_optim(KernelTable& t) {
  t.set(Op::optim, {.run = optim, .in_place_of = updated_input});
}

}  // namespace tern
