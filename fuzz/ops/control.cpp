// Programs of control flow, of the host's work, and of training.
#include <string>

#include "dtypes/state_codes.h"
#include "fuzz/ops/table.h"
#include "schema/optim.h"

namespace tern::fuzz {
namespace {

/// A function under construction, called by the node.
struct RandomBody {
  explicit RandomBody(Make& m)
      : make(m), number(static_cast<std::uint32_t>(m.program.functions.size())), b(m.program, number) {
    m.program.functions.emplace_back();
    m.program.functions.back().name = "body" + std::to_string(number);
    m.node.functions.push_back(number);
  }
  ValueId input(DType dtype, const Dims& shape) {
    const ValueId v = b.add_value({dtype, shape});
    b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, "x", {}});
    return v;
  }
  void output(ValueId v) { b.function().outputs.push_back({FunctionOutput::Kind::tensor, v, "y"}); }
  /// A random expression of x, with x's type.
  ValueId some(ValueId x) {
    const char* text = make.pick({"x + x", "x * x", "x", "x - 1"});
    return b.expr(text, {{"x", x}}, b.dtype(x));
  }
  Make& make;
  std::uint32_t number;
  Builder b;
};

Dims dims(const Sizes& s) {
  return {s.begin(), s.end()};
}
DType plain(Make& m) {
  return m.pick({DType::f32, DType::f32, DType::f64, DType::i64});
}
/// The body's declared shape: the operand's, sometimes another.
Dims declared(Make& m, const Sizes& s) {
  Dims d = dims(s);
  for (Dim& size : d) {
    if (m.chance(10)) size = m.size(size.value() + m.in(0, 1));
  }
  return d;
}

void cond(Make& m) {
  const Sizes s = m.any_shape();
  const DType dtype = plain(m);
  m.operand(DType::boolean, {});
  m.operand(dtype, s);
  // Symbols of the declared sizes are bound before the node.
  const Dims shapes[] = {declared(m, s), declared(m, s)};
  std::size_t differing = 0;
  const bool repeated = m.chance(20) && !s.empty();
  for (int i = 0; i < 2; ++i) {
    RandomBody body(m);
    const ValueId x = body.input(dtype, shapes[i]);
    body.output(i == 0 && repeated ? body.b.concat({x, x}, 0) : body.some(x));
  }
  const Dims &a = m.program.functions[m.node.functions[0]].values.back().type.shape,
             &b = m.program.functions[m.node.functions[1]].values.back().type.shape;
  for (std::size_t i = 0; i < a.size(); ++i) differing += m.program.pool.proved_equal(a[i], b[i]) ? 0 : 1;
  Dims symbols;
  for (std::size_t i = 0; i < differing; ++i) symbols.push_back(m.unbound());
  m.set(Key::symbols, symbols);
}
/// Counts down from a small number, and changes a second value in each iteration.
void while_loop(Make& m) {
  const Sizes s = m.any_shape();
  const DType dtype = plain(m);
  const std::int64_t rounds = m.in(-1, 4);
  m.node.inputs.push_back(m.b.constant(DType::i64, {}, &rounds));
  m.operand(dtype, s);
  const Dims shapes[] = {declared(m, s), declared(m, s)};
  RandomBody condition(m);
  const ValueId left = condition.input(DType::i64, {});
  condition.input(dtype, shapes[0]);
  condition.output(condition.b.expr("x > 0", {{"x", left}}, DType::i64, DType::boolean));
  RandomBody body(m);
  const ValueId before = body.input(DType::i64, {}), x = body.input(dtype, shapes[1]);
  body.output(body.b.expr("x - 1", {{"x", before}}, DType::i64));
  body.output(body.some(x));
  m.set(Key::carried, 2);
}
void scan_loop(Make& m) {
  const Sizes s = m.any_shape();
  Sizes rows = s;
  rows.insert(rows.begin(), m.in(0, 4));
  const DType dtype = plain(m);
  m.operand(dtype, s);
  m.operand(dtype, rows);
  const Dims shapes[] = {declared(m, s), declared(m, s)};
  RandomBody body(m);
  const ValueId carried = body.input(dtype, shapes[0]), row = body.input(dtype, shapes[1]);
  body.output(body.b.expr("a + b", {{"a", carried}, {"b", row}}, dtype));
  body.output(body.some(row));
  m.set(Key::carried, 1);
  m.set(Key::mapped, 1);
}
void map_loop(Make& m) {
  const Sizes s = m.any_shape();
  Sizes rows = s;
  rows.insert(rows.begin(), m.in(0, 4));
  const DType dtype = plain(m);
  m.operand(dtype, rows);
  const Dims shape = declared(m, s);
  RandomBody body(m);
  body.output(body.some(body.input(dtype, shape)));
  m.set(Key::mapped, 1);
}
void call(Make& m) {
  const Sizes s = m.any_shape();
  const DType dtype = plain(m);
  m.operand(dtype, s);
  const Dims shape = declared(m, s);
  RandomBody body(m);
  body.output(body.some(body.input(dtype, shape)));
}
/// A number read by the host, and a tensor of the same size.
void item(Make& m) {
  const Dim symbol = m.program.pool.symbol("n", m.in(-1, 0), m.pick<std::int64_t>({3, 100, INT64_MAX}));
  m.operand(m.pick({DType::i64, DType::i64, DType::i32, DType::boolean, DType::u8, DType::u64}), {});
  m.set(Key::symbols, symbol);
  m.b.add(m.node);
  m.node = {};
  m.node.op = Op::full;
  m.set(Key::sizes, m.pick<Dims>({{m.program.pool.mod(symbol, 7)},
                                  {m.program.pool.min(symbol, 9), 2},
                                  {m.program.pool.max(m.program.pool.min(symbol, 5), 0)}}));
  m.set(Key::value, 1);
  m.set(Key::dtype, DType::f32);
}
/// An output after a check: every program needs an output.
void add_output(Make& m) {
  m.b.function().outputs.push_back({FunctionOutput::Kind::tensor, m.b.scalar(1, DType::f32), "one"});
}
void assert_dim(Make& m) {
  const Dim d = m.size(m.in(-1, 3));
  m.set(Key::dim, m.pick({d, m.program.pool.ne(d, 3), m.program.pool.floordiv(Dim(7), d.is(0) ? Dim(1) : d)}));
  m.text(Key::text, "a size");
  add_output(m);
}
void assert_true(Make& m) {
  m.operand(DType::boolean, {});
  m.text(Key::text, "a value");
  add_output(m);
}
/// No library provides the op: prepare reports an error.
void custom(Make& m) {
  const Sizes s = m.any_shape();
  m.operand(m.any(), s);
  m.text(Key::name, "fuzz::unknown");
  m.text(Key::text, "x tensors 1\n\n");
  m.set(Key::dtype, m.any());
  m.set(Key::counts, static_cast<std::int64_t>(s.size()));
  m.set(Key::sizes, s);
}
void optim_hyper(Make& m, std::size_t count) {
  std::vector<double> hyper;
  for (std::size_t i = 0; i < count; ++i) hyper.push_back(m.chance(90) ? m.pick({0.0, 0.1, 0.9, 1e-8}) : m.number());
  m.numbers(Key::hyper, hyper);
}
/// A single parameter, as in archives without lists.
void optim_one(Make& m) {
  const Sizes s = m.any_shape();
  const std::int64_t kind = m.in(0, 3);
  const DType dtype = m.pick({DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16});
  for (int i = 0; i < 3; ++i) m.operand(dtype, s);
  m.optional(dtype, s, kind > 0 ? 100 : 10);
  m.optional(dtype, s, kind == 1 || kind == 2 ? 30 : 0);
  m.operand(m.pick({DType::f32, DType::f64}), {});
  m.optional(DType::f32, {}, 30);
  m.optional(DType::f32, {1}, 30);
  m.optional(DType::f32, {}, 30);
  optim_hyper(m, 5);
  m.set(Key::kind, kind);
  m.set(Key::mode, m.in(0, 3));
  m.set(Key::maximize, m.in(0, 1));
}
/// A list of a few parameters of any kind; sometimes with states of 8 bits, or with mismatched counts.
void optim(Make& m) {
  if (m.chance(30)) return optim_one(m);
  const std::int64_t n = m.in(1, 4);
  const OptimRecord& record = optim_record(static_cast<OptimKind>(m.in(0, kOptimKinds - 1)));
  const DType dtype = m.pick({DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16});
  const bool coded = record.codes != "---" && dtype != DType::f64 && m.chance(30);
  std::vector<Sizes> shapes;
  for (std::int64_t i = 0; i < n; ++i) shapes.push_back(coded ? Sizes{m.in(1, 3), kStateBlock} : m.any_shape());
  const DType state = coded ? DType::u8 : element_size(dtype) == 2 && m.chance(50) ? DType::f32 : dtype;
  const bool masters = element_size(dtype) == 2 && m.chance(30);
  const auto given = [&](int rule) { return rule > 0 || (rule == 0 && m.chance(50)); };
  const bool step = given(record.step), many = m.chance(30);
  Dims counts;
  const auto large = [&](bool there, DType t) {
    for (std::int64_t i = 0; there && i < n; ++i) m.operand(t, shapes[static_cast<std::size_t>(i)]);
    counts.push_back(Dim(there ? n : 0));
  };
  const auto numbers = [&](bool there, std::int64_t count) {
    for (std::int64_t i = 0; there && i < count; ++i) m.operand(DType::f32, {});
    counts.push_back(Dim(there ? count : 0));
  };
  large(true, dtype);
  large(true, dtype);
  large(given(record.m), state);
  large(given(record.v), state);
  large(given(record.third), state);
  numbers(step, many ? n : 1);
  for (int i = 0; i < 3; ++i) numbers(m.chance(30), 1);
  large(masters, DType::f32);
  numbers(given(record.product), many ? n : 1);
  for (OptimList list : kOptimCoded) {
    const bool there = coded && counts[static_cast<std::size_t>(list)] != Dim(0);
    for (std::int64_t i = 0; there && i < n; ++i) m.operand(DType::f32, {shapes[static_cast<std::size_t>(i)][0]});
    if (coded) counts.push_back(Dim(there ? n : 0));
  }
  if (m.chance(3)) counts[static_cast<std::size_t>(m.in(0, 10))] = Dim(m.in(0, 5));
  m.set(Key::counts, counts);
  optim_hyper(m, record.hyper_count());
  m.set(Key::kind, static_cast<std::int64_t>(record.kind));
  std::int64_t mode = record.modes & m.in(0, 15);
  if (step && m.chance(50)) mode |= kOptimAdvance;
  m.set(Key::mode, mode);
  m.set(Key::maximize, m.in(0, 1));
}
void collective(Make& m) {
  m.operand(m.real(), m.any_shape());
  m.set(Key::kind, m.in(0, 4));
  m.text(Key::text, m.pick({"sum", "avg", "max", "min", "product", "band", "bor"}));
  m.text(Key::name, "0");
  m.set(Key::groups, m.pick<std::int64_t>({0, 1, 1, 1, 2}));
  if (m.chance(20)) m.set(Key::k, m.in(0, 1));
}

void wait(Make& m) {
  const DType dtype = m.real();
  const auto shape = m.any_shape();
  m.operand(dtype, shape);
  if (m.chance(50)) m.operand(dtype, shape);
}
void exchange(Make& m) {  // the op reports the missing group
  m.operand(m.real(), m.any_shape());
  m.set(Key::counts, m.in(0, 1));
  m.set(Key::sizes, m.in(0, 2));
  m.set(Key::mapped, m.in(0, 3));
  m.text(Key::name, "0");
}

}  // namespace

void list_control(MakerTable& t) {
  const auto set = [&](Op op, Maker maker) { t[static_cast<std::size_t>(op)] = maker; };
  set(Op::cond, cond);
  set(Op::while_loop, while_loop);
  set(Op::scan_loop, scan_loop);
  set(Op::map_loop, map_loop);
  set(Op::call, call);
  set(Op::item, item);
  set(Op::assert_dim, assert_dim);
  set(Op::assert_true, assert_true);
  set(Op::custom, custom);
  set(Op::optim, optim);
  set(Op::collective, collective);
  set(Op::wait, wait);
  set(Op::exchange, exchange);
}

}  // namespace tern::fuzz
