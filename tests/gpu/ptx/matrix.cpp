// ldmatrix, stmatrix, movmatrix, mma and mma.sp.
#include <span>
#include <string>

#include "tests/gpu/ptx/handlers.h"

namespace tern::emulated {
namespace {

const Type& word() {
  return type_named("b32");
}

// The registers of an operand: a single register, or a vector.
std::vector<const Operand*> registers(const Operand& operand) {
  std::vector<const Operand*> all;
  if (operand.kind != OperandKind::kVector) return {&operand};
  for (const Operand& item : operand.items) all.push_back(&item);
  return all;
}

// "u32 name[] = {...};"
std::string array(const Operand& operand, const Type& type, FunctionWriter& writer) {
  const std::string name = writer.temporary();
  std::string values;
  for (const Operand* one : registers(operand)) {
    std::string value = writer.value(*one, type);
    if (type.name == "f32") value = "bits_f32(" + value + ")";
    if (type.name == "f64") {
      value = writer.value(*one, type_named("b64"));
      value = "(u32)" + value + ", (u32)(" + value + " >> 32)";
    }
    values += (values.empty() ? "" : ", ") + value;
  }
  writer.statement("u32 " + name + "[] = {" + values + "};");
  return name;
}

void assign_all(const Operand& to, const Type& type, const std::string& from, FunctionWriter& writer) {
  int i = 0;
  for (const Operand* one : registers(to)) {
    const std::string at = from + "[" + std::to_string(i) + "]";
    if (type.name == "f64") {
      const std::string high = from + "[" + std::to_string(i + 1) + "]";
      writer.assign(*one, type_named("b64"), "(u64)" + high + " << 32 | " + at);
      i += 2;
    } else {
      writer.assign(*one, word(), at);
      ++i;
    }
  }
}

// "{ld,st}matrix.sync.aligned.m8n8.num{.trans}{.ss}.b16"
void write_matrix_access(Decoder& instruction, FunctionWriter& writer) {
  writer.note_groups();
  const bool loads = instruction.opcode() == "ldmatrix";
  instruction.require_one_of({"sync"});
  instruction.consume("aligned");
  instruction.require_one_of({"m8n8"});
  const std::string count(instruction.require_one_of({"x1", "x2", "x4"}).substr(1));
  const std::string transposed = instruction.consume("trans") ? "1" : "0";
  instruction.one_of({"shared", "shared::cta"});
  instruction.require_one_of({"b16"});
  const Operand &values = instruction.operand(loads ? 0 : 1), &address = instruction.operand(loads ? 1 : 0);
  if (std::to_string(registers(values).size()) != count) writer.fail("another number of registers than of matrices");
  const std::string call =
      "matrix(" + writer.where() + ", " + count + ", " + transposed + ", (u32)(" + writer.address(address) + "), ";
  if (loads) {
    const std::string d = writer.temporary();
    writer.statement("u32 " + d + "[4]; tern_ptx_ld" + call + d + ");");
    assign_all(values, word(), d, writer);
  } else {
    writer.statement("tern_ptx_st" + call + array(values, word(), writer) + ");");
  }
}

// "movmatrix.sync.aligned.m8n8.trans.b16 d, a"
void write_movmatrix(Decoder& instruction, FunctionWriter& writer) {
  writer.note_groups();
  for (std::string_view word : {"sync", "aligned", "m8n8", "trans", "b16"}) instruction.require_one_of({word});
  writer.assign(instruction.operand(0), word(),
                "tern_ptx_movmatrix(" + writer.where() + ", " + writer.value(instruction.operand(1), word()) + ")");
}

struct Shape {
  std::string_view name;
  int m, k;
  std::string_view types;  // types of a and b
  int a, b, c;             // words of a thread's fragments; c of f32 and s32
};

constexpr Shape kShapes[] = {
    {"m16n8k4", 16, 4, "tf32", 2, 1, 4},
    {"m16n8k8", 16, 8, "tf32", 4, 2, 4},
    {"m16n8k8", 16, 8, "f16 bf16", 2, 1, 4},
    {"m16n8k16", 16, 16, "f16 bf16", 4, 2, 4},
    {"m16n8k16", 16, 16, "s8 u8 e4m3 e5m2", 2, 1, 4},
    {"m16n8k32", 16, 32, "s8 u8 e4m3 e5m2", 4, 2, 4},
    {"m8n8k16", 8, 16, "s8 u8", 1, 1, 2},
    {"m8n8k4", 8, 4, "f64", 2, 2, 4},
};

// The fragment of a sparse a has the kept half of the elements.
constexpr Shape kSparseShapes[] = {{"m16n8k32", 16, 32, "f16 bf16", 4, 4, 4}};

std::string upper(std::string_view text) {
  std::string all(text);
  for (char& c : all) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return all;
}

// "mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c", and
// "mma.sp{::ordered_metadata}.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c, e, f"
void write_mma(Decoder& instruction, FunctionWriter& writer) {
  writer.note_groups();
  const std::string_view sparse = instruction.one_of({"sp", "sp::ordered_metadata"});
  for (std::string_view word : {"sync", "row", "col"}) instruction.require_one_of({word});
  instruction.consume("aligned");
  const bool finite = instruction.consume("satfinite");
  const std::string_view shape =
      instruction.require_one_of({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m8n8k16", "m8n8k4"});
  instruction.consume("kind::f8f6f4");
  const Type &c_type = instruction.type(), &b_type = instruction.type(), &a_type = instruction.type(),
             &d_type = instruction.type();
  if (c_type.name != d_type.name) writer.fail("c and d of different types");
  const Shape* found = nullptr;
  const std::span<const Shape> shapes = sparse.empty() ? std::span<const Shape>(kShapes) : kSparseShapes;
  for (const Shape& one : shapes) {
    if (one.name == shape &&
        (" " + std::string(one.types) + " ").find(" " + std::string(a_type.name) + " ") != std::string::npos)
      found = &one;
  }
  if (!found || (a_type.bits == 8 ? b_type.bits != 8 : a_type.name != b_type.name))
    writer.fail("no such shape for these types");
  const std::string into = c_type.name == "f32"   ? "F32"
                           : c_type.name == "f16" ? "F16"
                           : c_type.name == "s32" ? (finite ? "S32_SATURATED" : "S32")
                           : c_type.name == "f64" ? "F64"
                                                  : "";
  if (into.empty()) writer.fail("sums of this type");
  const int c_words = c_type.name == "f16" ? found->c / 2 : found->c;
  const int per_value = a_type.name == "f64" ? 2 : 1;
  const auto check = [&](const Operand& operand, int words) {
    if (static_cast<int>(registers(operand).size()) * per_value != words)
      writer.fail("another number of registers than the shape has");
  };
  const Operand &d = instruction.operand(0), &a = instruction.operand(1), &b = instruction.operand(2),
                &c = instruction.operand(3);
  check(a, found->a), check(b, found->b), check(c, c_words), check(d, c_words);
  const Type& part = per_value == 2 ? type_named("f64") : word();
  const std::string result = writer.temporary();
  const std::string av = array(a, part, writer), bv = array(b, part, writer), cv = array(c, part, writer);
  const std::string types = ", TERN_MMA_" + upper(a_type.name) + ", TERN_MMA_" + upper(b_type.name) +
                            ", TERN_MMA_INTO_" + into + ", " + av + ", " + bv + ", " + cv + ", ";
  const std::string sizes = std::to_string(found->m) + ", " + std::to_string(found->k);
  if (sparse.empty()) {
    writer.statement("u32 " + result + "[4]; tern_ptx_mma(" + writer.where() + ", " + sizes + types + result + ");");
  } else {
    const std::string places = writer.value(instruction.operand(4), word()),
                      selector = writer.value(instruction.operand(5), word()), ordered = sparse == "sp" ? "0" : "1";
    writer.statement("u32 " + result + "[4]; tern_ptx_mma_sparse(" + writer.where() + ", " + sizes + types + places +
                     ", " + selector + ", " + ordered + ", " + result + ");");
  }
  assign_all(d, part, result, writer);
}

constexpr Handler kHandlers[] = {
    {"ldmatrix", write_matrix_access},
    {"stmatrix", write_matrix_access},
    {"movmatrix", write_movmatrix},
    {"mma", write_mma},
};

}  // namespace

std::span<const Handler> matrix_handlers() {
  return kHandlers;
}

}  // namespace tern::emulated
