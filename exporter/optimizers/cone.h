// Pointwise nodes of one parameter's step, as functions to evaluate on numbers.
#pragma once

#include <string>
#include <vector>

#include "schema/program.h"

namespace tern::optimizers {

/// State or input written back by a function: its value before and after.
struct Pair {
  ValueId old_value = kNoValue, new_value = kNoValue;
};

/// Update of a parameter and its states: pointwise nodes between old and new values.
struct Cone {
  Pair param;
  std::vector<Pair> states;          ///< states of the parameter's sizes
  Pair step;                         ///< a number; kNoValue: none
  Pair product;                      ///< another number, depending on the step as well; kNoValue: none
  ValueId grad = kNoValue;           ///< further operand of the parameter's sizes
  ValueId lr = kNoValue;             ///< a read-only number, or kNoValue
  std::vector<std::uint32_t> nodes;  ///< in order
  std::string form;                  ///< equal for cones differing in sizes alone
};

/// Cones of all parameters updated by pointwise nodes, most states first. A state belongs to one cone.
std::vector<Cone> find_cones(const Function& f);

/// Values of one element and of a step: before or after.
struct ConeValues {
  double p = 0, g = 0, step = 0, lr = 0;
  std::vector<double> states;
  double product = 0;
};

/// The cone as a program of `count` elements.
class ConeProgram {
 public:
  /// Computes in double if `is_wide`: constants keep all digits.
  ConeProgram(const Function& f, const Cone& cone, bool is_wide) : f_(f), cone_(cone), is_wide_(is_wide) {}
  /// New values of each element; the first element supplies step, product and lr. Throws the runtime's errors.
  std::vector<ConeValues> run(const std::vector<ConeValues>& elements) const;

 private:
  const Function& f_;
  const Cone& cone_;
  bool is_wide_;
};

}  // namespace tern::optimizers
