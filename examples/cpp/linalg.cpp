// Fits parabolas to a thousand series of points at once, with Tern's kernels and without an archive: prints "y = 2.000
// x^2 - 3.000 x + 1.000".
#include <tern/linalg.h>

#include <cstdio>

int main() {
  constexpr std::int64_t kSeries = 1000, kPoints = 16;
  tern::Tensor a(tern::DType::f64, {kSeries, kPoints, 3}), b(tern::DType::f64, {kSeries, kPoints, 1});
  for (std::size_t i = 0; i < kSeries * kPoints; ++i) {
    const double x = static_cast<double>(i % kPoints) / kPoints + static_cast<double>(i / kPoints) / kSeries;
    double* const row = a.span<double>().data() + 3 * i;
    row[0] = x * x;
    row[1] = x;
    row[2] = 1;
    b.span<double>()[i] = 2 * x * x - 3 * x + 1;
  }
  const tern::linalg::LstsqResult fit = tern::linalg::lstsq(a, b);
  const double* const last = fit.x.span<double>().data() + 3 * (kSeries - 1);
  std::printf("y = %.3f x^2 - %.3f x + %.3f\n", last[0], -last[1], last[2]);
}
