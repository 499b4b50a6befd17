// Classifies the held-out digits with an archive, draws a digit, and compares with PyTorch's logits.
#include <tern/tern.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>

#include "safetensors.h"

namespace {

constexpr std::size_t kClasses = 10;
constexpr std::size_t kSide = 8;  // pixels per row and per column of an image
constexpr double kMinAccuracy = 0.97;
constexpr double kMaxDifference = 1e-5;  // relative to the largest logit

std::span<const float> row(const tern::Tensor& tensor, std::size_t i, std::size_t width) {
  return tensor.span<float>().subspan(i * width, width);
}

std::size_t argmax(std::span<const float> scores) {
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

/// Softmax of logit `i`.
double probability(std::span<const float> logits, std::size_t i) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - logits[i]);
  return 1 / sum;
}

/// The image with the lowest probability for the predicted digit.
std::size_t least_confident(const tern::Tensor& logits, std::size_t image_count) {
  std::size_t least_confident_image = 0;
  double min_confidence = 2;
  for (std::size_t i = 0; i < image_count; ++i) {
    const auto scores = row(logits, i, kClasses);
    const double confidence = probability(scores, argmax(scores));
    if (confidence < min_confidence) min_confidence = confidence, least_confident_image = i;
  }
  return least_confident_image;
}

/// Draws the pixels on the left, the probability of each digit on the right: a line for each digit.
void draw(std::span<const float> pixels, std::span<const float> logits) {
  static constexpr const char* kShades[] = {"  ", "░░", "▒▒", "▓▓", "██"};
  for (std::size_t y = 0; y < kClasses; ++y) {
    std::printf("    ");
    for (std::size_t x = 0; x < kSide; ++x) {
      const float shade = y < kSide ? pixels[y * kSide + x] : 0;
      std::printf("%s", kShades[std::clamp(static_cast<int>(std::lround(shade * 4)), 0, 4)]);
    }
    const double confidence = probability(logits, y);
    std::printf("    %zu %6.2f %%", y, 100 * confidence);
    for (int i = 0; i < std::lround(30 * confidence); ++i) std::printf(i == 0 ? " █" : "█");
    std::printf("\n");
  }
}

int classify(const std::string& archive, const std::string& held_out, const char* image_argument) {
  auto tensors = read_safetensors(held_out);
  const tern::Tensor &images = tensors.at("images"), &labels = tensors.at("labels"), &expected = tensors.at("logits");

  const tern::Model model = tern::Model::open(archive);
  tern::Session session(model.prepare());
  const tern::Tensor logits = session.run({images})[0];

  const std::size_t image_count = labels.span<std::int64_t>().size();
  std::size_t correct = 0;
  double max_logit = 0, max_difference = 0;
  for (std::size_t i = 0; i < image_count; ++i) {
    correct += static_cast<std::int64_t>(argmax(row(logits, i, kClasses))) == labels.span<std::int64_t>()[i];
  }
  for (std::size_t i = 0; i < image_count * kClasses; ++i) {
    const double reference = expected.span<float>()[i], actual = logits.span<float>()[i];
    max_logit = std::max(max_logit, std::abs(reference));
    // The negated form counts NaN as a difference.
    if (!(std::abs(actual - reference) <= max_difference)) max_difference = std::abs(actual - reference);
  }

  const std::size_t image =
      std::min(image_argument ? std::strtoul(image_argument, nullptr, 10) : least_confident(logits, image_count),
               image_count - 1);
  std::printf("Image %zu of %zu, %slabelled %lld:\n\n", image, image_count,
              image_argument ? "" : "the least certain one, ",
              static_cast<long long>(labels.span<std::int64_t>()[image]));
  draw(row(images, image, kSide * kSide), row(logits, image, kClasses));
  const double accuracy = static_cast<double>(correct) / static_cast<double>(image_count);
  std::printf("\nRight: %zu of %zu, %.2f %%.\n", correct, image_count, 100 * accuracy);
  std::printf("Largest difference from PyTorch's logits: %.2g, which is %.2g of the largest logit (%.2f).\n",
              max_difference, max_difference / max_logit, max_logit);
  if (accuracy < kMinAccuracy) {
    std::fprintf(stderr, "digits_classify: expected at least %.0f %% right\n", 100 * kMinAccuracy);
    return EXIT_FAILURE;
  }
  if (!(max_difference <= kMaxDifference * max_logit)) {
    std::fprintf(stderr, "digits_classify: expected logits within %.0e of the largest\n", kMaxDifference);
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: digits_classify ARCHIVE.tern HELD_OUT.safetensors [IMAGE]\n");
    return 2;
  }
  try {
    return classify(argv[1], argv[2], argc == 4 ? argv[3] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits_classify: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
