// The pass pipeline of an export: one ordered table of passes.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "schema/program.h"

namespace tern {

struct ImportOptions;
struct ImportReport;

/// Stages run in this order. A program goes through the first three while it is imported, and through the others when
/// the formats of its weights are known.
enum class Stage {
  lowered,    ///< gradients, and nodes that only gradients need
  quantized,  ///< recognises quantized weights and products of integers
  fold,       ///< computes constants
  quantize,   ///< gives weights of floats the formats of ImportOptions::quantize
  simplify,   ///< merges nodes
  storage,    ///< types and order of the weights' bytes
};

struct PassContext {
  Program& program;
  const ImportOptions& options;
  ImportReport& report;
};

struct Pass {
  std::string_view name;
  void (*run)(PassContext&);
  Stage stage;
  bool (*is_enabled)(const ImportOptions&);  ///< true if the options ask for the pass
  std::array<const char*, 2> prerequisites;  ///< names of passes that have to come before, or null
};

std::span<const Pass> passes();

/// Runs the passes of the stages `first` to `last` that `options` ask for.
void run_passes(Program& program, Stage first, Stage last, const ImportOptions& options,
                ImportReport* report = nullptr);

}  // namespace tern
