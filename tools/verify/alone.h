// Runs each node of a portion separately, in both runs on the reference's operands.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/verify/deviation.h"
#include "tools/verify/portions.h"
#include "tools/verify/programs.h"
#include "tools/verify/side.h"

namespace tern {

class NodesAlone {
 public:
  NodesAlone(const Side& test, const Side& reference, const std::vector<std::uint32_t>& nodes);

  /// Runs a call: `operands` holds the reference's values, `states` the mutable states before the call. Adds to `own`,
  /// by result. Nodes unable to run alone have no entry.
  void run(const CallSizes& sizes, const std::map<ValueId, Tensor>& operands,
           const std::vector<std::pair<std::string, Tensor>>& states, std::map<ValueId, Deviation>& own);

 private:
  /// Some of the nodes, combined in a program.
  struct Group {
    std::vector<std::uint32_t> nodes;
    CutNodes test_cut, reference_cut;
    std::vector<Session> sessions;  ///< test, reference; empty before the first call
  };
  void prepare(Group& g, const CallSizes& sizes) const;
  void run(Group& g, const std::map<ValueId, Tensor>& operands,
           const std::vector<std::pair<std::string, Tensor>>& states, std::map<ValueId, Deviation>& own) const;

  const Side& test_;
  const Side& reference_;
  std::vector<Group> groups_;
  CallSizes sizes_;
};

}  // namespace tern
