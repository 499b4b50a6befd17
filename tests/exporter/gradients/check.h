// Compares the exporter's gradients with central differences in float64.
#pragma once

#include <tern/tern.h>

#include <functional>
#include <vector>

#include "exporter/builder.h"

namespace tern::testing {

/// Adds the nodes under test to the function of `b`; returns the outputs.
using BuildNodes = std::function<std::vector<ValueId>(Builder& b, const std::vector<ValueId>& inputs)>;

/// Adds a single node that reads all inputs.
BuildNodes one_node(Op op, std::vector<Attr> attrs = {});

/// Builds a program from `build` with the types of `inputs`, and its gradient for the loss
/// sum over outputs of sum(re(out) * cos(k) + im(out) * cos(2 k + 1)), k = 0, 1, ... over the output's elements.
/// Expects each element of the gradient within tolerance * max(1, |expected|) of the central difference of the loss.
/// Inputs are float64 or complex128; inputs of other types get no gradient. The loss skips outputs of integers.
void expect_gradients(const std::vector<Tensor>& inputs, const BuildNodes& build, double tolerance = 1e-6);

/// Gradients of the same loss: empty for an input without gradient, zeros where nothing flows.
std::vector<std::vector<double>> gradients_of(const std::vector<Tensor>& inputs, const BuildNodes& build);

/// A float64 tensor.
Tensor doubles(std::vector<std::int64_t> sizes, const std::vector<double>& values);
/// Pseudorandom float64 or complex128 values in (low, high). Equal seeds give equal values.
Tensor noise(std::vector<std::int64_t> sizes, int seed = 1, double low = -1, double high = 1, DType dtype = DType::f64);
Tensor integers(std::vector<std::int64_t> sizes, const std::vector<std::int64_t>& values);

}  // namespace tern::testing
