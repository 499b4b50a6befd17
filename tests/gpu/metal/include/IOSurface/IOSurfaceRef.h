#pragma once
typedef struct io_surface* IOSurfaceRef;
