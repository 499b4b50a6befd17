// Assembles the page and writes it as C++: tern_embed_page FOLDER OUTPUT. Style and script are inserted into the HTML:
// a single file is the whole page. Modules are joined in the order of their imports into a single module: their
// top-level names must differ (checked by tests/scripts/view.py).
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>

namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  return text;
}

/// Appends the modules imported by `name`, then `name` itself, unless `seen` has them. Removes import lines and the
/// word `export`.
void append_module(const fs::path& folder, const std::string& name, std::set<std::string>& visited,
                   std::string& script) {
  static const std::regex import_line(R"re(^import [^;]*from "\./([a-z_]+\.js)";\n)re", std::regex::multiline);
  static const std::regex export_word(R"re(^export (?=(const|let|function|class|async)))re", std::regex::multiline);
  if (!visited.insert(name).second) return;
  const std::string text = read_file(folder / name);
  for (std::sregex_iterator match(text.begin(), text.end(), import_line), end; match != end; ++match)
    append_module(folder, (*match)[1], visited, script);
  const std::string body = std::regex_replace(std::regex_replace(text, import_line, ""), export_word, "");
  script += "// " + name + "\n" + body;
}

std::string replace_placeholder(std::string text, const std::string& placeholder, const std::string& replacement) {
  const std::size_t position = text.find(placeholder);
  if (position == std::string::npos) throw std::runtime_error("page.html lacks " + placeholder);
  return text.replace(position, placeholder.size(), replacement);
}

/// The complete HTML. Every script in `folder` must be a module that main.js imports, directly or not.
std::string assemble_page(const fs::path& folder) {
  std::set<std::string> visited;
  std::string script;
  append_module(folder, "main.js", visited, script);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".js" && !visited.contains(name))
      throw std::runtime_error("nothing imports " + name);
  }
  return replace_placeholder(
      replace_placeholder(read_file(folder / "page.html"), "{{style}}", read_file(folder / "style.css")), "{{script}}",
      script);
}

/// Writes the bytes of `text` as an array, 32 per line. Escapes suit signed and unsigned char.
void write_source(const std::string& text, const fs::path& output) {
  std::ofstream file(output, std::ios::binary);
  file << "// Made from tools/view/page/ by tools/view/generate/embed.cpp.\n"
          "#include \"tools/view/embedded_page.h\"\n\nnamespace tern::view {\n\n"
       << fmt::format("const std::size_t kEmbeddedPageSize = {};\nconst char kEmbeddedPage[] = {{\n", text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    file << fmt::format("'\\x{:x}',{}", text[i] & 0xff, i % 32 == 31 ? "\n" : "");
  file << "};\n\n}  // namespace tern::view\n";
  if (!file.flush()) throw std::runtime_error(output.string() + " cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: tern_embed_page FOLDER OUTPUT\n", stderr);
    return 2;
  }
  try {
    write_source(assemble_page(argv[1]), argv[2]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tern_embed_page: %s\n", e.what());
    return 1;
  }
  return 0;
}
