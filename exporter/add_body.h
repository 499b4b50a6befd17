// Control flow bodies added by export.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exporter/builder.h"

namespace tern {

using FillBody = std::function<std::vector<ValueId>(Builder&, std::span<const ValueId>)>;

/// Adds a function with inputs of these types; `fill` adds its nodes and returns its results. Returns its number.
std::uint32_t add_body(Builder& b, const std::string& name, std::span<const TensorType> types, const FillBody& fill);
/// Takes the types of `operands`.
std::uint32_t add_body(Builder& b, const std::string& name, std::span<const ValueId> operands, const FillBody& fill);

}  // namespace tern
