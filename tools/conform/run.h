// Runs one conformance case: export, validate, run, compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporter/kernels/targets.h"
#include "tools/conform/operators.h"

namespace tern {

struct ConformOptions {
  int threads = 0;
  bool through_archive = true;                 ///< write the archive and open it again, as a user would
  std::vector<std::string> devices = {"cpu"};  ///< all have to give the bits of the first
  bool reproducible = false;
  bool gradients = false;      ///< derive the gradients and compare those, too
  bool graph = false;          ///< capture each call as a graph and replay it, where its sizes do not depend on data
  bool native_code = false;    ///< PrepareOptions::native_code
  bool without_texts = false;  ///< remove origins, names of values and annotations from the program
  std::shared_ptr<const KernelTarget> target;  ///< compile its kernels into the archive, if there is one
};

struct ConformResult {
  std::string name, op, dtype;
  std::string stage;     ///< where it failed: "read", "export", "gradients", "compile", "archive", "prepare", "run",
                         ///< "compare", "bits"; empty when it passed
  std::string message;   ///< why it failed
  double worst_ulp = 0;  ///< of the results within the tolerance
  /// 16-bit results outside the tolerance that are nearer to a float64 evaluation than PyTorch's ("output 0").
  std::vector<std::string> nearer;
  std::uint64_t bits = 0;  ///< a hash of all results (bits.h)
  bool refused = false;    ///< failed because something has no gradient
  double seconds = 0;
  std::vector<OperatorUse> operators;  ///< of the program as imported
  bool passed() const { return stage.empty(); }
};

ConformResult run_case(const std::string& pt2_path, const std::string& name, const ConformOptions& options);

}  // namespace tern
