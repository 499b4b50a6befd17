// Solves Kepler's equation for thousands of orbits, with a program looping until all have converged.
//
//   kepler KEPLER.tern
#include <tern/tern.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace {

/// The largest |E - e sin(E) - mean|.
double largest_residual(const tern::Tensor& mean, const tern::Tensor& e, const tern::Tensor& anomaly) {
  double largest = 0;
  for (std::size_t i = 0; i < mean.span<double>().size(); ++i) {
    const double E = anomaly.span<double>()[i];
    const double residual = E - e.span<double>()[i] * std::sin(E) - mean.span<double>()[i];
    largest = std::max(largest, std::isfinite(residual) ? std::abs(residual) : INFINITY);
  }
  return largest;
}

}  // namespace

int main(int argc, char** argv) try {
  const tern::Model model = tern::Model::open(argc > 1 ? argv[1] : "kepler.tern");
  tern::PrepareOptions options;
  options.max_iterations = 50;  // a loop exceeding this limit is an error
  tern::Session session(model.prepare(options));

  bool exact = true;
  for (const double longest : {0.1, 0.7, 0.99}) {
    constexpr std::int64_t kOrbits = 10000;
    tern::Tensor mean(tern::DType::f64, {kOrbits}), e(tern::DType::f64, {kOrbits});
    for (std::size_t i = 0; i < static_cast<std::size_t>(kOrbits); ++i) {
      const double part = static_cast<double>(i) / kOrbits;
      mean.span<double>()[i] = 2 * std::numbers::pi * std::fmod(part * 37, 1);
      e.span<double>()[i] = longest * part;
    }
    const std::vector<tern::Tensor>& results = session.run({mean, e});
    const double residual = largest_residual(mean, e, results[0]);
    std::printf("eccentricity up to %.2f: %lld steps, residual %.0e\n", longest,
                static_cast<long long>(results[1].span<const std::int64_t>()[0]), residual);
    exact = exact && residual < 1e-13;
  }
  return exact ? 0 : 1;
} catch (const tern::Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
