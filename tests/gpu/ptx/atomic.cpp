// atom, red, fences.
#include <string>

#include "tests/gpu/ptx/handlers.h"

namespace tern::emulated {
namespace {

void write_atomic(Decoder& instruction, FunctionWriter& writer) {
  const bool returns = instruction.opcode() == "atom";
  const Type& type = instruction.type();
  instruction.one_of({"relaxed", "acquire", "release", "acq_rel"});
  instruction.one_of({"cta", "cluster", "gpu", "sys"});
  const std::string space(instruction.one_of({"global", "shared", "shared::cta"}));
  const bool shared = space.starts_with("shared");
  instruction.consume("noftz");
  instruction.consume("L2::cache_hint");
  const std::string_view vector = instruction.one_of({"v2", "v4", "v8"});
  const int count = vector.empty() ? 1 : vector[1] - '0';
  const std::string operation(
      instruction.require_one_of({"add", "exch", "cas", "min", "max", "and", "or", "xor", "inc", "dec"}));
  const std::size_t first = returns ? 1 : 0;
  const Operand& address = instruction.operand(first);
  const Operand& value = instruction.operand(first + 1);
  const std::string at = writer.temporary(), c_type(type.c), name(type.name);
  // A thread may spin on another's writes.
  writer.statement("tern_ptx_pause(T);");
  writer.statement("char* " + at + " = " +
                   writer.pointer_to(shared ? "shared" : space, address, type.bits / 8 * count) + ";");
  for (int i = 0; i < count; ++i) {
    const std::string place = at + " + " + std::to_string(i * type.bits / 8);
    std::string values = writer.value(count == 1 ? value : value.items.at(i), type);
    if (operation == "cas") values += ", " + writer.value(instruction.operand(first + 2), type);
    std::string call = "atom_" + operation + "_" + name + "(" + place + ", " + values + ")";
    if (name == "f32" && operation == "add") {
      const std::string flushing = "atom_add_ftz_f32(" + place + ", " + values + ")";
      if (space == "global") call = flushing;
      if (space.empty()) call = "is_shared(T, (u64)(" + place + ")) ? " + call + " : " + flushing;
    }
    if (returns) {
      writer.assign(count == 1 ? instruction.operand(0) : instruction.operand(0).items.at(i), type, call);
    } else {
      writer.statement(call + ";");
    }
  }
}

// Threads run one after the other, and each thread sees all earlier writes.
void write_fence(Decoder& instruction, FunctionWriter& writer) {
  const std::string_view order = instruction.one_of({"sc", "acq_rel", "acquire", "release"});
  const std::string_view scope = instruction.one_of({"cta", "cluster", "gpu", "sys", "gl"});
  if (order.empty() && scope.empty()) writer.fail("unknown fence");
  writer.statement("__atomic_thread_fence(__ATOMIC_SEQ_CST);");
}

constexpr Handler kHandlers[] = {
    {"atom", write_atomic},
    {"red", write_atomic},
    {"fence", write_fence},
    {"membar", write_fence},
};

}  // namespace

std::span<const Handler> atomic_handlers() {
  return kHandlers;
}

}  // namespace tern::emulated
