// Convolutions of torchvision's models for images of 224 x 224, padded so that the window's centre visits each pixel.
#pragma once

#include <cstdint>

namespace tern::gpu {

struct ConvolutionSizes {
  const char* model;
  std::int64_t channels, side, features, window, stride, groups;
};

constexpr ConvolutionSizes kConvolutions[] = {
    {"resnet50", 3, 224, 64, 7, 2, 1},
    {"resnet50", 64, 56, 64, 1, 1, 1},
    {"resnet50", 64, 56, 64, 3, 1, 1},
    {"resnet50", 64, 56, 256, 1, 1, 1},
    {"resnet50", 256, 56, 64, 1, 1, 1},
    {"resnet50", 256, 56, 128, 1, 1, 1},
    {"resnet50", 128, 56, 128, 3, 2, 1},
    {"resnet50", 128, 28, 512, 1, 1, 1},
    {"resnet50", 256, 56, 512, 1, 2, 1},
    {"resnet50", 512, 28, 128, 1, 1, 1},
    {"resnet50", 128, 28, 128, 3, 1, 1},
    {"resnet50", 512, 28, 256, 1, 1, 1},
    {"resnet50", 256, 28, 256, 3, 2, 1},
    {"resnet50", 256, 14, 1024, 1, 1, 1},
    {"resnet50", 512, 28, 1024, 1, 2, 1},
    {"resnet50", 1024, 14, 256, 1, 1, 1},
    {"resnet50", 256, 14, 256, 3, 1, 1},
    {"resnet50", 1024, 14, 512, 1, 1, 1},
    {"resnet50", 512, 14, 512, 3, 2, 1},
    {"resnet50", 512, 7, 2048, 1, 1, 1},
    {"resnet50", 1024, 14, 2048, 1, 2, 1},
    {"resnet50", 2048, 7, 512, 1, 1, 1},
    {"resnet50", 512, 7, 512, 3, 1, 1},
    {"mobilenet_v3_large", 3, 224, 16, 3, 2, 1},
    {"mobilenet_v3_large", 16, 112, 16, 3, 1, 16},
    {"mobilenet_v3_large", 16, 112, 64, 1, 1, 1},
    {"mobilenet_v3_large", 64, 112, 64, 3, 2, 64},
    {"mobilenet_v3_large", 72, 56, 72, 5, 2, 72},
    {"mobilenet_v3_large", 120, 28, 120, 5, 1, 120},
    {"mobilenet_v3_large", 240, 28, 240, 3, 2, 240},
    {"mobilenet_v3_large", 184, 14, 184, 3, 1, 184},
    {"mobilenet_v3_large", 672, 14, 672, 3, 1, 672},
    {"mobilenet_v3_large", 672, 14, 112, 1, 1, 1},
    {"mobilenet_v3_large", 960, 7, 960, 5, 1, 960},
    {"mobilenet_v3_large", 960, 7, 160, 1, 1, 1},
    {"mobilenet_v3_large", 960, 1, 240, 1, 1, 1},
    {"mobilenet_v3_large", 240, 1, 960, 1, 1, 1},
    {"efficientnet_b0", 3, 224, 32, 3, 2, 1},
    {"efficientnet_b0", 32, 112, 32, 3, 1, 32},
    {"efficientnet_b0", 16, 112, 96, 1, 1, 1},
    {"efficientnet_b0", 96, 112, 96, 3, 2, 96},
    {"efficientnet_b0", 144, 56, 144, 3, 1, 144},
    {"efficientnet_b0", 240, 28, 240, 5, 1, 240},
    {"efficientnet_b0", 672, 14, 672, 5, 1, 672},
    {"efficientnet_b0", 672, 14, 112, 1, 1, 1},
    {"efficientnet_b0", 1152, 7, 1152, 5, 1, 1152},
    {"efficientnet_b0", 1152, 7, 192, 1, 1, 1},
    {"efficientnet_b0", 1152, 1, 48, 1, 1, 1},
    {"efficientnet_b0", 320, 7, 1280, 1, 1, 1},
};

}  // namespace tern::gpu
