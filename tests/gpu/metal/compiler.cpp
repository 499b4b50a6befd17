#include "tests/gpu/metal/compiler.h"

#include <cstdlib>
#include <exception>

#include "tests/gpu/metal/classes.h"
#include "tests/gpu/metal/foundation.h"
#include "tests/gpu/metal/system.h"
#include "tests/gpu/metal/translate.h"

namespace tern::emulator::metal {
namespace {

using MachineFunction = std::shared_ptr<tern::emulator::Function>;

struct CompileOptions : Object {
  CompileOptions();
  Object* init() { return this; }
  void set_version(std::uint64_t value) { version = value; }
  void set_fast_math(bool value) { fast_math = value; }
  // Since macOS 15.
  void set_math_mode(std::int64_t mode) {
    need_15();
    fast_math = mode != 0;  // MTLMathModeSafe
  }
  void set_functions(std::int64_t) { need_15(); }
  void need_15() const {
    if (system_version() < 15)
      fatal("%s: macOS %d does not have it", current_method(), static_cast<int>(system_version()));
  }

  std::uint64_t version = 0;
  bool fast_math = true;  // "The default is YES."
};

struct Library : Object {
  Library(int device, std::shared_ptr<Module> module);
  ~Library() { Machine::get().unload(handle); }
  Object* function(Object* name);

  std::uint64_t handle;
  std::shared_ptr<Module> module;
};

struct KernelFunction : Object {
  explicit KernelFunction(Ref<Library> library, MachineFunction function);
  Ref<Library> library;
  MachineFunction function;
};

Class& options_class() {
  static Class& type = make_class("MTLCompileOptions", destroy<CompileOptions>,
                                  {{"init", method<&CompileOptions::init>()},
                                   {"setLanguageVersion:", method<&CompileOptions::set_version>()},
                                   {"setFastMathEnabled:", method<&CompileOptions::set_fast_math>()},
                                   {"setMathMode:", method<&CompileOptions::set_math_mode>()},
                                   {"setMathFloatingPointFunctions:", method<&CompileOptions::set_functions>()}});
  return type;
}
CompileOptions::CompileOptions() : Object(options_class()) {}

Class& library_class() {
  static Class& type =
      make_class("MTLLibrary", destroy<Library>, {{"newFunctionWithName:", method<&Library::function>()}});
  return type;
}
Library::Library(int device, std::shared_ptr<Module> given) : Object(library_class()), module(std::move(given)) {
  handle = Machine::get().load(context_of(device), module);
}

Class& function_class() {
  static Class& type = make_class("MTLFunction", destroy<KernelFunction>, {});
  return type;
}
KernelFunction::KernelFunction(Ref<Library> from, MachineFunction given)
    : Object(function_class()), library(std::move(from)), function(std::move(given)) {}

// Null without a function of the name.
Object* Library::function(Object* name) {
  Machine& machine = Machine::get();
  try {
    MachineFunction found = machine.function(machine.function(handle, static_cast<String*>(name)->text));
    return std::make_unique<KernelFunction>(Ref(this), std::move(found)).release();
  } catch (const Failure&) {
    return nullptr;
  }
}

struct LibraryPipeline : Pipeline {
  LibraryPipeline(Ref<Library> from, MachineFunction given) : Pipeline(std::move(given)), library(std::move(from)) {
    module = library->module;
  }
  Ref<Library> library;  // a pipeline outlives its library
};

Class& pipeline_class() {
  static Class& type = make_class("MTLComputePipelineState", destroy<LibraryPipeline>,
                                  {{"maxTotalThreadsPerThreadgroup", method<&Pipeline::most_threads>()},
                                   {"threadExecutionWidth", method<&Pipeline::width>()}});
  return type;
}

Object* allocate_options(Object*, Selector) {
  const MethodCall call("alloc");
  return std::make_unique<CompileOptions>().release();
}

}  // namespace

Pipeline::Pipeline(MachineFunction given) : Object(pipeline_class()), function(std::move(given)) {}

Object* new_library(int device, const std::string& text, Object* options, Object** error) {
  const auto* given = static_cast<const CompileOptions*>(options);
  TranslateOptions translate;
  translate.fast_math = given == nullptr || given->fast_math;
  const char* flush = std::getenv("TERN_EMULATOR_FLUSH");
  translate.flush = flush != nullptr && *flush == '1';
  translate.include = TERN_METAL_PROJECT;
  translate.fibers = TERN_METAL_FIBERS;
  // MTLLanguageVersion3_0: sources without a version use the system's newest.
  constexpr std::uint64_t kVersion3 = 3 << 16;
  if (given != nullptr && given->version != 0 && given->version < kVersion3)
    fatal("the stand-in compiles Metal's language from version 3.0 on");
  if (fails(current_method())) {
    give_error(error, "the emulated compiler fails, as TERN_EMULATOR_FAIL asks");
    return nullptr;
  }
  try {
    return std::make_unique<Library>(device, open_module(library_of_metal(text, translate))).release();
  } catch (const std::exception& refused) {
    give_error(error, refused.what());
  } catch (const Failure& refused) {
    give_error(error, refused.why);
  }
  return nullptr;
}

Object* new_pipeline(Object* function, Object** error) {
  if (fails(current_method())) {
    give_error(error, "the emulated compiler fails, as TERN_EMULATOR_FAIL asks");
    return nullptr;
  }
  auto* made_of = static_cast<KernelFunction*>(function);
  return std::make_unique<LibraryPipeline>(made_of->library, made_of->function).release();
}

void add_compiler_classes() {
  add_class_object("MTLCompileOptions", {{"alloc", reinterpret_cast<Imp>(&allocate_options)}});
}

}  // namespace tern::emulator::metal
