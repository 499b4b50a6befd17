// Compiled kernels in an archive: kernels loaded by a device, and the fallback for all others.
#include <gtest/gtest.h>
#include <tern/error.h>
#include <tern/kernels.h>

#include <algorithm>
#include <cstring>

#include "exporter/constants.h"
#include "exporter/kernels/record.h"
#include "loader/hash.h"
#include "runtime/rehearse.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

/// A device for SPIR-V and OpenCL C that records its kernels.
struct RecordingDevice {
  std::uint64_t features = TERN_DEVICE_DOUBLE | TERN_DEVICE_SPIRV;
  bool refuses_spirv = false;
  const char* kernel_targets = "";
  std::vector<std::string> targets;                           ///< targets of precompiled sources
  std::vector<std::pair<std::int32_t, std::string>> sources;  ///< dialect and bytes
  std::int64_t modules = 0;
} recording_device;

template <class Handle>
tern_device_status create_handle(Handle* handle) {
  static char thing;
  *handle = reinterpret_cast<Handle>(&thing);
  return TERN_DEVICE_OK;
}
tern_device_status properties(std::int32_t, tern_device_properties* p) {
  p->dialect = TERN_DIALECT_OPENCL;
  p->features = recording_device.features;
  std::strncpy(p->kernel_targets, recording_device.kernel_targets, sizeof p->kernel_targets - 1);
  return TERN_DEVICE_OK;
}
tern_device_status module_load(std::int32_t, const tern_device_source* source, tern_device_module* module) {
  if (source->dialect == TERN_DIALECT_SPIRV && recording_device.refuses_spirv) return TERN_DEVICE_COMPILE;
  recording_device.sources.emplace_back(source->dialect, std::string(source->text, source->length));
  if (source->dialect == TERN_DIALECT_COMPILED) recording_device.targets.emplace_back(source->target);
  EXPECT_EQ(source->text[source->length], 0);
  ++recording_device.modules;
  return create_handle(module);
}
tern_device_status module_unload(std::int32_t, tern_device_module) {
  --recording_device.modules;
  return TERN_DEVICE_OK;
}
tern_device_status module_kernel(std::int32_t, tern_device_module, const char*, tern_device_kernel* kernel) {
  return create_handle(kernel);
}
tern_device_status launch(std::int32_t, tern_device_stream, tern_device_kernel, const tern_device_launch*) {
  return TERN_DEVICE_OK;
}
const char* last_message() {
  return "the driver takes no such module";
}
const void* no_extension(const char*, std::uint32_t) {
  return nullptr;
}

const Plugin& plugin() {
  static const auto& plugins = all_plugins();
  static const tern_device_plugin table = [] {
    tern_device_plugin t = *std::ranges::find(plugins, "plain", &Plugin::name)->table;
    t.last_message = last_message;
    t.properties = properties;
    t.module_load = module_load;
    t.module_unload = module_unload;
    t.module_kernel = module_kernel;
    t.launch = launch;
    t.get_extension = no_extension;
    return t;
  }();
  static const Plugin p{"", &table, "", 1};
  return p;
}

std::vector<std::byte> smallest_module(std::uint32_t ids) {
  const std::uint32_t words[] = {0x07230203, 0x00010000, 0, ids, 0, 3 << 16 | 14, 2, 2};
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

/// relu of n elements, and their sum: two kernels.
std::shared_ptr<Program> two_kernels() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {100});
  p.output(p.b().reduce(p.b().expr("where(x > 0, x, 0)", {{"x", x}}, DType::f32), "sum", {0}, false, DType::f32));
  return std::make_shared<Program>(std::move(p.program()));
}

/// The kernel sources of the program for the target; the sources named in `kept` become kernels of the program.
std::map<std::string, std::string> add_modules(Program& program, const std::string& kept,
                                               const char* target = "xpu:spirv") {
  auto texts = record_kernels(program, {"test", TERN_DIALECT_OPENCL, TERN_DEVICE_DOUBLE, 0}, {});
  std::uint32_t ids = 1;
  for (const auto& [text, name] : texts) {
    if (name.find(kept) == std::string::npos) continue;
    const Hash128 hash = hash_of(std::as_bytes(std::span(text)));
    program.kernels.push_back({name, target, hash.low, hash.high, add_storage(program, smallest_module(ids++))});
  }
  return texts;
}

class ArchivedKernelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    recording_device = RecordingDevice();
    unsetenv("TERN_NO_COMPILE");
  }
  void TearDown() override { unsetenv("TERN_NO_COMPILE"); }

  /// Loads all kernels of the program on a new device and returns their origins.
  std::vector<LoadedKernel> load(const std::shared_ptr<Program>& program, bool permitted = true) {
    PluginDevice device(plugin(), 0);
    PrepareOptions options;
    options.native_code = permitted;
    rehearse(*prepare_program(program, options, {.device = &device}), {});
    return device.loaded_kernels();
  }
  static std::size_t archived_count(const std::vector<LoadedKernel>& kernels) {
    return static_cast<std::size_t>(std::ranges::count(kernels, true, &LoadedKernel::from_archive));
  }
};

TEST_F(ArchivedKernelsTest, ADeviceIsGivenTheModuleOfTheText) {
  auto program = two_kernels();
  const std::size_t texts = add_modules(*program, "").size();
  ASSERT_GE(texts, 2u);
  const std::vector<LoadedKernel> kernels = load(program);
  EXPECT_EQ(kernels.size(), texts);
  EXPECT_EQ(archived_count(kernels), texts);
  ASSERT_EQ(recording_device.sources.size(), texts);
  for (const auto& [dialect, source] : recording_device.sources) {
    EXPECT_EQ(dialect, TERN_DIALECT_SPIRV);
    EXPECT_TRUE(std::ranges::any_of(program->kernels, [&, &bytes = source](const DeviceKernel& k) {
      const auto module = program->source->bytes(k.storage);
      return bytes.size() == module.size() && std::memcmp(bytes.data(), module.data(), bytes.size()) == 0;
    }));
  }
}

TEST_F(ArchivedKernelsTest, OthersAreCompiled) {
  auto program = two_kernels();
  const auto texts = add_modules(*program, "pointwise");
  ASSERT_EQ(program->kernels.size(), 1u);
  const std::vector<LoadedKernel> kernels = load(program);
  EXPECT_EQ(archived_count(kernels), 1u);
  for (const auto& [dialect, bytes] : recording_device.sources) {
    if (dialect == TERN_DIALECT_OPENCL) {
      EXPECT_TRUE(texts.contains(bytes));  // recorded earlier, without the device
    }
  }
}

TEST_F(ArchivedKernelsTest, NotWithoutPermission) {
  auto program = two_kernels();
  add_modules(*program, "");
  EXPECT_EQ(archived_count(load(program, false)), 0u);
}

TEST_F(ArchivedKernelsTest, NotOnADeviceThatTakesNone) {
  recording_device.features = TERN_DEVICE_DOUBLE;
  auto program = two_kernels();
  add_modules(*program, "");
  EXPECT_EQ(archived_count(load(program)), 0u);
}

TEST_F(ArchivedKernelsTest, TheFirstTargetThatTheArchiveHas) {
  recording_device.features = TERN_DEVICE_DOUBLE;
  recording_device.kernel_targets = "test:best test:other";
  auto program = two_kernels();
  add_modules(*program, "", "test:other");
  add_modules(*program, "pointwise", "test:best");
  add_modules(*program, "", "test:unknown");
  const std::vector<LoadedKernel> kernels = load(program);
  EXPECT_EQ(archived_count(kernels), kernels.size());
  std::size_t best = 0;
  for (const LoadedKernel& k : kernels) best += k.name.find("pointwise") != std::string::npos ? 1 : 0;
  EXPECT_GT(best, 0u);
  EXPECT_LT(best, kernels.size());
  EXPECT_EQ(std::ranges::count(recording_device.targets, "test:best"), static_cast<std::ptrdiff_t>(best));
  EXPECT_EQ(std::ranges::count(recording_device.targets, "test:other"),
            static_cast<std::ptrdiff_t>(kernels.size() - best));
}

TEST_F(ArchivedKernelsTest, ADriverThatRefusesAModuleCompilesTheText) {
  recording_device.refuses_spirv = true;
  auto program = two_kernels();
  add_modules(*program, "");
  const std::vector<LoadedKernel> kernels = load(program);
  EXPECT_EQ(archived_count(kernels), 0u);
  for (const LoadedKernel& k : kernels) EXPECT_NE(k.refused.find("takes no such module"), std::string::npos);
}

TEST_F(ArchivedKernelsTest, AModuleThatIsNoneIsTold) {
  auto program = two_kernels();
  add_modules(*program, "");
  for (DeviceKernel& k : program->kernels) k.storage = add_storage(*program, std::vector<std::byte>(64));
  try {
    load(program);
    FAIL() << "64 zeros were loaded";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_file);
    EXPECT_NE(std::string(e.what()).find("SPIR-V"), std::string::npos) << e.what();
  }
}

TEST_F(ArchivedKernelsTest, WhereNothingMayBeCompiledAllHaveToBeThere) {
  setenv("TERN_NO_COMPILE", "1", 1);
  auto program = two_kernels();
  add_modules(*program, "");
  EXPECT_EQ(archived_count(load(program)), program->kernels.size());
  std::erase_if(program->kernels, [](const DeviceKernel& k) { return k.name == "tern_pointwise"; });
  recording_device.sources.clear();
  try {
    load(program);
    FAIL() << "a kernel was compiled";
  } catch (const Error& e) {
    const std::string message = e.what();
    for (const char* part : {"tern_pointwise", "TERN_NO_COMPILE", "--target xpu:spirv", "pointwise"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  for (const auto& [dialect, bytes] : recording_device.sources) EXPECT_EQ(dialect, TERN_DIALECT_SPIRV);
}

TEST_F(ArchivedKernelsTest, NobodysKernelsOutliveTheirProgram) {
  PluginDevice device(plugin(), 0);
  PrepareOptions options;
  options.native_code = true;
  {
    auto program = two_kernels();
    add_modules(*program, "");
    prepare_program(program, options, {.device = &device});  // and gone
  }
  rehearse(*prepare_program(two_kernels(), options, {.device = &device}), {});
  EXPECT_EQ(archived_count(device.loaded_kernels()), 0u);
}

}  // namespace
}  // namespace tern
