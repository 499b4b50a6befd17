// A program of a single op with inputs, and its runs: by native kernels, by definitions, in float64.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/algorithm.h"
#include "kernels/kernel.h"
#include "schema/program.h"
#include "tools/files/host_tensor.h"

namespace tern::fuzz {

struct NodeCase {
  Op op = Op::invalid;
  std::uint64_t seed = 0;
  std::shared_ptr<const Program> program;
  std::vector<Tensor> inputs;
  int threads = 1;
  AlgorithmChoice algorithm;  ///< forced algorithm of the native kernel
};

/// A case for the seed, or nullopt if the loader rejects the maker's program. Deterministic.
std::optional<NodeCase> make_case(Op op, std::uint64_t seed);

/// The node of the case's op, or null.
const Node* node_of(const NodeCase& c);

/// "matmul(float32[3, 4], float32[4, 5]) -> float32[3, 5]".
std::string text_of(const NodeCase& c);

/// Additions, at most about, in an element of the first result.
double terms_of(const NodeCase& c);

struct NodeResults {
  std::optional<ErrorCode> failed;
  std::string message;  ///< error of the failed run
  std::vector<HostTensor> outputs;
};

/// Values of the node's operands; empty tensors for absent or microscaled operands. Empty if operands cannot be
/// computed.
std::vector<HostTensor> operands_of(const NodeCase& c);

/// The single node in float64, with `operands` as the program's inputs; nullopt if no program results, or if random
/// numbers would differ.
std::optional<NodeCase> widened(const NodeCase& c, const std::vector<HostTensor>& operands);
/// `wide` with each value randomly changed by up to a unit in the last place of its type in `operands`.
NodeCase shaken(const NodeCase& wide, const std::vector<HostTensor>& operands, std::uint64_t seed);

enum class Mode : std::uint8_t { native, algorithm, reproducible, definition };
/// `definitions`: the kernels of Mode::definition.
NodeResults run_case(const NodeCase& c, Mode mode, const KernelTable& definitions);

}  // namespace tern::fuzz
