// Any text, imported as the JSON of a program without weights: refused with an Error, or a program comes out.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "exporter/importer.h"
#include "exporter/pt2/parse.h"
#include "tests/exporter/pt2_zip_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern::pt2::test;
  // An archive for the weights that the program may name; its program is another.
  static const std::string archive = write_zip({{"t/data/weights/weight_0", std::string(256, '\1')},
                                                {"t/models/model.json", "{}"},
                                                {"t/archive_format", "pt2"},
                                                {"t/archive_version", "0"},
                                                {"t/.data/version", "6\n"},
                                                {"t/byteorder", "little"}});
  static const auto container = tern::pt2::Container::borrow(as_bytes(archive), "fuzz");
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto model = tern::pt2::parse_program_json(text, "fuzz");
    tern::import_pt2(model, container);
  } catch (const tern::Error&) {
  }
  return 0;
}
