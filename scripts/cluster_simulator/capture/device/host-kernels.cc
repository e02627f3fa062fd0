/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "host-kernels.h"

#include "record.h"

#include <ATen/ATen.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/fill_native.h>
#include <ATen/ops/normal_native.h>
#include <ATen/ops/uniform_native.h>
#include <ATen/ops/zero_native.h>
#include <atomic>
#include <torch/library.h>

namespace capture
{

namespace
{

// All assumed: data that scripts compute with on the host is smaller, models are larger.
constexpr size_t kLarge = 64 << 20;
constexpr size_t kMedium = 1 << 20;
constexpr size_t kMostDrawn = 256 << 20;

std::atomic<size_t> g_drawn{0};

bool
LeftAlone(const at::Tensor& tensor)
{
    if (!tensor.is_cpu() || !tensor.is_floating_point() || tensor.nbytes() < kLarge)
    {
        return false;
    }
    Note("floating-point tensors of the host of 64 MiB or more are not filled: first at " +
         ToldLine());
    return true;
}

bool
NotDrawn(const at::Tensor& tensor)
{
    if (LeftAlone(tensor))
    {
        return true;
    }
    if (tensor.nbytes() < kMedium)
    {
        return false;
    }
    if (g_drawn.fetch_add(tensor.nbytes()) < kMostDrawn)
    {
        return false;
    }
    Note("after 256 MiB of random numbers, tensors of the host of 1 MiB or more get none");
    return true;
}

} // namespace

void
InstallHostKernels()
{
    // For as long as the process lives.
    static auto* library = new torch::Library(torch::Library::IMPL,
                                              "aten",
                                              c10::make_optional(c10::DispatchKey::CPU),
                                              __FILE__,
                                              __LINE__);
    library->impl("normal_",
                  [](at::Tensor& tensor,
                     double mean,
                     double deviation,
                     c10::optional<at::Generator> generator) -> at::Tensor& {
                      return NotDrawn(tensor)
                                 ? tensor
                                 : at::native::normal_(tensor, mean, deviation, generator);
                  });
    library->impl(
        "uniform_",
        [](at::Tensor& tensor, double from, double to, c10::optional<at::Generator> generator)
            -> at::Tensor& {
            return NotDrawn(tensor) ? tensor : at::native::uniform_(tensor, from, to, generator);
        });
    library->impl("fill_.Scalar", [](at::Tensor& tensor, const at::Scalar& value) -> at::Tensor& {
        return LeftAlone(tensor) ? tensor : at::native::fill_(tensor, value);
    });
    library->impl("zero_", [](at::Tensor& tensor) -> at::Tensor& {
        return LeftAlone(tensor) ? tensor : at::native::zero_(tensor);
    });
    library->impl("copy_",
                  [](at::Tensor& tensor, const at::Tensor& source, bool async) -> at::Tensor& {
                      return LeftAlone(tensor) ? tensor : at::native::copy_(tensor, source, async);
                  });
}

} // namespace capture
