// The names of all operators that the importer knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern {

enum class OperatorKind {
  lowered,    ///< becomes ops of Tern by its lowering
  written,    ///< computed as `twin`, whose results are written back: in-place and out= operators
  memory,     ///< changes or reads a tensor's memory or layout; the importer resolves it
  host,       ///< numbers of the host: sizes, strides, assertions
  no_effect,  ///< nothing to do outside PyTorch
  control,    ///< control flow and regions
};
std::string_view operator_kind_name(OperatorKind kind);

struct OperatorName {
  std::string name;  ///< "aten.add_.Tensor"
  OperatorKind kind = OperatorKind::lowered;
  std::string twin;  ///< "aten.add.Tensor"; empty where the lowering is of the name itself
};

/// Sorted by name, each once. Pointwise tables, families, in-place twins of all schemas: some ten milliseconds.
std::vector<OperatorName> operator_names();

}  // namespace tern
