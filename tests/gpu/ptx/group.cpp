// Barriers, and exchanges among the threads of a warp.
#include <string>

#include "tests/gpu/ptx/handlers.h"

namespace tern::emulated {
namespace {

const Type& word() {
  return type_named("b32");
}

// bar{.cta}.sync, barrier{.cta}.sync{.aligned}, .arrive, .red.{popc.u32,and.pred,or.pred}; bar.warp.sync.
void write_barrier(Decoder& instruction, FunctionWriter& writer) {
  writer.note_groups();
  if (instruction.consume("warp")) {
    instruction.require_one_of({"sync"});
    return writer.statement("tern_ptx_warp_barrier(" + writer.where() + ", " +
                            writer.value(instruction.operand(0), word()) + ");");
  }
  instruction.consume("cta");
  instruction.consume("aligned");
  const std::string_view kind = instruction.require_one_of({"sync", "arrive", "red"});
  const auto optional = [&](std::size_t i) {
    return i < instruction.operands() ? writer.value(instruction.operand(i), word()) : std::string("0");
  };
  if (kind == "sync") {
    return writer.statement("tern_ptx_barrier(" + writer.where() + ", " + optional(0) + ", " + optional(1) + ", 0);");
  }
  if (kind == "arrive") {
    return writer.statement("tern_ptx_arrive(" + writer.where() + ", " + optional(0) + ", " + optional(1) + ");");
  }
  const std::string_view operation = instruction.require_one_of({"popc", "and", "or"});
  const Type& type = instruction.type();
  const std::size_t last = instruction.operands() - 1;
  const std::string threads = last == 3 ? writer.value(instruction.operand(2), word()) : "0",
                    votes = writer.temporary();
  writer.statement("tern_ptx_votes " + votes + " = tern_ptx_barrier(" + writer.where() + ", " +
                   writer.value(instruction.operand(1), word()) + ", " + threads + ", " +
                   writer.predicate(instruction.operand(last)) + ");");
  writer.assign(instruction.operand(0), type,
                votes + (operation == "popc" ? ".yes"
                         : operation == "or" ? ".yes != 0"
                                             : ".yes == " + votes + ".all"));
}

// "shfl.sync.mode.b32 d[|p], a, b, c, membermask"
void write_shfl(Decoder& instruction, FunctionWriter& writer) {
  writer.note_groups();
  instruction.require_one_of({"sync"});
  const Type& type = instruction.type();
  if (type.name != "b32") writer.fail("a shuffle of another type than b32");
  const std::string_view mode = instruction.require_one_of({"up", "down", "bfly", "idx"});
  const std::string name = mode == "up" ? "UP" : mode == "down" ? "DOWN" : mode == "bfly" ? "BFLY" : "IDX";
  const std::string in_range = writer.temporary(), result = writer.temporary();
  std::string operands;
  for (std::size_t i = 1; i < 5; ++i) operands += ", " + writer.value(instruction.operand(i), word());
  writer.statement("u8 " + in_range + "; u32 " + result + " = tern_ptx_shfl(" + writer.where() + ", TERN_SHFL_" + name +
                   operands + ", &" + in_range + ");");
  const Operand& to = instruction.operand(0);
  writer.assign(to.kind == OperandKind::kPair ? to.items[0] : to, word(), result);
  if (to.kind == OperandKind::kPair) writer.assign(to.items[1], type_named("pred"), in_range);
}

// "vote.sync.{all,any,uni}.pred p, a, mask; vote.sync.ballot.b32 d, a, mask"
void write_vote(Decoder& instruction, FunctionWriter& writer) {
  writer.note_groups();
  instruction.require_one_of({"sync"});
  const Type& type = instruction.type();
  const std::string_view mode = instruction.require_one_of({"all", "any", "uni", "ballot"});
  const std::string mask = writer.temporary(), votes = writer.temporary();
  writer.statement("u32 " + mask + " = " + writer.value(instruction.operand(2), word()) + ", " + votes +
                   " = tern_ptx_ballot(" + writer.where() + ", " + writer.predicate(instruction.operand(1)) + ", " +
                   mask + ");");
  const std::string all = "(" + votes + " == (" + mask + " & tern_ptx_lanes(T)))";
  writer.assign(instruction.operand(0), type,
                mode == "ballot" ? votes
                : mode == "any"  ? votes + " != 0"
                : mode == "all"  ? all
                                 : all + " || " + votes + " == 0");
}

// "match.any.sync d, a, mask: the lanes with the same value; match.all.sync d[|p]: mask if all have the same, else 0"
void write_match(Decoder& instruction, FunctionWriter& writer) {
  writer.note_groups();
  const Type& type = instruction.type();
  const std::string_view mode = instruction.require_one_of({"any", "all"});
  instruction.require_one_of({"sync"});
  const std::string operands = writer.where() + ", " + writer.value(instruction.operand(1), type) + ", " +
                               writer.value(instruction.operand(2), word());
  const Operand& to = instruction.operand(0);
  if (mode == "any") return writer.assign(to, word(), "tern_ptx_match_any(" + operands + ")");
  const std::string all = writer.temporary(), result = writer.temporary();
  writer.statement("u8 " + all + "; u32 " + result + " = tern_ptx_match_all(" + operands + ", &" + all + ");");
  writer.assign(to.kind == OperandKind::kPair ? to.items[0] : to, word(), result);
  if (to.kind == OperandKind::kPair) writer.assign(to.items[1], type_named("pred"), all);
}

void write_redux(Decoder& instruction, FunctionWriter& writer) {
  writer.note_groups();
  instruction.require_one_of({"sync"});
  const Type& type = instruction.type();
  if (type.bits != 32 || type.kind == TypeKind::kFloat) writer.fail("a reduction of another type than 32-bit integers");
  std::string operation(instruction.require_one_of({"add", "min", "max", "and", "or", "xor"}));
  for (char& c : operation) c = static_cast<char>(c - 'a' + 'A');
  if (operation == "MIN" || operation == "MAX") operation += type.kind == TypeKind::kSigned ? "_S" : "_U";
  writer.assign(instruction.operand(0), type,
                "(" + std::string(type.c) + ")tern_ptx_redux(" + writer.where() + ", TERN_REDUX_" + operation + ", " +
                    writer.value(instruction.operand(1), word()) + ", " + writer.value(instruction.operand(2), word()) +
                    ")");
}

void write_activemask(Decoder& instruction, FunctionWriter& writer) {
  writer.assign(instruction.operand(0), instruction.type(), "tern_ptx_activemask(T)");
}

// "elect.sync d|p, membermask: one lane of the mask has p": the lowest lane.
void write_elect(Decoder& instruction, FunctionWriter& writer) {
  writer.note_groups();
  instruction.require_one_of({"sync"});
  const Operand& to = instruction.operand(0);
  if (to.kind != OperandKind::kPair) writer.fail("two results are needed");
  const std::string leader = writer.temporary(), mask = writer.value(instruction.operand(1), word());
  writer.statement("tern_ptx_warp_barrier(" + writer.where() + ", " + mask + "); u32 " + leader +
                   " = (u32)__builtin_ctz(" + mask + ");");
  writer.assign(to.items[0], word(), leader);
  writer.assign(to.items[1], type_named("pred"), leader + " == (T->index & 31)");
}

constexpr Handler kHandlers[] = {
    {"bar", write_barrier}, {"barrier", write_barrier}, {"shfl", write_shfl},   {"vote", write_vote},
    {"match", write_match}, {"redux", write_redux},     {"elect", write_elect}, {"activemask", write_activemask},
};

}  // namespace

std::span<const Handler> group_handlers() {
  return kHandlers;
}

}  // namespace tern::emulated
