// Lines KEY=VALUE as the metadata of an archive: the readers of groups and of generation parse the values or throw an
// Error that blames the metadata.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "examples/generate/conversation.h"
#include "exporter/builder.h"
#include "tools/subgroups.h"

namespace {

using namespace tern;

/// A program with the groups "0" and "tp".
std::shared_ptr<Program> program_with_groups() {
  auto p = std::make_shared<Program>();
  p->functions.emplace_back();
  p->functions[0].name = "forward";
  p->functions[0].entry = true;
  Builder b(*p, 0);
  ValueId x = b.full({2}, 1, DType::f32);
  for (const char* name : {"0", "tp"})
    x = b.add(Op::collective, {x},
              {attr(AttrKey::kind, Dim(0)), attr(AttrKey::groups, Dim(0)), attr_text(AttrKey::text, "sum"),
               attr_text(AttrKey::name, name)});
  p->functions[0].outputs.push_back({FunctionOutput::Kind::tensor, x, "y"});
  return p;
}

template <class Read>
void attempt(Read read) {
  try {
    read();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) std::abort();
  }
}

void check(const RankGroups& groups) {
  std::set<int> seen;
  if (groups.name.empty() || groups.subgroups.empty()) std::abort();
  for (const auto& part : groups.subgroups) {
    if (part.empty()) std::abort();
    for (const int rank : part) {
      if (rank < 0 || !seen.insert(rank).second) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::shared_ptr<Program> program = program_with_groups();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) program->metadata.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  attempt([&] {
    for (const RankGroups& g : groups_of(*program, {})) check(g);
  });
  attempt([&] { check(parse_groups(text)); });
  attempt([&] {
    const ModelFacts facts = facts_of(Model(program));
    if (facts.context < 0 || facts.vocabulary < 0) std::abort();
  });
  return 0;
}
