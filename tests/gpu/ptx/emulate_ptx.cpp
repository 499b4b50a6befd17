// emulate_ptx [--compile] FILE...: translates PTX; without --compile prints the C of a single file.
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/gpu/ptx/translate.h"

int main(int count, char** arguments) {
  const bool compile = count > 1 && std::strcmp(arguments[1], "--compile") == 0;
  int failed = 0;
  for (int i = compile ? 2 : 1; i < count; ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    const std::string ptx{std::istreambuf_iterator<char>(file), {}};
    try {
      const std::string c = tern::emulated::to_c(ptx);
      if (compile)
        std::printf("%s\n", tern::emulated::compile_ptx_c(c).c_str());
      else if (count == 2)
        std::fputs(c.c_str(), stdout);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", arguments[i], error.what());
      ++failed;
    }
  }
  std::fprintf(stderr, "%d files, %d failed\n", count - (compile ? 2 : 1), failed);
  return failed != 0;
}
