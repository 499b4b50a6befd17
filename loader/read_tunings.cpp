// Algorithms stored for nodes, by measured processor.
#include <fmt/format.h>

#include "loader/index_reader.h"

namespace tern {

void read_tunings(IndexReader& reader, Program& program) {
  const auto* rows = reader.root()->tunings();
  const std::size_t n = reader.count(rows);
  reader.expand(n * sizeof(Tuning));
  program.tunings.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto* row = rows->Get(static_cast<flatbuffers::uoffset_t>(i));
    Tuning t{reader.name(row->processor(), row), row->threads(), {}};
    const std::size_t choices = reader.count(row->choices());
    reader.expand(choices * sizeof(Tuning::Choice));
    t.choices.reserve(choices);
    std::pair<std::uint32_t, std::uint32_t> before;
    for (std::size_t k = 0; k < choices; ++k) {
      const auto* choice = row->choices()->Get(static_cast<flatbuffers::uoffset_t>(k));
      const std::pair at{choice->function(), choice->node()};
      const auto wrong = [&](const char* rule, std::string message) {
        reader.findings().add(rule, reader.offset_of(choice), fmt::format("choice {} of tuning {}", k, i),
                              std::move(message));
      };
      if (at.first >= program.functions.size() || at.second >= program.functions[at.first].nodes.size()) {
        wrong("tunings.node", fmt::format("function {} has no node {}", at.first, at.second));
        continue;
      }
      if (k > 0 && at <= before)
        wrong("tunings.order",
              fmt::format("node {} of function {} does not come after the one before", at.second, at.first));
      before = at;
      t.choices.push_back({at.first, at.second, reader.name(choice->algorithm(), choice)});
    }
    program.tunings.push_back(std::move(t));
  }
}

}  // namespace tern
