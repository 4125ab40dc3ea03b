// All of teeny for one who writes and launches kernels.
#pragma once

#include <teeny/buffer.hpp>
#include <teeny/check.hpp>
#include <teeny/device.hpp>
#include <teeny/dispatch.hpp>
#include <teeny/dtype.hpp>
#include <teeny/error.hpp>
#include <teeny/explain.hpp>
#include <teeny/graph.hpp>
#include <teeny/half.hpp>
#include <teeny/host_buffer.hpp>
#include <teeny/kernel.hpp>
#include <teeny/launch.hpp>
#include <teeny/package.hpp>
#include <teeny/stream.hpp>
#include <teeny/text_kernel.hpp>
#include <teeny/tl.hpp>
