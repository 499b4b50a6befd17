#include "kernels/cpu/optim/settings.h"

#include <cmath>

namespace tern::cpu {
namespace {

/// Computes the momenta of this step and of the next (Dozat, 2016).
void nadam(const OptimOptions& o, const OptimNumbers& n, OptimSettings& s) {
  const double beta1 = o.hyper[1], decay = o.hyper[5];
  const double now = beta1 * (1 - 0.5 * std::pow(0.96, s.step * decay));
  const double next = beta1 * (1 - 0.5 * std::pow(0.96, (s.step + 1) * decay));
  s.product = n.product * now;
  s.second = n.lr * (1 - now) / (1 - s.product);
  s.correction = 1 - std::pow(o.hyper[2], s.step);
  s.third = n.lr * next / (1 - s.product * next);
}

/// Computes the rectification; 0 while the variance is intractable (Liu et al., 2020).
void radam(const OptimOptions& o, OptimSettings& s) {
  const double beta2 = o.hyper[2], power = std::pow(beta2, s.step);
  const double longest = 2 / (1 - beta2) - 1, length = longest - 2 * s.step * power / (1 - power);
  s.second = 1 - std::pow(o.hyper[1], s.step);
  s.correction = std::sqrt(1 - power);
  if (length > 5) s.third = std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
}

}  // namespace

OptimSettings optim_settings(const OptimOptions& o, const OptimNumbers& n) {
  OptimSettings s{.rate = n.lr, .step = o.advance ? n.step + 1 : n.step, .product = n.product};
  switch (o.kind) {
    case OptimKind::adam:
    case OptimKind::adamw:
      s.second = n.lr / (1 - std::pow(o.hyper[1], s.step));
      s.correction = std::sqrt(1 - std::pow(o.hyper[2], s.step));
      break;
    case OptimKind::adagrad: s.rate = n.lr / (1 + (s.step - 1) * o.hyper[1]); break;
    case OptimKind::adamax: s.second = n.lr / (1 - std::pow(o.hyper[1], s.step)); break;
    case OptimKind::nadam: nadam(o, n, s); break;
    case OptimKind::radam: radam(o, s); break;
    case OptimKind::asgd: {
      s.second = n.lr / std::pow(1 + o.hyper[1] * n.lr * (s.step - 1), o.hyper[2]);
      const double averaged = s.step - 1 - o.hyper[4];
      s.correction = averaged > 1 ? 1 / averaged : 1;
      break;
    }
    default: break;
  }
  return s;
}

}  // namespace tern::cpu
