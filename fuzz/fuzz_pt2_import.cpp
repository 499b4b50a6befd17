// Arbitrary text, imported as the JSON of a program without weights: an Error, or a program.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/importer.h"
#include "exporter/pt2/parse.h"
#include "tests/exporter/pt2_zip_writer.h"

namespace {

/// The parameters and buffers of the programs in the corpus; all share a record.
constexpr struct {
  const char *name, *sizes;
} kWeights[] = {{"a.weight", "8,8"},     {"a.bias", "8"},     {"b.weight", "8,8"},     {"b.bias", "8"},
                {"c.weight_ih", "12,4"}, {"c.bias_ih", "12"}, {"c.weight_hh", "12,4"}, {"c.bias_hh", "12"},
                {"q.weight", "32,32"},   {"q.bias", "32"},    {"k.weight", "32,32"},   {"k.bias", "32"},
                {"v.weight", "32,32"},   {"v.bias", "32"},    {"ck", "1,4,16,8"},      {"cv", "1,4,16,8"}};

std::string list(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t v : values) text += (text.empty() ? "" : ", ") + ("{\"as_int\": " + std::to_string(v) + "}");
  return "[" + text + "]";
}

std::string weights_config() {
  std::string entries;
  for (const auto& w : kWeights) {
    std::vector<std::int64_t> sizes, strides;
    for (std::istringstream in(w.sizes); in;) {
      std::string size;
      if (std::getline(in, size, ',')) sizes.push_back(std::stoll(size));
    }
    strides.assign(sizes.size(), 1);
    for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    entries +=
        (entries.empty() ? "" : ", ") + ("\"" + std::string(w.name)) +
        R"(": {"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, )" +
        R"("requires_grad": false, "device": {"type": "cpu", "index": null}, "storage_offset": {"as_int": 0}, )" +
        R"("layout": 7, "sizes": )" + list(sizes) + R"(, "strides": )" + list(strides) + "}}";
  }
  return R"({"config": {)" + entries + "}}";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern::pt2::test;
  // An archive for the program's weights. The program itself comes from the input.
  static const std::string archive = write_zip({{"t/data/weights/weight_0", std::string(4096, '\1')},
                                                {"t/data/weights/model_weights_config.json", weights_config()},
                                                {"t/data/constants/model_constants_config.json", R"({"config": {}})"},
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
