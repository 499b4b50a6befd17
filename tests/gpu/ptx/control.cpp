// Branches, calls, ends, and the like.
#include <string>

#include "tests/gpu/ptx/handlers.h"

namespace tern::emulated {
namespace {

void write_bra(Decoder& instruction, FunctionWriter& writer) {
  instruction.consume("uni");
  writer.statement("goto " + writer.label(instruction.operand(0).name) + ";");
}

void write_brx(Decoder& instruction, FunctionWriter& writer) {
  if (!instruction.consume("idx")) writer.fail("unknown branch");
  instruction.consume("uni");
  writer.statement("switch (" + writer.value(instruction.operand(0), type_named("u32")) + ") {");
  int i = 0;
  for (const std::string& target : writer.targets(instruction.operand(1).name)) {
    writer.statement("case " + std::to_string(i++) + ": goto " + writer.label(target) + ";");
  }
  // "Behavior is undefined if the value of index is out of range"
  writer.statement("default: tern_ptx_trap(" + writer.where() + ", \"the index of a branch is out of range\"); }");
}

void write_ret(Decoder& instruction, FunctionWriter& writer) {
  instruction.consume("uni");
  writer.statement("return;");
}

void write_exit(Decoder&, FunctionWriter& writer) {
  // A device function cannot exit its kernel; NVRTC writes exit there only after a trap.
  writer.statement(writer.function().is_entry
                       ? "return;"
                       : "tern_ptx_trap(" + writer.where() + ", \"exit in a device function is not supported\");");
}

void write_trap(Decoder&, FunctionWriter& writer) {
  writer.statement("tern_ptx_trap(" + writer.where() + ", \"trap\");");
}

void write_nanosleep(Decoder& instruction, FunctionWriter& writer) {
  instruction.consume("u32");
  instruction.operand(0);
  writer.statement("tern_ptx_pause(T);");
}

std::string loaded(const std::string& type, const std::string& address) {
  return "*(" + type + "*)(" + address + ")";
}

// The functions of CUDA's device runtime; false for unknown functions.
bool write_runtime_call(const std::string& name, const std::vector<std::string>& arguments, FunctionWriter& writer) {
  if (name == "cudaGraphSetConditional" && arguments.size() == 2) {
    writer.statement("tern_ptx_set_conditional(T, " + loaded("u64", arguments[0]) + ", " + loaded("u32", arguments[1]) +
                     ");");
    return true;
  }
  if (name == "__assertfail" && arguments.size() == 5) {  // message, file, line, function, size of a character
    writer.statement("tern_ptx_assertion(" + writer.where() + ", " + loaded("u64", arguments[0]) + ", " +
                     loaded("u64", arguments[1]) + ", " + loaded("u32", arguments[2]) + ", " +
                     loaded("u64", arguments[3]) + ");");
    return true;
  }
  return false;
}

// call (result), function, (arguments): results and arguments are .param variables, passed by address.
void write_call(Decoder& instruction, FunctionWriter& writer) {
  instruction.consume("uni");
  std::size_t at = 0;
  std::vector<std::string> results, arguments;
  const auto addresses = [&](const Operand& list) {
    std::vector<std::string> all;
    for (const Operand& item : list.items) {
      if (item.kind != OperandKind::kName) writer.fail("an argument that is no .param variable");
      all.push_back(writer.symbol_address(item.name));
    }
    return all;
  };
  if (instruction.operand(0).kind == OperandKind::kList) results = addresses(instruction.operand(at++));
  const Operand& called = instruction.operand(at++);
  const auto function = writer.symbols().functions.find(called.name);
  if (function == writer.symbols().functions.end()) writer.fail("a call of the unknown function '" + called.name + "'");
  if (at < instruction.operands()) arguments = addresses(instruction.operand(at++));
  if (!function->second->has_body) {
    if (write_runtime_call(called.name, arguments, writer)) return;
    writer.fail("a call of '" + called.name + "', which is not in the text");
  }
  if (function->second->parameters.size() != arguments.size() || function->second->results.size() != results.size()) {
    writer.fail("a call of '" + called.name + "' with other arguments than it has");
  }
  writer.note_call(called.name);
  std::string text = c_name("f_", called.name) + "(T";
  for (const auto* all : {&results, &arguments}) {
    for (const std::string& address : *all) text += ", (char*)(" + address + ")";
  }
  writer.statement(text + ");");
}

constexpr Handler kHandlers[] = {
    {"bra", write_bra},
    {"brx", write_brx},
    {"ret", write_ret},
    {"exit", write_exit},
    {"trap", write_trap},
    {"call", write_call},
    {"nanosleep", write_nanosleep},
};

}  // namespace

std::span<const Handler> control_handlers() {
  return kHandlers;
}

}  // namespace tern::emulated
