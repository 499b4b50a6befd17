// Runs a conformance case: export, validate, run, compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporter/kernels/targets.h"
#include "tools/conform/operators.h"

namespace tern {

struct ConformOptions {
  int threads = 0;
  bool through_archive = true;                 ///< write the archive and open it again, like a user
  std::vector<std::string> devices = {"cpu"};  ///< all must give the bits of the first
  bool reproducible = false;
  bool gradients = false;      ///< derive and compare the gradients, too
  bool graph = false;          ///< capture each call as a graph and replay the graph, unless sizes depend on data
  bool native_code = false;    ///< PrepareOptions::native_code
  bool removes_texts = false;  ///< remove origins, names of values and annotations from the program
  std::shared_ptr<const KernelTarget> target;  ///< target for compiling kernels into the archive, or null
};

struct ConformResult {
  std::string name, op, dtype;
  std::string stage;     ///< stage of the failure: "read", "export", "gradients", "compile", "archive", "prepare",
                         ///< "run", "compare", "bits"; empty if the case passed
  std::string message;   ///< reason of the failure
  double worst_ulp = 0;  ///< worst error among the results within the tolerance
  /// Results of 16 bits outside the tolerance, but nearer to a float64 evaluation than PyTorch's ("output 0").
  std::vector<std::string> nearer;
  std::uint64_t bits = 0;  ///< a hash of all results (bits.h)
  bool refused = false;    ///< failed because of a missing gradient
  double seconds = 0;
  std::vector<OperatorUse> operators;  ///< operators of the imported program
  bool is_passed() const { return stage.empty(); }
};

ConformResult run_case(const std::string& pt2_path, const std::string& name, const ConformOptions& options);

}  // namespace tern
