#include "tests/gpu/machine/counters.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/gpu/machine/settings.h"
#include "tests/gpu/machine/status.h"

namespace tern::emulator {
namespace {

constexpr uint64_t kSmall = 16;

struct Figure {
  const char* name;
  uint64_t tern_emulator_figures::*value;
};
constexpr Figure kFigures[] = {
    {"calls", &tern_emulator_figures::calls},
    {"refused", &tern_emulator_figures::refused},
    {"mistakes", &tern_emulator_figures::mistakes},
    {"launches", &tern_emulator_figures::launches},
    {"bytes_in", &tern_emulator_figures::bytes_in},
    {"bytes_out", &tern_emulator_figures::bytes_out},
    {"bytes_over", &tern_emulator_figures::bytes_over},
    {"bytes_set", &tern_emulator_figures::bytes_set},
    {"copies_in", &tern_emulator_figures::copies_in},
    {"copies_out", &tern_emulator_figures::copies_out},
    {"small_copies_in", &tern_emulator_figures::small_copies_in},
    {"small_copies_out", &tern_emulator_figures::small_copies_out},
    {"peak_memory", &tern_emulator_figures::peak_memory},
    {"peak_pinned", &tern_emulator_figures::peak_pinned},
    {"queued", &tern_emulator_figures::queued},
};
// Objects not yet destroyed.
constexpr Figure kAlive[] = {
    {"allocations", &tern_emulator_figures::allocations},
    {"pinned_allocations", &tern_emulator_figures::pinned_allocations},
    {"memory_objects", &tern_emulator_figures::memory_objects},
    {"mappings", &tern_emulator_figures::mappings},
    {"reservations", &tern_emulator_figures::reservations},
    {"contexts", &tern_emulator_figures::contexts},
    {"streams", &tern_emulator_figures::streams},
    {"events", &tern_emulator_figures::events},
    {"modules", &tern_emulator_figures::modules},
    {"graphs", &tern_emulator_figures::graphs},
    {"executables", &tern_emulator_figures::executables},
};

uint64_t value(const std::map<std::string, uint64_t>& map, const std::string& key) {
  auto at = map.find(key);
  return at == map.end() ? 0 : at->second;
}

// Names of kernels are identifiers; nothing has to be escaped.
std::string object(const std::map<std::string, uint64_t>& map) {
  std::ostringstream out;
  out << "{";
  const char* comma = "";
  for (const auto& [key, count] : map) {
    out << comma << "\"" << key << "\": " << count;
    comma = ", ";
  }
  out << "}";
  return out.str();
}

}  // namespace

Counters::Counters() {
  std::istringstream list(settings().fail);
  for (std::string entry; std::getline(list, entry, ',');) {
    const size_t colon = entry.find(':');
    const uint64_t n = colon == std::string::npos ? 0 : std::strtoull(entry.c_str() + colon + 1, nullptr, 10);
    if (n == 0) fatal("TERN_EMULATOR_FAIL has '%s'; it has to be like cuMemAlloc_v2:3", entry.c_str());
    fail_[entry.substr(0, colon)] = n;
  }
}

bool Counters::call(const char* function) {
  ++figures.calls;
  ++calls_[function];
  auto at = fail_.find(function);
  if (at == fail_.end() || --at->second != 0) return false;
  fail_.erase(at);
  return true;
}

void Counters::fail(const std::string& function, uint64_t n) {
  if (n == 0) {
    fail_.erase(function);
  } else {
    fail_[function] = n;
  }
}

void Counters::refused(const char* function, bool mistake) {
  ++figures.refused;
  ++refused_[function];
  if (mistake) ++figures.mistakes;
}

void Counters::launch(const std::string& kernel) {
  ++figures.launches;
  ++launches_[kernel];
}

void Counters::copy_in(uint64_t bytes) {
  ++figures.copies_in;
  figures.bytes_in += bytes;
  if (bytes <= kSmall) ++figures.small_copies_in;
}

void Counters::copy_out(uint64_t bytes) {
  ++figures.copies_out;
  figures.bytes_out += bytes;
  if (bytes <= kSmall) ++figures.small_copies_out;
}

uint64_t Counters::calls(const std::string& function) const {
  return value(calls_, function);
}
uint64_t Counters::launches(const std::string& kernel) const {
  return value(launches_, kernel);
}

std::string Counters::json() const {
  std::ostringstream out;
  out << "{\n";
  for (const Figure& figure : kFigures) out << "  \"" << figure.name << "\": " << figures.*figure.value << ",\n";
  std::map<std::string, uint64_t> alive;
  for (const Figure& figure : kAlive) {
    if (figures.*figure.value != 0) alive[figure.name] = figures.*figure.value;
  }
  out << "  \"leaks\": " << object(alive) << ",\n";
  out << "  \"leaked_with_context\": " << object(leaked) << ",\n";
  out << "  \"calls_by_name\": " << object(calls_) << ",\n";
  out << "  \"refused_by_name\": " << object(refused_) << ",\n";
  out << "  \"launches_by_kernel\": " << object(launches_) << "\n}\n";
  return out.str();
}

void write_report(const Counters& counters, const std::string& report) {
  const std::string& name = settings().report;
  if (name.empty() || (counters.figures.launches == 0 && std::ifstream(name).good())) return;
  std::ofstream file(name);
  file << report;
  if (!file.flush()) std::fprintf(stderr, "emulated GPU: cannot write %s\n", name.c_str());
}

}  // namespace tern::emulator
