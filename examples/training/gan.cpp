// Trains a generator and a discriminator in turns: two named steps of one archive (`tern export --train --step`).
//
//   train_gan GAN.tern
//
// Real points lie on a ring of radius 1. docs/training.md explains the calls.
#include <tern/tern.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <random>
#include <vector>

namespace {

constexpr std::int64_t kPoints = 128, kNoise = 8;
constexpr int kSteps = 2000;

void make_points(std::mt19937& random, tern::Tensor& real, tern::Tensor& noise) {
  std::uniform_real_distribution<float> turn(0, 2 * std::numbers::pi_v<float>);
  std::normal_distribution<float> normal;
  const auto points = real.span<float>();
  for (std::size_t i = 0; i < points.size(); i += 2) {
    const float angle = turn(random);
    points[i] = std::cos(angle);
    points[i + 1] = std::sin(angle);
  }
  for (float& x : noise.span<float>()) x = normal(random);
}

/// Mean distance of generated points from the ring.
double distance(tern::Session& session, const tern::Tensor& real, const tern::Tensor& noise) {
  const auto points = session.run("forward", {{real, noise}})[2].span<const float>();
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); i += 2) sum += std::abs(std::hypot(points[i], points[i + 1]) - 1);
  return sum / static_cast<double>(kPoints);
}

}  // namespace

int main(int argc, char** argv) try {
  tern::Session session(tern::Model::open(argc > 1 ? argv[1] : "gan.tern").prepare());
  std::mt19937 random(1);
  tern::Tensor real(tern::DType::f32, {kPoints, 2}), noise(tern::DType::f32, {kPoints, kNoise});
  tern::Tensor rate(tern::DType::f64, {});
  rate.span<double>()[0] = 1e-3;
  for (int step = 0; step <= kSteps; ++step) {
    make_points(random, real, noise);
    const double d = session.run("discriminator", {{real, noise, rate}})[0].span<const float>()[0];
    const double g = session.run("generator", {{real, noise, rate}})[0].span<const float>()[0];
    if (step % 500 == 0)
      std::printf("step %4d  losses %.3f and %.3f, distance from the ring %.2f\n", step, d, g,
                  distance(session, real, noise));
  }
  const bool near = distance(session, real, noise) < 0.25;
  std::printf("the generator %s\n", near ? "has learnt the ring" : "makes other points");
  return near ? 0 : 1;
} catch (const tern::Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
