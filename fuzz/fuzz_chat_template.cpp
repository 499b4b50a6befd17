// A chat template: compiling and rendering end with a prompt or an Error, within their budgets.
#include <tern/text.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto chat =
        tern::ChatTemplate::from_text({reinterpret_cast<const char*>(data), size}, R"({"bos_token": "<s>"})");
    tern::ChatOptions options;
    options.tools =
        R"([{"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"type": "string"}}}}}])";
    options.time = 0;
    chat.render(
        R"([{"role": "system", "content": "S"}, {"role": "user", "content": "a b"}, {"role": "assistant", "content": "c"}])",
        options);
  } catch (const tern::Error&) {
  }
  return 0;
}
