// Launches of the interface: conversion of arguments to Metal, and limits.
#pragma once

#include <tern/device.h>

#include <cstdint>

namespace tern::metal {

tern_device_status launch(std::int32_t device, tern_device_stream stream, tern_device_kernel kernel,
                          const tern_device_launch* launch);

}  // namespace tern::metal
