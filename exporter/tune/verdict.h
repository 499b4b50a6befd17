// Decides if one of two programs, run in turns, is faster on a machine with varying clock and load.
#pragma once

#include <vector>

namespace tern {

/// Seconds of runs in turns: entry i of `original` and `changed` ran one right after the other.
struct PairedRuns {
  struct RunSeconds {
    std::vector<double> function;  ///< the whole run
    std::vector<double> nodes;     ///< the changed nodes and their neighbours, in the same run
  };
  RunSeconds original, changed;
};

double median(std::vector<double> values);

/// Accepts the change under two conditions. Nodes and neighbours took less in three of four turns, and either gained
/// more than 2 % of the whole in half of them, or the middle halves of their times do not overlap. The whole is not
/// slower by 1 %. The criterion uses nodes: the whole varies mostly by chance.
bool is_better(const PairedRuns& runs);
/// True if more turns cannot change the verdict: the whole was slower each time, by 10 % in the first two turns, or by
/// 3 % in half of three.
bool is_hopeless(const PairedRuns& runs);

}  // namespace tern
