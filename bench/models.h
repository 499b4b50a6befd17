// Generated programs with about 90 MB of weights for the benchmarks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern::bench {

struct BenchModel {
  std::string name;
  std::string what;
  Program program;
  std::vector<std::int64_t> input;  ///< sizes of its float32 input
  double products = 0;              ///< multiplications of a run, for models with a single node
};

/// 22 linear layers of 1024 by 1024 with bias and ReLU, on a batch of 8.
BenchModel linear_layers();
/// 10 convolutions of 3 by 3, 512 to 512 channels, with ReLU, on an image of 14 by 14.
BenchModel convolutions();

/// A matrix product of 1024 by 1024 by 1024.
BenchModel product();
/// A convolution of 3 by 3, 128 to 128 channels, on an image of 56 by 56.
BenchModel convolution();

}  // namespace tern::bench
