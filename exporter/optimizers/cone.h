// The pointwise nodes that compute one parameter's step, as functions that can be run on numbers.
#pragma once

#include <string>
#include <vector>

#include "schema/program.h"

namespace tern::optimizers {

/// A state or input that a function writes back: its value before and after.
struct Pair {
  ValueId before = kNoValue, after = kNoValue;
};

/// How a parameter and its states become new ones: pointwise nodes between values before and after.
struct Cone {
  Pair param;
  std::vector<Pair> states;          ///< of the parameter's sizes
  Pair step;                         ///< one number; kNoValue: none
  Pair product;                      ///< another number, which depends on the step too; kNoValue: none
  ValueId grad = kNoValue;           ///< what else of the parameter's sizes is read
  ValueId lr = kNoValue;             ///< a number that is read and not written, or kNoValue
  std::vector<std::uint32_t> nodes;  ///< in order
  std::string form;                  ///< equal for cones that differ in sizes alone
};

/// Of all parameters that pointwise nodes update, those with more states first. States belong to one cone.
std::vector<Cone> find_cones(const Function& f);

/// Numbers of one element, or of a step: before and after.
struct Numbers {
  double p = 0, g = 0, step = 0, lr = 0;
  std::vector<double> states;
  double product = 0;
};

/// The cone as a program of `count` elements.
class ConeProgram {
 public:
  /// In double where `wide`: constants keep all their digits.
  ConeProgram(const Function& f, const Cone& cone, bool wide) : f_(f), cone_(cone), wide_(wide) {}
  /// The new values of each element; step, product and lr are those of the first. Throws what the runtime throws.
  std::vector<Numbers> run(const std::vector<Numbers>& elements) const;

 private:
  const Function& f_;
  const Cone& cone_;
  bool wide_;
};

}  // namespace tern::optimizers
