#include "runtime/collective/group_names.h"

#include "schema/custom_arguments.h"
#include "schema/program.h"

namespace tern {

std::set<std::string> group_names(const Program& program) {
  std::set<std::string> names;
  for (const Function& f : program.functions) {
    for (const Node& n : f.nodes) {
      if (n.op == Op::collective || n.op == Op::exchange) names.insert(n.text(AttrKey::name));
      if (n.op != Op::custom) continue;
      for (const CustomArgument& a : custom_arguments(n)) {
        if (a.kind == CustomArgument::Kind::text && a.name.find("group") != std::string::npos) names.insert(a.text);
      }
    }
  }
  return names;
}

}  // namespace tern
