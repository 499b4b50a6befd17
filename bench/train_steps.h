// Training steps of an archive.
#pragma once

#include <string>

namespace tern::bench {

/// Prepares an archive of `tern export --train`, and for each line of standard input runs a step and prints its
/// milliseconds, elapsed and of processors: bench/training alternates with PyTorch. Inputs are random, class numbers
/// and tokens below 10.
void serve_training(const std::string& archive, int threads);

}  // namespace tern::bench
