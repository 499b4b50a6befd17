// Programs quantized before a run: results stay, and the export in two steps is equal.
#include "tools/quantize/float_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "exporter/archive_writer.h"
#include "tests/tools/support.h"
#include "tools/quantize/layers.h"
#include "tools/quantize/outputs.h"
#include "tools/quantize/samples.h"

namespace tern {
namespace {

const std::string kFolder = TERN_SOURCE_DIR "/tests/data/calibrate/";
const std::string kModel = kFolder + "blocks.pt2", kSamples = kFolder + "samples.safetensors";

QuantizeRule rule(std::string_view format, std::string pattern = {}) {
  const quantize::Format* const f = quantize::find_format(format);
  return {{f, f->block}, std::move(pattern)};
}

ImportOptions options_of(std::vector<QuantizeRule> rules, bool store) {
  ImportOptions options;
  options.quantize = std::move(rules);
  options.store_weights = store;
  return options;
}

FloatProgram float_program(const ImportOptions& options = options_of({}, false)) {
  return {std::make_shared<const Program>(import_pt2(kModel, options)), options, ""};
}

TEST(FloatProgram, StoringWeightsLaterGivesTheSameArchive) {
  for (const std::vector<QuantizeRule>& rules :
       {std::vector<QuantizeRule>{}, {rule("int8")}, {rule("mxfp4"), rule("int4", "head")}}) {
    const ImportOptions options = options_of(rules, false);
    Program late = import_pt2(kModel, options);
    const FloatProgram floats(std::make_shared<const Program>(late), options, "");
    const Calls calls = read_samples(floats, {kSamples});
    const OutputErrors outputs(floats.reference(), calls);
    (void)outputs.measure(floats.exported(choices_of(floats.quantized_by(rules))));  // must change nothing
    store_weights(late, options);
    EXPECT_EQ(archive_bytes(late), archive_bytes(import_pt2(kModel, options_of(rules, true))));
  }
}

TEST(FloatProgram, QuantizedAndExportedHaveTheSameErrors) {
  const FloatProgram floats = float_program();
  const Calls calls = read_samples(floats, {kSamples});
  ASSERT_EQ(calls.size(), 3u);
  const OutputErrors outputs(floats.reference(), calls);
  const QuantizeChoices choices = choices_of(floats.quantized_by({rule("int4")}));
  EXPECT_EQ(choices.size(), 6u);
  const double quantized = worst_sqnr(outputs.measure(floats.quantized(choices)));
  EXPECT_NEAR(worst_sqnr(outputs.measure(floats.exported(choices))), quantized, 1e-3);
  EXPECT_NEAR(worst_noise(outputs.measure(floats.quantized(choices))), std::pow(10, -quantized / 10), 1e-9);
}

TEST(FloatProgram, WithoutChoicesThereIsNoError) {
  const FloatProgram floats = float_program();
  const Calls calls = read_samples(floats, {kSamples});
  const OutputErrors outputs(floats.reference(), calls);
  EXPECT_EQ(worst_sqnr(outputs.measure(floats.quantized({}))), std::numeric_limits<double>::infinity());
  EXPECT_EQ(worst_noise(outputs.measure(floats.reference())), 0);
}

TEST(FloatProgram, PrecisionAddsToTheErrorOfTheExport) {
  ImportOptions options = options_of({}, false);
  options.precision = DType::f16;
  options.full_precision_nodes = {"head"};  // matches only in the whole program
  const FloatProgram floats = float_program(options);
  const Calls calls = read_samples(floats, {kSamples});
  const OutputErrors outputs(floats.reference(), calls);
  const double sqnr = worst_sqnr(outputs.measure(floats.exported({})));
  EXPECT_GT(sqnr, 55);  // half a unit of 11 bits is 68 dB below a weight
  EXPECT_LT(sqnr, 90);
}

TEST(LayerErrors, OfLayersThatAreQuantizedAlone) {
  const FloatProgram floats = float_program();
  const Calls calls = read_samples(floats, {kSamples});
  const QuantizeReport report = floats.quantized_by({rule("int8", "blocks.1.*")});
  const std::vector<LayerError> layers = layer_errors(floats, report, calls, {});
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[1].name, "blocks.1.down");
  // The first layer reads exact values.
  EXPECT_EQ(layers[0].isolated->sqnr(), layers[0].accumulated->sqnr());
  EXPECT_GT(layers[1].isolated->sqnr(), layers[1].accumulated->sqnr());
}

}  // namespace
}  // namespace tern
