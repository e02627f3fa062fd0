/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Copies and fills: what they do to the bytes that are kept, and what they take.
 */
#include "api.h"

#include <cstring>
#include <memory>

namespace gpus
{

namespace
{

Time
Takes(double bytes, double rate)
{
    if (rate <= 0)
    {
        Note("some rate of copies of this GPU is not known: they take no time");
        return 0;
    }
    return static_cast<Time>(bytes / rate * 1e12 + 0.5);
}

const char* const kNoContents = "allocations above --keep have no contents: copies, fills and "
                                "collectives on them leave no trace";

/// The bytes of the copy, now; of memory without contents none.
void
Move(Memory& memory, const Copy& copy)
{
    const Allocation* from = memory.Find(copy.from);
    Allocation* to = memory.Find(copy.to);
    if ((from && !from->kept) || (to && !to->kept))
    {
        Note(kNoContents);
        return;
    }
    if (from && from->gpu >= 0 && !from->written && to && to->gpu >= 0 && !to->written)
    {
        return; // zeros, onto zeros that nobody wrote either
    }
    if (to)
    {
        to->written = true;
    }
    for (std::size_t row = 0; row < copy.rows; ++row)
    {
        std::memmove(static_cast<char*>(copy.to) + row * copy.toPitch,
                     static_cast<const char*>(copy.from) + row * copy.fromPitch,
                     copy.width);
    }
}

bool
OnGpu(const Allocation* allocation)
{
    return allocation && allocation->gpu >= 0;
}

/// Whether all of a range is in its allocation; the program's own memory may be anything.
bool
Fits(Memory& memory, const void* at, std::size_t pitch, std::size_t width, std::size_t rows)
{
    const Allocation* found = memory.Find(at);
    std::size_t size = 0;
    if (rows > 0 && (__builtin_mul_overflow(rows - 1, pitch, &size) ||
                     __builtin_add_overflow(size, width, &size)))
    {
        return false;
    }
    return !found || size <= found->size - static_cast<std::size_t>(static_cast<const char*>(at) -
                                                                    memory.BeginOf(at));
}

} // namespace

cudaError_t
CopyOn(void* handle, const Copy& copy, int kind, bool waits)
{
    Call call;
    Memory& memory = call.machine.memory();
    Stream* stream = call.machine.Find(handle);
    if (!stream)
    {
        return cudaErrorInvalidResourceHandle;
    }
    if (kind < 0 || kind > cudaMemcpyDefault)
    {
        return cudaErrorInvalidMemcpyDirection;
    }
    if (copy.width > copy.toPitch || copy.width > copy.fromPitch)
    {
        return cudaErrorInvalidPitchValue;
    }
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(copy.width, copy.rows, &bytes))
    {
        return cudaErrorInvalidValue;
    }
    if (bytes == 0)
    {
        return cudaSuccess;
    }
    const Allocation* from = memory.Find(copy.from);
    const Allocation* to = memory.Find(copy.to);
    // A direction that is not what the addresses are: the GPU would find no such address.
    const bool fromGpu = OnGpu(from);
    const bool toGpu = OnGpu(to);
    const bool saysFrom = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const bool saysTo = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    if (kind != cudaMemcpyDefault && ((saysFrom != fromGpu && !(from && from->managed)) ||
                                      (saysTo != toGpu && !(to && to->managed))))
    {
        return cudaErrorInvalidValue;
    }
    if (!copy.to || !copy.from || !Fits(memory, copy.from, copy.fromPitch, copy.width, copy.rows) ||
        !Fits(memory, copy.to, copy.toPitch, copy.width, copy.rows))
    {
        return cudaErrorInvalidValue;
    }
    if (IsCaptured(stream) && waits)
    {
        return cudaErrorStreamCaptureImplicit;
    }
    const Settings& settings = TheSettings();
    const double size = static_cast<double>(bytes);
    const char* direction = "within";
    Time time = Takes(2 * size, settings.memoryRate); // read and written
    if (fromGpu != toGpu)
    {
        direction = toGpu ? "to-gpu" : "from-gpu";
        time = Takes(size, settings.hostLink);
    }
    else if (fromGpu && from->gpu != to->gpu)
    {
        direction = "between";
        time = Takes(size, settings.hostLink);
    }
    else if (!fromGpu)
    {
        direction = "host";
        time = 0;
    }
    // What is not pinned is read before the call returns.
    auto staged = std::make_shared<std::vector<char>>();
    Copy later = copy;
    if (!from && !waits && !stream->works.empty() && bytes <= settings.keep)
    {
        staged->resize(bytes);
        for (std::size_t row = 0; row < copy.rows; ++row)
        {
            std::memcpy(staged->data() + row * copy.width,
                        static_cast<const char*>(copy.from) + row * copy.fromPitch,
                        copy.width);
        }
        later.from = staged->data();
        later.fromPitch = copy.width;
    }
    Machine& machine = call.machine;
    machine.Issue(stream, [&machine, later, staged, time, bytes, direction, waits](Stream* on) {
        Record("copy",
               *on,
               ", \"bytes\": " + std::to_string(bytes) + ", \"direction\": \"" + direction +
                   "\", \"blocking\": " + (waits ? "true" : "false"));
        machine.AddTimed(on, time, [&machine, later, staged] { Move(machine.memory(), later); });
    });
    if (waits)
    {
        machine.Synchronize(call.lock, stream);
    }
    else
    {
        machine.Progress(call.lock);
    }
    return cudaSuccess;
}

cudaError_t
FillOn(void* handle,
       void* at,
       std::size_t pitch,
       uint32_t value,
       unsigned valueBytes,
       std::size_t width,
       std::size_t rows)
{
    Call call;
    Machine& machine = call.machine;
    Stream* stream = machine.Find(handle);
    if (!stream)
    {
        return cudaErrorInvalidResourceHandle;
    }
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(width, rows, &bytes) || (rows > 1 && width > pitch))
    {
        return cudaErrorInvalidValue;
    }
    if (bytes == 0)
    {
        return cudaSuccess;
    }
    if (!OnGpu(machine.memory().Find(at)) || !Fits(machine.memory(), at, pitch, width, rows))
    {
        return cudaErrorInvalidValue;
    }
    const Time time = Takes(static_cast<double>(bytes), TheSettings().memoryRate);
    const auto fill = [&machine, at, pitch, value, valueBytes, width, rows] {
        Allocation* allocation = machine.memory().Find(at);
        if (!allocation || (!allocation->written && value == 0))
        {
            return;
        }
        if (!allocation->kept)
        {
            Note(kNoContents);
            return;
        }
        allocation->written = true;
        for (std::size_t row = 0; row < rows; ++row)
        {
            char* begin = static_cast<char*>(at) + row * pitch;
            if (valueBytes == 1)
            {
                std::memset(begin, static_cast<int>(value), width);
                continue;
            }
            for (std::size_t done = 0; done + valueBytes <= width; done += valueBytes)
            {
                std::memcpy(begin + done, &value, valueBytes);
            }
        }
    };
    machine.Issue(stream, [&machine, time, bytes, fill](Stream* on) {
        Record("fill", *on, ", \"bytes\": " + std::to_string(bytes));
        machine.AddTimed(on, time, fill);
    });
    machine.Progress(call.lock);
    return cudaSuccess;
}

} // namespace gpus
