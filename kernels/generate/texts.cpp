// Writes the texts of the portable kernels compiled with Tern, as C++: tern_generate_texts FOLDER PARTS LEVEL...
// FOLDER/texts_N.inc contain the texts, FOLDER/LEVEL_N.cpp compile each once for every instruction set, least first,
// and FOLDER/index.cpp is the runtime's list of texts. Cross builds run the program of another target: all output
// depends on the arguments alone.
#include <fmt/format.h>
#include <tern/error.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/generate/sample_node.h"
#include "kernels/generate/text_namespace.h"
#include "kernels/portable/compiled.h"
#include "kernels/portable/definitions.h"

namespace tern::portable {
// The generator itself has no compiled texts.
std::span<const CompiledText> compiled_texts() {
  return {};
}
}  // namespace tern::portable

namespace tern::generate {
namespace {

/// Records the texts to compile.
class Recorder : public portable::Launcher {
 public:
  const portable::Target& target() const override { return portable::kCompiledTarget; }
  portable::KernelHandle kernel(const std::string& key, const std::string& name,
                                const std::function<std::string()>& text) override {
    const portable::TextHash hash = portable::hash_of(key);
    if (!texts.contains(hash)) texts[hash] = {name, text()};
    return {};
  }
  void launch(portable::KernelHandle, std::span<const portable::LaunchArgument>, std::int64_t, std::uint32_t) override {
  }
  void copy(std::byte*, const std::byte*, std::uint64_t) override {}
  void upload(std::byte*, const void*, std::uint64_t) override {}
  void download(void*, const std::byte*, std::uint64_t) override {}
  std::unique_ptr<portable::Memory> allocate(std::uint64_t) override { return std::make_unique<portable::Memory>(); }
  std::byte* failure() override { return nullptr; }

  std::map<portable::TextHash, Text> texts;
};

/// Runs the node's family to create its launches: for all results, and for each subset of wanted results.
void record(const Sample& sample, Recorder& recorder) {
  SampleNode node(sample);
  const std::vector<TensorType> results = node.results();
  for (unsigned wanted = 1; wanted < 1u << results.size(); ++wanted) {
    std::vector<TensorView> out;
    for (std::size_t k = 0; k < results.size(); ++k)
      out.push_back((wanted >> k & 1) != 0 ? view_of(results[k]) : TensorView{});
    KernelCall call = node.call(out);
    call.launcher = &recorder;
    portable_kernels().kernels[static_cast<std::size_t>(sample.op)].prepare(call);
  }
}

void write(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << "// Made by kernels/generate/texts.cpp.\n" << content;
  if (!file.flush()) fail(ErrorCode::io, "cannot write " + path);
}

/// The source that declares the functions of a level and lists them.
std::string table_of(const std::string& level, const std::map<portable::TextHash, Text>& texts) {
  std::string declarations, table;
  std::size_t number = 0;
  for (const auto& [hash, t] : texts) {
    declarations +=
        fmt::format("namespace text_{} {{ void {}(const void* const*, long long, long long); }}\n", number, t.name);
    table +=
        fmt::format("    {{{{0x{:016x}u, 0x{:016x}u}}, {}::text_{}::{}}},\n", hash[0], hash[1], level, number, t.name);
    ++number;
  }
  return fmt::format("namespace {} {{\n{}}}\nstatic constexpr CompiledText k_{}[] = {{\n{}}};\n", level, declarations,
                     level, table);
}

void write_all(const std::map<portable::TextHash, Text>& texts, const std::string& folder, std::size_t parts,
               std::span<const std::string> levels) {
  std::vector<std::string> bodies(parts);
  std::size_t number = 0;
  for (const auto& [hash, t] : texts) {
    bodies[number % parts] += wrap_in_namespace(t, number);
    ++number;
  }
  std::string index =
      "#include \"dtypes/levels.h\"\n#include \"kernels/portable/compiled.h\"\n\nnamespace tern::portable {\n";
  std::string choice;
  for (const std::string& level : levels) {
    index += table_of(level, texts);
    choice = fmt::format("  if (cpu_features().has(CpuLevel::{})) return k_{};\n", level, level) + choice;
  }
  index += "std::span<const CompiledText> compiled_texts() {\n" + choice +
           "  return {};\n}\n\n}  // namespace tern::portable\n";
  write(folder + "/index.cpp", index);
  for (std::size_t i = 0; i < parts; ++i) {
    write(fmt::format("{}/texts_{}.inc", folder, i), kBeforeTexts + bodies[i]);
    for (const std::string& level : levels)
      write(
          fmt::format("{}/{}_{}.cpp", folder, level, i),
          fmt::format("#include <math.h>\nnamespace tern::portable::{} {{\n#include \"texts_{}.inc\"\n}}\n", level, i));
  }
}

}  // namespace
}  // namespace tern::generate

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: tern_generate_texts FOLDER PARTS LEVEL...\n", stderr);
    return 2;
  }
  try {
    tern::generate::Recorder recorder;
    for (const tern::generate::Sample& s : tern::generate::samples()) tern::generate::record(s, recorder);
    tern::generate::write_all(recorder.texts, argv[1], static_cast<std::size_t>(std::atoi(argv[2])),
                              std::vector<std::string>(argv + 3, argv + argc));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tern_generate_texts: %s\n", e.what());
    return 1;
  }
  return 0;
}
