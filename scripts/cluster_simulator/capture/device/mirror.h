/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Arguments of a simulated GPU as arguments of another device, whose kernels find shapes or values.
 */
#ifndef CAPTURE_MIRROR_H
#define CAPTURE_MIRROR_H

#include "device.h"
#include "operators.h"
#include "storage.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <unordered_map>
#include <vector>

namespace capture
{

/// What a large tensor that is not known counts as where it is compared: scripts ask whether scales
/// are above 0, losses finite and probabilities at most 1. Exact in half precision. Assumed.
constexpr double kSmall = 1.0 / 8192;

/// Arguments of a GPU as arguments of another device, and results back. Aliases stay: two tensors
/// of a storage have one storage there, and what comes back over it gets the first storage again.
class Mirror
{
  public:
    enum class To
    {
        kMeta,
        kHost,      ///< over the same memory
        kHostZeros, ///< tensors without memory are zeros
        kHostOne,   ///< tensors without memory are one number, again and again: kSmall, or zero
    };

    explicit Mirror(To to)
        : m_to(to)
    {
    }

    c10::IValue There(const c10::IValue& value)
    {
        if (value.isDevice() && value.toDevice().is_cuda())
        {
            m_device = value.toDevice();
            return c10::Device(m_to == To::kMeta ? c10::kMeta : c10::kCPU);
        }
        return Mapped(value, [this](const at::Tensor& tensor) { return There(tensor); });
    }

    c10::IValue Back(const c10::IValue& value)
    {
        return Mapped(value, [this](const at::Tensor& tensor) { return Back(tensor); });
    }

  private:
    template <class F>
    static c10::IValue Mapped(const c10::IValue& value, F f)
    {
        if (value.isTensor())
        {
            return f(value.toTensor());
        }
        if (value.isTensorList())
        {
            c10::List<at::Tensor> list;
            for (const at::Tensor& tensor : value.toTensorVector())
            {
                list.push_back(f(tensor));
            }
            return list;
        }
        if (value.isOptionalTensorList())
        {
            c10::List<c10::optional<at::Tensor>> list;
            for (const c10::IValue& item : value.toListRef())
            {
                list.push_back(item.isTensor() ? c10::make_optional(f(item.toTensor()))
                                               : c10::nullopt);
            }
            return list;
        }
        return value;
    }

    at::Tensor There(const at::Tensor& tensor)
    {
        if (!tensor.defined())
        {
            return tensor;
        }
        at::Tensor there;
#if CAPTURE_PYTORCH_2
        // A number among tensors. Meta kernels in Python get it as a number, which they read.
        if (m_to == To::kMeta && tensor.unsafeGetTensorImpl()->is_wrapped_number())
        {
            if (tensor.is_cpu())
            {
                return tensor;
            }
            m_device = m_device ? m_device : tensor.device();
            there = at::zeros({}, tensor.scalar_type());
            there.unsafeGetTensorImpl()->set_wrapped_number(true);
            m_origins.emplace(there.unsafeGetTensorImpl(), tensor);
            m_alive.push_back(there);
            return there;
        }
#endif
        if (tensor.is_cuda())
        {
            if (!m_device)
            {
                m_device = tensor.device();
            }
            there =
                m_to == To::kHostOne && !InfoOf(tensor).real && tensor.numel() > 0
                    ? at::full({1}, tensor.is_floating_point() ? kSmall : 0, tensor.scalar_type())
                          .expand(tensor.sizes())
                    : ViewOf(StorageThere(tensor),
                             m_to == To::kMeta ? c10::DispatchKey::Meta : c10::DispatchKey::CPU,
                             tensor);
        }
        else if (m_to == To::kMeta && tensor.is_cpu())
        {
            there = at::detail::empty_strided_meta(tensor.sizes(),
                                                   tensor.strides(),
                                                   tensor.scalar_type());
            if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
            {
                there.unsafeGetTensorImpl()->set_wrapped_number(true);
            }
        }
        else
        {
            return tensor;
        }
        m_origins.emplace(there.unsafeGetTensorImpl(), tensor);
        m_alive.push_back(there);
        return there;
    }

    c10::Storage StorageThere(const at::Tensor& tensor)
    {
        c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
        const auto known = m_there.find(storage);
        if (known != m_there.end())
        {
            return known->second;
        }
        c10::DataPtr data(nullptr, c10::Device(c10::kMeta));
        if (m_to == To::kHostZeros && !InfoOf(tensor).real)
        {
            data = c10::GetAllocator(c10::kCPU)->allocate(storage->nbytes());
            memset(data.get(), 0, storage->nbytes());
        }
        else if (m_to != To::kMeta)
        {
            data = c10::DataPtr(
                const_cast<void*>(storage->data()),
                nullptr,
                [](void*) {},
                c10::Device(c10::kCPU));
        }
        c10::Storage there(c10::Storage::use_byte_size_t(),
                           storage->nbytes(),
                           std::move(data),
                           c10::GetAllocator(m_to == To::kMeta ? c10::kMeta : c10::kCPU),
                           true);
        m_there.emplace(storage, there);
        m_back.emplace(there.unsafeGetStorageImpl(), tensor.storage());
        return there;
    }

    at::Tensor Back(const at::Tensor& tensor)
    {
        if (!tensor.defined())
        {
            return tensor;
        }
        if (const auto origin = m_origins.find(tensor.unsafeGetTensorImpl());
            origin != m_origins.end())
        {
            TakeShape(origin->second, tensor);
            return origin->second;
        }
        if (!tensor.is_meta() && !tensor.is_cpu())
        {
            return tensor;
        }
        if (const auto known = m_back.find(tensor.storage().unsafeGetStorageImpl());
            known != m_back.end())
        {
            return ViewOf(known->second, c10::DispatchKey::CUDA, tensor);
        }
        at::Tensor back =
            EmptyStrided(tensor.sizes(), tensor.strides(), tensor.scalar_type(), m_device);
        const StorageInfo& info = InfoOf(back);
        if (info.real && (m_to == To::kHost || m_to == To::kHostOne))
        {
            memcpy(info.memory,
                   tensor.storage().data(),
                   std::min(info.bytes, tensor.storage().nbytes()));
        }
        else
        {
            SetUnknown(back);
        }
        return back;
    }

    /// An operator with out= may have resized what it writes.
    void TakeShape(const at::Tensor& origin, const at::Tensor& tensor) const
    {
        if (!origin.is_cuda() ||
            (origin.sizes() == tensor.sizes() && origin.strides() == tensor.strides()))
        {
            return;
        }
        ResizeStorage(origin, tensor.storage().nbytes(), false);
        if ((m_to == To::kHost || m_to == To::kHostOne) && InfoOf(origin).real)
        {
            memcpy(InfoOf(origin).memory, tensor.storage().data(), tensor.storage().nbytes());
        }
        origin.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides());
    }

    To m_to;
    c10::optional<c10::Device> m_device;
    std::unordered_map<c10::StorageImpl*, c10::Storage> m_there;
    std::unordered_map<c10::StorageImpl*, c10::Storage> m_back;
    std::unordered_map<c10::TensorImpl*, at::Tensor> m_origins;
    std::vector<at::Tensor> m_alive;
};

} // namespace capture

#endif // CAPTURE_MIRROR_H
