#include "bench/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "dtypes/convert.h"
#include "exporter/quantize/matrix.h"
#include "threads/parallel.h"

namespace tern::bench {
namespace {

constexpr std::int64_t kRows = 16384, kColumns = 4096;
const int kTurns = std::getenv("TURNS") ? 40 : 9;

template <class F>
double ms_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

RawBytes random_weight(DType type) {
  std::vector<float> some(1 << 20);
  std::mt19937 engine(1);
  std::normal_distribution<float> draw(0, .02F);
  for (float& x : some) x = draw(engine);
  const auto count = static_cast<std::int64_t>(some.size());
  RawBytes bytes(static_cast<std::size_t>(kRows * kColumns * element_size(type)));
  for (std::int64_t i = 0; i < kRows * kColumns; i += count)
    convert(some.data(), DType::f32, bytes.data() + i * element_size(type), type, count);
  return bytes;
}

void copy(const RawBytes& from, std::byte* to) {
  constexpr std::int64_t kPart = 1 << 20;
  parallel_for(static_cast<std::int64_t>(from.size()) / kPart, 1, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin * kPart, from.data() + begin * kPart, static_cast<std::size_t>((end - begin) * kPart));
  });
}

}  // namespace

void measure_quantize() {
  fmt::print("{} x {} numbers, {} threads, medians of {} turns\n{:12} {:9} {:>8} {:>12} {:>12}\n", kRows, kColumns,
             Threads::current().count(), kTurns, "format", "weight", "ms", "of copying", "to new");
  for (const DType type : {DType::f32, DType::bf16}) {
    const RawBytes weight = random_weight(type);
    RawBytes other(weight.size());
    copy(weight, other.data());  // its pages are there
    std::map<std::string_view, std::vector<double>> times;
    std::vector<double> copies, copies_to_new;
    for (int i = 0; i < kTurns; ++i) {
      copies.push_back(ms_of([&] { copy(weight, other.data()); }));
      copies_to_new.push_back(ms_of([&] {
        RawBytes fresh(weight.size());
        copy(weight, fresh.data());
      }));
      for (const quantize::Format& f : quantize::formats()) {
        const quantize::FloatMatrix m{
            .at = weight.data(), .type = type, .rows = kRows, .columns = kColumns, .row_stride = kColumns};
        const quantize::Recipe recipe{.format = &f, .block = f.block};
        times[f.name].push_back(ms_of([&] { quantize::quantize(m, recipe); }));
      }
    }
    const double copied = median(copies), copied_to_new = median(copies_to_new);
    fmt::print("copying {}: {:.1f} ms, into memory that the system has to clear first {:.1f} ms\n", name_of(type),
               copied, copied_to_new);
    for (const quantize::Format& f : quantize::formats()) {
      const double ms = median(times[f.name]);
      fmt::print("{:12} {:9} {:8.1f} {:10.0f} % {:10.0f} %\n", f.name, name_of(type), ms, 100 * copied / ms,
                 100 * copied_to_new / ms);
    }
  }
}

}  // namespace tern::bench
