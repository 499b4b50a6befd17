// ld, st, addresses, and cp.async.
#include <string>

#include "tests/gpu/ptx/handlers.h"

namespace tern::emulated {
namespace {

// Qualifiers of caches, order and scope, without effect if threads run one after the other.
void take_hints(Decoder& instruction) {
  instruction.one_of({"relaxed", "acquire", "release", "volatile", "weak", "mmio"});
  instruction.one_of({"cta", "cluster", "gpu", "sys"});
  instruction.consume("nc");
  instruction.one_of({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  for (std::string_view hint :
       {"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
        "L2::evict_normal", "L2::evict_first", "L2::evict_last", "L2::64B", "L2::128B", "L2::256B"}) {
    instruction.consume(hint);
  }
}

std::string_view take_space(Decoder& instruction) {
  const std::string_view space =
      instruction.one_of({"global", "shared", "local", "const", "param", "shared::cta", "param::entry", "param::func"});
  return space.substr(0, space.find(':'));
}

int vector_of(Decoder& instruction) {
  const std::string_view word = instruction.one_of({"v2", "v4", "v8"});
  return word.empty() ? 1 : word[1] - '0';
}

const Operand& item(const Operand& operand, int i, int count, FunctionWriter& writer) {
  if (count == 1) return operand;
  if (operand.kind != OperandKind::kVector || static_cast<int>(operand.items.size()) != count) {
    writer.fail("a vector of " + std::to_string(count) + " registers is missing");
  }
  return operand.items[i];
}

struct Access {
  const Type& type;
  int count;
  std::string space;
  bool waits;  // waits for others: spins on another thread's write
};

Access take_access(Decoder& instruction) {
  const Type& type = instruction.type();
  Decoder look = instruction;
  const bool waits = look.consume("volatile") || look.consume("acquire") || look.consume("relaxed");
  take_hints(instruction);
  const std::string space(take_space(instruction));
  return {type, vector_of(instruction), space, waits};
}

void write_ld(Decoder& instruction, FunctionWriter& writer) {
  const Access access = take_access(instruction);
  const std::string c_type(access.type.c), at = writer.temporary();
  if (access.waits && access.space != "param") writer.statement("tern_ptx_pause(T);");
  writer.statement(c_type + "* " + at + " = (" + c_type + "*)" +
                   writer.pointer_to(access.space, instruction.operand(1), access.type.bits / 8 * access.count) + ";");
  const Operand& to = instruction.operand(0);
  if (access.count == 1) return writer.assign(to, access.type, "*" + at);
  // A result may be the register of the address.
  std::vector<std::string> values;
  for (int i = 0; i < access.count; ++i) {
    values.push_back(writer.temporary());
    writer.statement(c_type + " " + values.back() + " = " + at + "[" + std::to_string(i) + "];");
  }
  for (int i = 0; i < access.count; ++i) writer.assign(item(to, i, access.count, writer), access.type, values[i]);
}

void write_st(Decoder& instruction, FunctionWriter& writer) {
  const Access access = take_access(instruction);
  const std::string c_type(access.type.c), at = writer.temporary();
  if (access.space == "const") writer.fail("a store to constants");
  writer.statement(c_type + "* " + at + " = (" + c_type + "*)" +
                   writer.pointer_to(access.space, instruction.operand(0), access.type.bits / 8 * access.count) + ";");
  for (int i = 0; i < access.count; ++i) {
    writer.statement(at + "[" + std::to_string(i) +
                     "] = " + writer.value(item(instruction.operand(1), i, access.count, writer), access.type) + ";");
  }
}

// Generic addresses are host addresses, like all addresses except shared memory's. "cvta.to.space: from generic".
void write_cvta(Decoder& instruction, FunctionWriter& writer) {
  const Type& type = instruction.type();
  const bool from_generic = instruction.consume("to");
  const std::string space(take_space(instruction));
  const Operand& from = instruction.operand(1);
  std::string value = writer.value(from, type);
  if (space == "shared") value += from_generic ? " - (u64)T->shared" : " + (u64)T->shared";
  writer.assign(instruction.operand(0), type, value);
}

void write_isspacep(Decoder& instruction, FunctionWriter& writer) {
  const std::string space(instruction.require_one_of({"global", "shared", "shared::cta", "const"}));
  const std::string is_shared = "is_shared(T, " + writer.value(instruction.operand(1), type_named("b64")) + ")";
  if (space == "const") writer.fail("constants have no addresses of their own here");
  writer.assign(instruction.operand(0), type_named("pred"), (space == "global" ? "!" : "") + is_shared);
}

// Hints to caches.
void write_nothing(Decoder& instruction, FunctionWriter&) {
  take_space(instruction);
  take_hints(instruction);
  for (std::string_view word : {"L1", "L2", "uniform"}) instruction.consume(word);
  for (std::size_t i = 0; i < instruction.operands(); ++i) instruction.operand(i);
}

void write_cp(Decoder& instruction, FunctionWriter& writer) {
  if (!instruction.consume("async")) writer.fail("unknown copy");
  if (instruction.consume("commit_group")) return writer.statement("tern_ptx_copy_commit(T);");
  if (instruction.consume("wait_all")) return writer.statement("tern_ptx_copy_wait_all(T);");
  if (instruction.consume("wait_group")) {
    return writer.statement("tern_ptx_copy_wait(T, " + writer.value(instruction.operand(0), type_named("u32")) + ");");
  }
  instruction.require_one_of({"ca", "cg"});
  instruction.require_one_of({"shared", "shared::cta"});
  instruction.require_one_of({"global"});
  take_hints(instruction);
  const Operand &to = instruction.operand(0), &from = instruction.operand(1), &bytes = instruction.operand(2);
  if (bytes.kind != OperandKind::kInteger) writer.fail("a copy of no constant size");
  const std::string size = std::to_string(bytes.bits);
  // "src-size ... remaining bytes are filled with zeros"
  const std::string read = instruction.operands() > 3 ? writer.value(instruction.operand(3), type_named("u32")) : size;
  writer.statement("tern_ptx_copy(" + writer.where() + ", (u32)(" + writer.address(to) + "), " + writer.address(from) +
                   ", " + size + ", " + read + ");");
}

constexpr Handler kHandlers[] = {
    {"ld", write_ld},
    {"ldu", write_ld},
    {"st", write_st},
    {"cvta", write_cvta},
    {"isspacep", write_isspacep},
    {"prefetch", write_nothing},
    {"prefetchu", write_nothing},
    {"discard", write_nothing},
    {"applypriority", write_nothing},
    {"cp", write_cp},
};

}  // namespace

std::span<const Handler> memory_handlers() {
  return kHandlers;
}

}  // namespace tern::emulated
