// Whether one of two programs that ran in turns is faster, on a machine whose clock and neighbours change.
#pragma once

#include <vector>

namespace tern {

/// Seconds of runs in turns: entry i of `before` and `after` ran one right after the other.
struct Turns {
  struct Side {
    std::vector<double> function;  ///< of a whole run
    std::vector<double> nodes;     ///< of what is done otherwise and of its neighbours, in that run
  };
  Side before, after;
};

double median(std::vector<double> values);

/// The other way is kept where nodes and neighbours took less in three of four turns, in half of them by more than 2 %
/// of the whole, or by so much that the middle halves of their times do not overlap; and the whole was not slower by
/// 1 %. Nodes count, not the whole, as most of what makes a whole run longer or shorter is chance.
bool is_better(const Turns& turns);
/// More turns would not change that: the whole was slower each time, by 10 % in the first two, or by 3 % in half of
/// three.
bool is_hopeless(const Turns& turns);

}  // namespace tern
