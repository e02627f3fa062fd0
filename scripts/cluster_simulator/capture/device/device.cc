/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "device.h"

#include "record.h"
#include "storage.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <cstdlib>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>
#include <vector>

namespace capture
{

namespace
{

int g_devices = 0;
std::array<std::unique_ptr<CachingAllocator>, kMostDevices> g_memory;
std::mutex g_memoryLock;
std::atomic<int64_t> g_streams{1};
std::atomic<int64_t> g_events{1};
std::atomic<bool> g_used{false};
std::atomic<bool> g_inBadFork{false};
std::atomic<bool> g_toldBadFork{false};

thread_local int t_device = 0;
thread_local std::array<int64_t, kMostDevices> t_streams = {};

// Values are computed on the CPU where they are at all, so generators are of its kind.
std::vector<at::Generator> g_generators;

void ReplaceHooks();

} // namespace

void
SetDevices(int count, uint64_t memoryBytes)
{
    TORCH_CHECK(count > 0 && count <= kMostDevices, "1 to ", kMostDevices, " GPUs a process");
    ReplaceHooks();
    g_devices = count;
    for (int i = 0; i < count; ++i)
    {
        g_memory[i] = std::make_unique<CachingAllocator>(memoryBytes, i, Streams());
    }
}

int
DeviceCount()
{
    // As a driver reads it, up to the first entry that is none; but each time, as a script may set
    // it when torch is there already.
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!visible)
    {
        return g_devices;
    }
    int count = 0;
    std::istringstream entries(visible);
    for (std::string entry; std::getline(entries, entry, ',') && count < g_devices; ++count)
    {
        entry.erase(0, entry.find_first_not_of(' '));
        const bool isNumber =
            !entry.empty() && entry.find_first_not_of("0123456789 ") == std::string::npos;
        const bool isName = entry.rfind("GPU-", 0) == 0 || entry.rfind("MIG-", 0) == 0;
        if (!isName && (!isNumber || std::atoi(entry.c_str()) >= g_devices))
        {
            break;
        }
    }
    return count;
}

void
CheckDevice(int64_t device)
{
    // The first one is nearly always there, and this is on the way of every operator.
    const bool known = device >= 0 && device < g_devices;
    if (known && (device == 0 || device < DeviceCount()))
    {
        return;
    }
    const int count = DeviceCount();
    const char* const each = std::getenv("LOCAL_WORLD_SIZE");
    TORCH_CHECK(false,
                "CUDA error: invalid device ordinal: there is no GPU ",
                device,
                ": this process sees ",
                count,
                count == 1 ? " GPU (0)" : " GPUs (0 to " + std::to_string(count - 1) + ")",
                each != nullptr && std::atoi(each) > count
                    ? std::string(", and ") + each + " processes were started on its server"
                    : std::string());
}

void
BeginProcess()
{
    g_used = false;
    g_inBadFork = false;
}

void
UseGpus()
{
    if (g_inBadFork.load(std::memory_order_relaxed))
    {
        // Who started the process may not look at how it ends.
        if (!g_toldBadFork.exchange(true))
        {
            Line("mistake")
                .Add("kind", std::string("died"))
                .Add("text",
                     "a process that was forked after CUDA had begun uses a GPU at " + ToldLine() +
                         ": RuntimeError: Cannot re-initialize CUDA in forked subprocess (start it "
                         "by spawn, or before anything is asked of torch.cuda)")
                .Add("l", SourceLine())
                .Write();
        }
        TORCH_CHECK(false,
                    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
                    "multiprocessing, you must use the 'spawn' start method");
    }
    g_used.store(true, std::memory_order_relaxed);
}

void
ForbidAfterUse()
{
    g_inBadFork = g_used.load();
}

bool
IsInBadFork()
{
    return g_inBadFork;
}

int
CurrentDevice()
{
    return t_device;
}

void
SetDevice(int device)
{
    CheckDevice(device);
    t_device = device;
}

int64_t
CurrentStream()
{
    return t_streams[t_device];
}

int64_t
CurrentStreamOf(int device)
{
    return t_streams[device];
}

void
SetStream(c10::Stream stream)
{
    SetDevice(stream.device_index());
    t_streams[t_device] = stream.id();
}

c10::Stream
StreamOf(int device, int64_t number)
{
    return c10::Stream(c10::Stream::UNSAFE,
                       c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)),
                       number);
}

c10::Stream
NewStream(int device)
{
    return StreamOf(device, g_streams++);
}

CachingAllocator&
MemoryOf(int device)
{
    CheckDevice(device);
    return *g_memory[device];
}

std::mutex&
MemoryLock()
{
    return g_memoryLock;
}

void
ProgramWaits(int device, int64_t stream)
{
    const std::lock_guard<std::mutex> lock(g_memoryLock);
    Streams().ProgramWaitsForStream(StreamKey(device, stream));
}

void
ProgramWaitsForDevice(int device)
{
    const std::lock_guard<std::mutex> lock(g_memoryLock);
    Streams().ProgramWaitsForDevice(device);
}

void
EndStep()
{
    const std::lock_guard<std::mutex> lock(g_memoryLock);
    Streams().ProgramWaitsForAll();
}

OnDevice::OnDevice(int device)
    : m_before(t_device)
{
    SetDevice(device);
}

OnDevice::~OnDevice()
{
    t_device = m_before;
}

int64_t
NewEvent()
{
    return g_events++;
}

namespace
{

/// c10's way to a device: autograd's threads start because it is there.
class DeviceGuard final : public c10::impl::DeviceGuardImplInterface
{
  public:
    c10::DeviceType type() const override
    {
        return c10::kCUDA;
    }

    c10::Device exchangeDevice(c10::Device device) const override
    {
        const c10::Device before = getDevice();
        setDevice(device);
        return before;
    }

    c10::Device getDevice() const override
    {
        return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(t_device));
    }

    void setDevice(c10::Device device) const override
    {
        if (device.has_index())
        {
            SetDevice(device.index());
        }
    }

    void uncheckedSetDevice(c10::Device device) const noexcept override
    {
        if (device.has_index())
        {
            t_device = device.index();
        }
    }

    c10::Stream getStream(c10::Device device) const noexcept override
    {
        const int index = device.has_index() ? device.index() : t_device;
        return StreamOf(index, t_streams[index]);
    }

    c10::Stream getDefaultStream(c10::Device device) const override
    {
        return StreamOf(device.has_index() ? device.index() : t_device, 0);
    }

    c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override
    {
        return NewStream(device.has_index() ? device.index() : t_device);
    }

    c10::Stream getNewStream(c10::Device device, int) const // of PyTorch 2, as those that follow
    {
        return NewStream(device.has_index() ? device.index() : t_device);
    }

    void synchronizeEvent(void* event) const
    {
        Line("sync").Add("e", reinterpret_cast<int64_t>(event)).Add("l", SourceLine()).Write();
        const std::lock_guard<std::mutex> lock(g_memoryLock);
        Streams().ProgramWaitsForEvent(reinterpret_cast<int64_t>(event));
    }

    void synchronizeDevice(const c10::DeviceIndex device) const
    {
        Line("sync").Add("d", device).Add("l", SourceLine()).Write();
        ProgramWaitsForDevice(device);
    }

    double elapsedTime(void*, void*, const c10::DeviceIndex) const
    {
        Note("times between events are not those of a GPU at " + ToldLine());
        return 1e-3;
    }

    c10::Stream exchangeStream(c10::Stream stream) const noexcept override
    {
        const int device = stream.device_index();
        const int64_t before = t_streams[device];
        t_streams[device] = stream.id();
        return StreamOf(device, before);
    }

    c10::DeviceIndex deviceCount() const noexcept override
    {
        return static_cast<c10::DeviceIndex>(DeviceCount());
    }

    void record(void** event,
                const c10::Stream& stream,
                const c10::DeviceIndex,
                const c10::EventFlag) const override
    {
        const int64_t number = NewEvent();
        *event = reinterpret_cast<void*>(number);
        Line("record")
            .Add("e", number)
            .Add("d", stream.device_index())
            .Add("s", stream.id())
            .Write();
        const std::lock_guard<std::mutex> lock(g_memoryLock);
        Streams().Record(number, StreamKey(stream.device_index(), stream.id()));
    }

    void block(void* event, const c10::Stream& stream) const override
    {
        Line("wait")
            .Add("e", reinterpret_cast<int64_t>(event))
            .Add("d", stream.device_index())
            .Add("s", stream.id())
            .Write();
        const std::lock_guard<std::mutex> lock(g_memoryLock);
        Streams().Wait(reinterpret_cast<int64_t>(event),
                       StreamKey(stream.device_index(), stream.id()));
    }

    bool queryEvent(void*) const override
    {
        return true;
    }

    void destroyEvent(void*, const c10::DeviceIndex) const noexcept override
    {
    }

    bool queryStream(const c10::Stream&) const override
    {
        return true;
    }

    void synchronizeStream(const c10::Stream& stream) const override
    {
        Line("sync").Add("d", stream.device_index()).Add("s", stream.id()).Write();
        ProgramWaits(stream.device_index(), stream.id());
    }

    void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override
    {
        RecordStream(data, stream);
    }
};

const DeviceGuard g_guard;
C10_REGISTER_GUARD_IMPL(CUDA, DeviceGuard);

/// ATen's way to what only CUDA has. Without `override`: names and types of 1.13 and of 2.6, of
/// which a version has one.
struct Hooks : at::CUDAHooksInterface
{
    explicit Hooks(at::CUDAHooksArgs)
    {
    }

    void initCUDA() const
    {
    }

    void init() const
    {
    }

    const at::Generator& getDefaultCUDAGenerator(at::DeviceIndex device) const
    {
        return getDefaultGenerator(device);
    }

    const at::Generator& getDefaultGenerator(at::DeviceIndex device) const
    {
        static const at::Generator none = at::detail::createCPUGenerator();
        const auto number = static_cast<size_t>(device < 0 ? t_device : device);
        return number < g_generators.size() ? g_generators[number] : none;
    }

    at::Generator getNewGenerator(at::DeviceIndex) const
    {
        return at::detail::createCPUGenerator();
    }

    at::Device getDeviceFromPtr(void*) const override
    {
        return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(t_device));
    }

    bool isPinnedPtr(void* memory) const
    {
        return IsPinnedMemory(memory);
    }

    bool isPinnedPtr(const void* memory) const
    {
        return IsPinnedMemory(memory);
    }

    bool hasCUDA() const override
    {
        return true;
    }

    bool hasCUDART() const override
    {
        return true;
    }

    bool hasPrimaryContext(int64_t) const
    {
        return true;
    }

    bool hasPrimaryContext(at::DeviceIndex) const
    {
        return true;
    }

    decltype(std::declval<at::CUDAHooksInterface>().current_device()) current_device()
        const override
    {
        return static_cast<at::DeviceIndex>(t_device);
    }

    at::DeviceIndex deviceCount() const
    {
        return static_cast<at::DeviceIndex>(DeviceCount());
    }

    at::DeviceIndex getCurrentDevice() const
    {
        return static_cast<at::DeviceIndex>(t_device);
    }

    void setCurrentDevice(at::DeviceIndex device) const
    {
        SetDevice(device);
    }

    at::DeviceIndex exchangeDevice(at::DeviceIndex device) const
    {
        const int before = t_device;
        SetDevice(device);
        return static_cast<at::DeviceIndex>(before);
    }

    at::DeviceIndex maybeExchangeDevice(at::DeviceIndex device) const
    {
        return exchangeDevice(device);
    }

    int getNumGPUs() const override
    {
        return DeviceCount();
    }

    at::Allocator* getPinnedMemoryAllocator() const override
    {
        return PinnedAllocator();
    }

    at::Allocator* getCUDADeviceAllocator() const override
    {
        return DeviceAllocator();
    }

    void deviceSynchronize(at::DeviceIndex device) const
    {
        deviceSynchronize(static_cast<int64_t>(device));
    }

    void deviceSynchronize(int64_t device) const
    {
        Line("sync").Add("d", device).Write();
        ProgramWaitsForDevice(static_cast<int>(device));
    }

    std::string showConfig() const override
    {
        return "simulated GPUs";
    }
};

/// PyTorch 2 asks for its hooks while it is imported, and keeps what it got: an object of CUDA's
/// base, which has nothing but its virtual functions. In its place comes one of ours.
void
ReplaceHooks()
{
    static_assert(sizeof(Hooks) == sizeof(at::CUDAHooksInterface));
    const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
    if (!hooks.hasCUDA())
    {
        new (const_cast<at::CUDAHooksInterface*>(&hooks)) Hooks(at::CUDAHooksArgs{});
    }
}

/// DDP times the passes of a step with it, to tell users; nothing depends on it.
struct Timer : c10d::Timer
{
    explicit Timer(c10::Device)
    {
    }

    c10::optional<int64_t> measureDifference(Event, Event) override
    {
        return 1;
    }
};

} // namespace

void
SetGenerators(std::vector<at::Generator> generators)
{
    g_generators = std::move(generators);
}

} // namespace capture

namespace at
{
using CaptureHooks = capture::Hooks;
C10_REGISTER_CLASS(CUDAHooksRegistry, CUDAHooks, CaptureHooks);
} // namespace at

namespace c10d
{
using CaptureTimer = capture::Timer;
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kCUDA, CaptureTimer);
} // namespace c10d
