#include "kernels/generate/samples.h"

#include <limits>

#include "schema/kinds.h"
#include "schema/window_kinds.h"

namespace tern::generate {
namespace {

using enum DType;

constexpr DType kReal[] = {f32, f64}, kNumbers[] = {f32, f64, c64, c128};

Attr number(AttrKey key, double value) {
  return {key, std::vector<double>{value}};
}
Attr text(AttrKey key, const char* value) {
  return {key, std::string(value)};
}

void add_optim(std::vector<Sample>& s) {
  for (DType t : kReal) {
    const Operand x{t, {4}}, one{f64, {}}, none;
    for (OptimKind kind : {OptimKind::sgd, OptimKind::adam, OptimKind::adagrad}) {
      const bool adam = kind == OptimKind::adam;
      s.push_back({Op::optim,
                   {x, x, kind == OptimKind::adagrad ? none : x, kind == OptimKind::sgd ? none : x, none,
                    kind == OptimKind::sgd ? none : one, none, none, none},
                   {integer(AttrKey::kind, kind),
                    {AttrKey::hyper, std::vector<double>{0.1, adam ? 0.9 : 0.0, adam ? 0.99 : 0.0, 0.0, 1e-8}}}});
    }
  }
}

void add_rnn(std::vector<Sample>& s) {
  const std::int64_t n = 4;
  for (DType t : kReal) {
    for (RnnKind kind : {RnnKind::lstm, RnnKind::gru, RnnKind::tanh, RnnKind::relu}) {
      const bool lstm = kind == RnnKind::lstm;
      const std::int64_t gates = n * (lstm ? 4 : kind == RnnKind::gru ? 3 : 1);
      Sample rnn{
          Op::rnn, {{t, {2, 2, n}}, {t, {1, 2, n}}, {}}, {integer(AttrKey::kind, kind), integer(AttrKey::layers, 1)}};
      if (lstm) rnn.inputs[2] = {t, {1, 2, n}};
      rnn.inputs.insert(rnn.inputs.end(), {{t, {gates, n}}, {t, {gates, n}}, {t, {gates}}, {t, {gates}}, {}});
      s.push_back(rnn);
      if (!lstm) continue;
      // With a projection of the state to another size.
      rnn.inputs[1].sizes = {1, 2, 3};
      rnn.inputs[4].sizes = {gates, 3};
      rnn.inputs[7] = {t, {3, n}};
      s.push_back(rnn);
    }
  }
}

void add_sums(std::vector<Sample>& s) {
  for (DType t : kNumbers) {
    for (ScanKind kind : {ScanKind::cumsum, ScanKind::cumprod, ScanKind::logcumsumexp})
      s.push_back({Op::scan, {{t, {4}}}, {integer(AttrKey::axis, 0), integer(AttrKey::kind, kind)}});
  }
  for (DType t : kReal) {
    for (ScatterKind kind : {ScatterKind::sum, ScatterKind::prod, ScatterKind::max, ScatterKind::min})
      s.push_back(
          {Op::segment_reduce, {{t, {4}}, {i64, {2}}}, {integer(AttrKey::axis, 0), integer(AttrKey::kind, kind)}});
  }
  for (DType t : {f32, f64, f16, bf16}) {
    for (BagKind kind : {BagKind::sum, BagKind::mean, BagKind::max}) {
      s.push_back({Op::embedding_bag,
                   {{t, {4, 4}}, {i64, {4}}, {i64, {2}}, {}},
                   {integer(AttrKey::kind, kind), integer(AttrKey::padding_index, -1)}});
    }
  }
}

void add_distances(std::vector<Sample>& s) {
  for (DType t : kReal) {
    for (double p : {0.0, 1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()})
      s.push_back({Op::cdist, {{t, {3, 4}}, {t, {3, 4}}}, {number(AttrKey::p, p)}});
  }
}

void add_histograms(std::vector<Sample>& s) {
  for (DType t : kReal) {
    for (const Operand& edges : {Operand{}, Operand{t, {4}}}) {
      for (const Operand& weights : {Operand{}, Operand{t, {4}}}) {
        for (int corrected : {0, 1}) {
          Sample h{Op::histogram, {{t, {4}}, edges, weights}, {integer(AttrKey::full, corrected)}};
          if (edges.dtype == invalid) h.attrs.push_back(integer(AttrKey::bins, 3));
          if (edges.dtype == invalid) h.attrs.push_back({AttrKey::range, std::vector<double>{0, 0}});
          s.push_back(h);
        }
      }
    }
  }
}

void add_sampling(std::vector<Sample>& s) {
  for (DType t : {f32, f64, f16, bf16}) {
    for (GridMode mode : {GridMode::linear, GridMode::nearest, GridMode::cubic})
      s.push_back({Op::grid_sample,
                   {{t, {1, 2, 3, 3}}, {t, {1, 2, 2, 2}}},
                   {integer(AttrKey::mode, mode), integer(AttrKey::kind, 0)}});
  }
  for (DType t : kReal) {
    s.push_back(
        {Op::roi_align, {{t, {1, 4, 3, 3}}, {t, {2, 5}}}, {{AttrKey::sizes, Dims{2, 2}}, integer(AttrKey::kind, 0)}});
  }
}

void add_random(std::vector<Sample>& s) {
  const auto add = [&](DType t, const char* kind, std::vector<Operand> in) {
    s.push_back({Op::random,
                 std::move(in),
                 {text(AttrKey::kind, kind), integer(AttrKey::dtype, t), {AttrKey::sizes, Dims{4}}}});
  };
  for (DType t : kReal) {
    add(t, "normal", {});
    add(t, "exponential", {});
    add(t, "poisson", {{t, {4}}});
    add(t, "gamma", {{t, {4}}});
    add(t, "binomial", {{t, {4}}, {t, {4}}});
  }
}

}  // namespace

std::vector<Sample> samples() {
  std::vector<Sample> s;
  add_linalg_samples(s);
  add_optim(s);
  add_rnn(s);
  add_sums(s);
  add_distances(s);
  add_histograms(s);
  add_sampling(s);
  add_random(s);
  return s;
}

}  // namespace tern::generate
