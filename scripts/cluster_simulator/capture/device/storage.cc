/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "storage.h"

#include "device.h"
#include "pytorch.h"
#include "record.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <atomic>
#include <c10/core/CPUAllocator.h>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unordered_map>
#include <unordered_set>

namespace capture
{

namespace
{

/// Addresses of a GPU: nothing may be read or written there.
constexpr size_t kAddresses = 1ULL << 40;
uint8_t* g_addresses = nullptr;
std::atomic<uint64_t> g_storages{1};
/// Up to which size a storage is real: empty_generic does not tell its allocator for which type.
thread_local size_t t_mostReal = kSmallBytes;

size_t
MostReal(at::ScalarType type)
{
    return type == at::kByte                 ? kMostRealBytes
           : c10::isIntegralType(type, true) ? kMostRealIntegers
                                             : kSmallBytes;
}

std::string
Told(double bytes)
{
    char text[40];
    snprintf(text,
             sizeof text,
             bytes >= (1 << 30) ? "%.2f GiB" : "%.2f MiB",
             bytes / (bytes >= (1 << 30) ? 1 << 30 : 1 << 20));
    return text;
}

/// The words of PyTorch 1.13, which scripts look for.
[[noreturn]] void
ThrowOutOfMemory(size_t bytes,
                 int device,
                 const CachingAllocator& memory,
                 std::unique_lock<std::mutex> lock)
{
    const double left =
        static_cast<double>(memory.Capacity()) - static_cast<double>(memory.reserved.current);
    const std::string text =
        "CUDA out of memory. Tried to allocate " + Told(static_cast<double>(bytes)) + " (GPU " +
        std::to_string(device) + "; " + Told(static_cast<double>(memory.Capacity())) +
        " total capacity; " + Told(static_cast<double>(memory.allocated.current)) +
        " already allocated; " + Told(left) + " free; " +
        (memory.Allowed() ? Told(static_cast<double>(*memory.Allowed())) + " allowed; " : "") +
        Told(static_cast<double>(memory.reserved.current)) + " reserved in total by PyTorch)";
    lock.unlock(); // where this is, Python says, which may free tensors meanwhile
    Line("out-of-memory").AddPlace().Add("text", text).Write();
    TORCH_CHECK_WITH(OutOfMemoryError, false, text);
}

void
Delete(void* context)
{
    auto* info = static_cast<StorageInfo*>(context);
    if (info->block != nullptr)
    {
        const std::lock_guard<std::mutex> lock(MemoryLock());
        MemoryOf(info->device).Free(info->block);
    }
    if (info->real)
    {
        free(info->memory);
    }
    delete info;
}

class GpuAllocator final : public c10::Allocator
{
  public:
    c10::DataPtr allocate(size_t bytes) CAPTURE_ALLOCATE_CONST override
    {
        UseGpus();
        const int device = CurrentDevice();
        const c10::Device where(c10::kCUDA, static_cast<c10::DeviceIndex>(device));
        auto* info = new StorageInfo;
        info->id = g_storages++;
        info->bytes = bytes;
        info->device = device;
        if (bytes > 0)
        {
            std::unique_lock<std::mutex> lock(MemoryLock());
            CachingAllocator& memory = MemoryOf(device);
            info->block = memory.Allocate(bytes, CurrentStream());
            if (info->block == nullptr)
            {
                delete info;
                ThrowOutOfMemory(bytes, device, memory, std::move(lock));
            }
        }
        info->real = bytes > 0 && bytes <= t_mostReal;
        info->valid = bytes == 0 || info->real;
        if (info->real)
        {
            // Kernels of the CPU may read a vector beyond the end.
            info->memory = calloc(1, bytes + 64);
            TORCH_CHECK(info->memory != nullptr, "no host memory for ", bytes, " bytes");
        }
        else if (bytes > 0)
        {
            // (Segments that were given back leave holes: numbers begin anew after a TiB.)
            TORCH_CHECK(bytes < kAddresses, "a tensor of more than 1 TiB");
            info->memory =
                g_addresses + device * kAddresses + info->block->address % (kAddresses - bytes);
        }
        return {info->memory, info, &Delete, where};
    }

    c10::DeleterFnPtr raw_deleter() const override
    {
        return nullptr;
    }

    /// (Of PyTorch 2, for copies of storages: those of this device have no values.)
    void copy_data(void*, const void*, std::size_t) const
    {
    }
};

GpuAllocator g_gpuAllocator;

/// Large tensors of the host whose pages are never touched cost nothing: models of hundreds of
/// gigabytes are made on the host, as scripts do, before they go to the GPU.
class HostAllocator final : public c10::Allocator
{
  public:
    static constexpr size_t kLarge = 4 << 20;

    c10::DataPtr allocate(size_t bytes) CAPTURE_ALLOCATE_CONST override
    {
        if (bytes < kLarge)
        {
            return m_usual->allocate(bytes);
        }
        void* memory = mmap(nullptr,
                            bytes,
                            PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                            -1,
                            0);
        TORCH_CHECK(memory != MAP_FAILED, "no host memory for ", bytes, " bytes");
        {
            const std::lock_guard<std::mutex> lock(m_lock);
            m_mapped.emplace(memory, bytes);
        }
        return {memory, memory, &DeleteOnHost, c10::Device(c10::kCPU)};
    }

    /// Kernels of oneDNN have memory of theirs by the address only.
    c10::DeleterFnPtr raw_deleter() const override
    {
        return &DeleteOnHost;
    }

    void copy_data(void* to, const void* from, std::size_t bytes) const
    {
        memcpy(to, from, bytes);
    }

    void Delete(void* memory)
    {
        size_t bytes = 0;
        {
            const std::lock_guard<std::mutex> lock(m_lock);
            if (const auto found = m_mapped.find(memory); found != m_mapped.end())
            {
                bytes = found->second;
                m_mapped.erase(found);
            }
        }
        if (bytes > 0)
        {
            munmap(memory, bytes);
        }
        else
        {
            m_usual->raw_deleter()(memory);
        }
    }

    c10::Allocator* m_usual = nullptr;

  private:
    static void DeleteOnHost(void* memory);

    mutable std::mutex m_lock;
    mutable std::unordered_map<void*, size_t> m_mapped; ///< bytes of what is large
};

// (Tensors of others' static objects may outlive all of ours.)
HostAllocator& g_hostAllocator = *new HostAllocator;

void
HostAllocator::DeleteOnHost(void* memory)
{
    g_hostAllocator.Delete(memory);
}

/// As the host's, and it is known which addresses are of it.
class PinnedHostAllocator final : public c10::Allocator
{
  public:
    c10::DataPtr allocate(size_t bytes) CAPTURE_ALLOCATE_CONST override
    {
        c10::DataPtr data = g_hostAllocator.allocate(bytes);
        void* memory = data.get();
        if (memory != nullptr)
        {
            const std::lock_guard<std::mutex> lock(g_pinnedLock);
            g_pinned.insert(memory);
        }
        data.release_context();
        return {memory, memory, &Delete, c10::Device(c10::kCPU)};
    }

    c10::DeleterFnPtr raw_deleter() const override
    {
        return &Delete;
    }

    void copy_data(void* to, const void* from, std::size_t bytes) const
    {
        memcpy(to, from, bytes);
    }

    static bool Has(const void* memory)
    {
        const std::lock_guard<std::mutex> lock(g_pinnedLock);
        return g_pinned.count(memory) > 0;
    }

  private:
    static void Delete(void* memory)
    {
        if (memory != nullptr)
        {
            {
                const std::lock_guard<std::mutex> lock(g_pinnedLock);
                g_pinned.erase(memory);
            }
            g_hostAllocator.Delete(memory);
        }
    }

    static inline std::mutex g_pinnedLock;
    static inline std::unordered_set<const void*>& g_pinned = *new std::unordered_set<const void*>;
};

PinnedHostAllocator g_pinnedAllocator;

template <class Make>
at::Tensor
Made(c10::optional<at::Device> device, at::ScalarType type, Make make)
{
    const OnDevice on(device && device->has_index() ? device->index() : CurrentDevice());
    t_mostReal = MostReal(type);
    try
    {
        at::Tensor tensor = make();
        t_mostReal = kSmallBytes;
        return tensor;
    }
    catch (...)
    {
        t_mostReal = kSmallBytes;
        throw;
    }
}

} // namespace

c10::Allocator*
DeviceAllocator()
{
    return &g_gpuAllocator;
}

c10::Allocator*
PinnedAllocator()
{
    return &g_pinnedAllocator;
}

void
RecordStream(const c10::DataPtr& data, const c10::Stream& stream)
{
    const auto* info = static_cast<const StorageInfo*>(data.get_context());
    if (data.get_deleter() == &Delete && info != nullptr && info->block != nullptr)
    {
        const std::lock_guard<std::mutex> lock(MemoryLock());
        MemoryOf(info->device)
            .RecordStream(info->block, StreamKey(stream.device_index(), stream.id()));
    }
}

bool
IsPinnedMemory(const void* memory)
{
    return PinnedHostAllocator::Has(memory);
}

void
StartStorage()
{
    void* addresses = mmap(nullptr,
                           kAddresses * kMostDevices,
                           PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                           -1,
                           0);
    TORCH_CHECK(addresses != MAP_FAILED, "no addresses for the memory of simulated GPUs");
    g_addresses = static_cast<uint8_t*>(addresses);
    c10::SetAllocator(c10::kCUDA, &g_gpuAllocator, 1);
    g_hostAllocator.m_usual = c10::GetCPUAllocator();
    c10::SetCPUAllocator(&g_hostAllocator, 1);
}

StorageInfo&
InfoOf(const at::Tensor& tensor)
{
    auto* info = static_cast<StorageInfo*>(tensor.storage().data_ptr().get_context());
    TORCH_CHECK(info != nullptr, "a tensor of a simulated GPU without a storage of ours");
    return *info;
}

bool
HasValue(const at::Tensor& tensor)
{
    if (!OnGpu(tensor))
    {
        return true;
    }
    const StorageInfo& info = InfoOf(tensor);
    return info.valid && (info.real || info.bytes == 0);
}

bool
IsAssumed(const at::Tensor& tensor)
{
    return OnGpu(tensor) && InfoOf(tensor).assumed;
}

void
SetAssumed(const at::Tensor& tensor)
{
    if (OnGpu(tensor))
    {
        InfoOf(tensor).assumed = true;
    }
}

void
SetUnknown(const at::Tensor& tensor)
{
    if (OnGpu(tensor) && InfoOf(tensor).bytes > 0)
    {
        InfoOf(tensor).valid = false;
    }
}

void
Invalidate(const at::Tensor& tensor)
{
    SetUnknown(tensor);
    if (!OnGpu(tensor) || !InfoOf(tensor).real)
    {
        return;
    }
    const StorageInfo& info = InfoOf(tensor);
    auto* begin = static_cast<uint8_t*>(info.memory);
    constexpr size_t kPage = 4096;
    if (info.bytes <= kSmallBytes)
    {
        memset(begin, 0, info.bytes);
        return;
    }
    // Pages that are given back are zeros.
    const size_t before = (kPage - reinterpret_cast<uintptr_t>(begin) % kPage) % kPage;
    const size_t pages = (info.bytes - before) / kPage * kPage;
    memset(begin, 0, before);
    madvise(begin + before, pages, MADV_DONTNEED);
    memset(begin + before + pages, 0, info.bytes - before - pages);
}

at::Tensor
Empty(at::IntArrayRef sizes,
      at::ScalarType type,
      c10::optional<at::Device> device,
      c10::optional<at::MemoryFormat> format)
{
    return Made(device, type, [&] {
        return at::detail::empty_generic(sizes,
                                         &g_gpuAllocator,
                                         c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                         type,
                                         format);
    });
}

at::Tensor
EmptyStrided(at::IntArrayRef sizes,
             at::IntArrayRef strides,
             at::ScalarType type,
             c10::optional<at::Device> device)
{
    return Made(device, type, [&] {
        return at::detail::empty_strided_generic(sizes,
                                                 strides,
                                                 &g_gpuAllocator,
                                                 c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                                 type);
    });
}

at::Tensor
Result(at::IntArrayRef sizes, at::ScalarType type, const at::Tensor& beside)
{
    at::Tensor tensor = Empty(sizes, type, beside.device());
    SetUnknown(tensor);
    return tensor;
}

at::Tensor
ResultLike(const at::Tensor& tensor)
{
    at::Tensor result =
        tensor.is_non_overlapping_and_dense()
            ? EmptyStrided(tensor.sizes(), tensor.strides(), tensor.scalar_type(), tensor.device())
            : Empty(tensor.sizes(), tensor.scalar_type(), tensor.device());
    SetUnknown(result);
    return result;
}

at::Tensor
ViewOf(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like)
{
    at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(std::move(storage),
                                                               c10::DispatchKeySet(key),
                                                               like.dtype());
    c10::TensorImpl* impl = view.unsafeGetTensorImpl();
    impl->set_storage_offset(like.storage_offset());
    impl->set_sizes_and_strides(like.sizes(), like.strides());
    if (like.unsafeGetTensorImpl()->is_wrapped_number())
    {
        impl->set_wrapped_number(true);
    }
    return view;
}

at::Tensor
OnHost(const at::Tensor& tensor)
{
    const c10::Storage& storage = tensor.storage();
    c10::DataPtr data(
        storage.data_ptr().get(),
        nullptr,
        [](void*) {},
        c10::Device(c10::kCPU));
    return ViewOf(c10::Storage(c10::Storage::use_byte_size_t(),
                               storage.nbytes(),
                               std::move(data),
                               nullptr,
                               false),
                  c10::DispatchKey::CPU,
                  tensor);
}

void
ResizeStorage(const at::Tensor& tensor, size_t bytes, bool shrink)
{
    c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    if (bytes == storage->nbytes() || (bytes < storage->nbytes() && !shrink))
    {
        return;
    }
    const StorageInfo before = InfoOf(tensor);
    const OnDevice on(tensor.device().index());
    // Storages that Python empties and makes large again (FSDP's) come as bytes, whatever their
    // type: what nobody knew before stays unknown.
    const bool known = before.bytes > 0 ? before.real : before.valid;
    t_mostReal = known ? MostReal(tensor.scalar_type()) : kSmallBytes;
    c10::DataPtr data = g_gpuAllocator.allocate(bytes);
    t_mostReal = kSmallBytes;
    auto* info = static_cast<StorageInfo*>(data.get_context());
    if (info->real && before.real)
    {
        memcpy(info->memory, before.memory, std::min(bytes, before.bytes));
    }
    info->valid = info->valid && (before.valid || before.bytes == 0);
    info->assumed = before.assumed;
    storage->set_data_ptr_noswap(std::move(data));
    storage->set_nbytes(bytes);
}

void
CopyValues(const at::Tensor& destination, const at::Tensor& source)
{
    const bool known = HasValue(source);
    if (OnGpu(destination))
    {
        StorageInfo& info = InfoOf(destination);
        if (!info.real)
        {
            return;
        }
        const bool readable = known || (OnGpu(source) && InfoOf(source).real);
        if (readable && destination.numel() > 0)
        {
            OnHost(destination).copy_(OnGpu(source) ? OnHost(source) : source);
        }
        if (known && destination.numel() > 0)
        {
            const auto written = static_cast<size_t>(destination.numel() * destination.itemsize());
            info.valid = info.valid || written == info.bytes;
            info.assumed = IsAssumed(source) || (info.assumed && written < info.bytes);
        }
        else if (readable)
        {
            SetUnknown(destination);
        }
        else if (!known)
        {
            Invalidate(destination);
        }
        return;
    }
    if (!destination.is_cpu())
    {
        return;
    }
    if (!known)
    {
        Note("values that only a GPU would compute are read as 0 at " + ToldLine());
    }
    else if (IsAssumed(source))
    {
        NoteAssumed("what is read");
    }
    if (InfoOf(source).real)
    {
        destination.copy_(OnHost(source));
    }
    else if (destination.nbytes() < HostAllocator::kLarge)
    {
        destination.zero_();
    }
}

} // namespace capture
