// In-place and out= operators, and their functional equivalents.
#pragma once

#include <string>
#include <string_view>

#include "exporter/pt2/aten_schema.h"

namespace tern::importing {

/// "aten.add.Tensor" for aten::add_.Tensor, aten::add.out and aten::__iadd__.Tensor; "" without an equivalent.
std::string functional_twin(const pt2::Schema& schema);

/// "aten::add" and "Tensor" for "aten::add.Tensor"; "default" without an overload name.
std::string_view base_of(std::string_view schema_name);
std::string_view overload_of(std::string_view schema_name);

/// "aten.add.Tensor" of "aten::add.Tensor".
std::string target_of(std::string_view schema_name);

}  // namespace tern::importing
