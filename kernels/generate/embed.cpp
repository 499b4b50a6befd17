// Writes the files FOLDER/*.inc as a compressed string in C++: tern_embed_texts FOLDER OUTPUT. Compression reduces the
// texts to a fifth; they are part of every library and rarely read.
#include <fmt/format.h>
#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

namespace {

constexpr int kLevel = 19;  // zstd level: slow compression, same decompression speed

std::map<std::string, std::string> read_files(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".inc") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().stem().string()] = {std::istreambuf_iterator<char>(in), {}};
    if (!in) throw std::runtime_error(entry.path().string() + " cannot be read");
  }
  return files;
}

std::string compressed(const std::string& text) {
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), kLevel);
  if (ZSTD_isError(size) != 0) throw std::runtime_error(ZSTD_getErrorName(size));
  bytes.resize(size);
  return bytes;
}

void write(const std::map<std::string, std::string>& files, const std::filesystem::path& output) {
  std::string all, table, bytes;
  for (const auto& [name, text] : files) {
    table += fmt::format("    {{\"{}\", {}, {}}},\n", name, all.size(), text.size());
    all += text;
  }
  const std::string small = compressed(all);
  for (std::size_t i = 0; i < small.size(); ++i)
    bytes += fmt::format("{},{}", static_cast<unsigned char>(small[i]), i % 32 == 31 ? "\n" : "");
  std::ofstream out(output, std::ios::binary);
  out << "// Made from kernels/portable/text/ by kernels/generate/embed.cpp.\n"
         "#include \"kernels/portable/text_file.h\"\n\nnamespace tern::portable {\n\n"
      << fmt::format("const EmbeddedText kEmbeddedTexts[{}] = {{\n{}}};\n", files.size(), table)
      << fmt::format("const std::size_t kEmbeddedTextCount = {}, kEmbeddedSize = {}, kCompressedSize = {};\n",
                     files.size(), all.size(), small.size())
      << "const unsigned char kCompressedTexts[] = {\n"
      << bytes << "};\n\n}  // namespace tern::portable\n";
  if (!out.flush()) throw std::runtime_error(output.string() + " cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: tern_embed_texts FOLDER OUTPUT\n", stderr);
    return 2;
  }
  try {
    write(read_files(argv[1]), argv[2]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tern_embed_texts: %s\n", e.what());
    return 1;
  }
  return 0;
}
