// Trains an archive of `tern export --train` in C++, for programs learning at the place of use.
//
//   train_digits DIGITS.tern [DEVICE]     e.g. train_digits digits.tern xpu
//
// The data are generated here: each class is a different pattern, with noise. docs/training.md explains the calls.
#include <tern/tern.h>

#include <cstdio>
#include <random>
#include <vector>

namespace {

constexpr std::int64_t kBatch = 32, kPixels = 64, kClasses = 10;

/// Fills a batch with random classes and their patterns: 3 of 10 pixels are bright, others for each class.
void make_batch(std::mt19937& random, tern::Tensor& images, tern::Tensor& labels) {
  std::uniform_int_distribution<std::int64_t> any_class(0, kClasses - 1);
  std::normal_distribution<float> noise(0, 0.3f);
  const auto pixels = images.span<float>();
  const auto classes = labels.span<std::int64_t>();
  for (std::size_t i = 0; i < static_cast<std::size_t>(kBatch); ++i) {
    classes[i] = any_class(random);
    for (std::size_t p = 0; p < static_cast<std::size_t>(kPixels); ++p) {
      const bool bright = (p * 7 + static_cast<std::size_t>(classes[i]) * 13) % 10 < 3;
      pixels[i * kPixels + p] = (bright ? 1.0f : 0.0f) + noise(random);
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const tern::Model model = tern::Model::open(argc > 1 ? argv[1] : "digits.tern");
  tern::PrepareOptions options;
  if (argc > 2)
    options.device = argv[2];  // weights, gradients and the optimizer's states stay on the device between
                               // steps
  tern::Session session(model.prepare(options));
  session.set_seed(1);  // random numbers of dropout

  std::mt19937 random(1);
  tern::Tensor images(tern::DType::f32, {kBatch, 1, 8, 8}), labels(tern::DType::i64, {kBatch});
  for (int step = 0; step < 200; ++step) {
    make_batch(random, images, labels);
    const double rate = step < 150 ? 3e-3 : 3e-4;
    const double loss = session.step({images, labels}, rate);
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, loss);
  }

  // The same session uses the trained parameters: `forward` and `loss` are in evaluation mode.
  make_batch(random, images, labels);
  const std::vector<tern::Tensor>& results = session.run("loss", {{images, labels}});
  std::printf("new images  loss %.4f\n", results[0].span<const float>()[0]);

  // Parameters are states, by PyTorch's names: programs can read and write them.
  tern::Tensor bias = session.read_state("classifier.bias");
  std::printf("classifier.bias[0] %s\n", bias.span<float>()[0] != 0 ? "has been trained" : "is 0");
  session.write_state("classifier.bias", bias);
} catch (const tern::Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
