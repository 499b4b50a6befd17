// Backward function of a control flow body.
#pragma once

#include <cstdint>
#include <vector>

#include "exporter/gradients/backward_functions.h"
#include "exporter/gradients/rule.h"

namespace tern {

/// Copies the body with its random numbers as additional results, once for all its calls; returns the body itself if
/// free of random numbers. Refuses bodies with data-dependent sizes, and random numbers in nested bodies.
AugmentedBody keep_random(GradientCall& c, std::uint32_t body);

/// Types of the body's inputs of kind user, and of its results.
std::vector<TensorType> input_types(const Program& program, std::uint32_t function);
std::vector<TensorType> output_types(const Program& program, std::uint32_t function);

/// Value of a user input inside the body.
ValueId input_value(const Program& program, std::uint32_t function, std::size_t input);

/// A function under construction: the body's nodes again, then their gradients.
class BackwardBody {
 public:
  /// `inputs` and `saved` are values of the function of `b`: the body's user inputs, and the random numbers of its
  /// first run.
  BackwardBody(Builder& b, const AugmentedBody& body, const std::vector<ValueId>& inputs,
               const std::vector<ValueId>& saved);

  ValueId output(std::size_t i) const { return outputs_[i]; }
  /// Gradients of the inputs `input_indices`; zeros for inputs without a gradient. `seeds` has an entry for each result
  /// of the body, or kNoValue.
  std::vector<ValueId> gradients(const std::vector<ValueId>& seeds, const std::vector<std::size_t>& input_indices,
                                 BackwardFunctions& functions);

 private:
  Builder& b_;
  std::vector<ValueId> inputs_, outputs_;
};

/// Adds a function to the program, and inputs of kind user to the function.
std::uint32_t new_function(Program& program, const std::string& name);
ValueId new_input(Builder& b, const TensorType& type, const std::string& name);
void new_output(Builder& b, ValueId value);

}  // namespace tern
