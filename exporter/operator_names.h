// Names of all operators known to the importer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern {

enum class OperatorKind {
  lowered,    ///< becomes Tern's ops by its lowering
  written,    ///< computed as `twin`, with results written back: in-place and out= operators
  memory,     ///< changes or reads a tensor's memory or layout; resolved by the importer
  host,       ///< numbers of the host: sizes, strides, assertions
  no_effect,  ///< no effect outside PyTorch
  control,    ///< control flow and regions
};
std::string_view operator_kind_name(OperatorKind kind);

struct OperatorName {
  std::string name;  ///< "aten.add_.Tensor"
  OperatorKind kind = OperatorKind::lowered;
  std::string twin;  ///< "aten.add.Tensor"; empty if the lowering has the operator's own name
};

/// Sorted by name, without duplicates: pointwise tables, families, in-place twins of all schemas. Takes some ten
/// milliseconds.
std::vector<OperatorName> operator_names();

}  // namespace tern
