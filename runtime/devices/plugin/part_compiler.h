// Parts of a program compiled by a plugin's device ("partition" of tern/device.h).
#pragma once

#include "runtime/devices/part_compiler.h"

namespace tern {

class PluginDevice;

class PluginParts : public PartCompiler {
 public:
  explicit PluginParts(PluginDevice& device) : device_(device) {}
  bool takes_microscaled() const override;
  std::vector<std::int32_t> choose(const PartRequest& request) override;
  std::unique_ptr<portable::OwnKernel> compile(const PartRequest& request) override;

 private:
  PluginDevice& device_;
};

}  // namespace tern
