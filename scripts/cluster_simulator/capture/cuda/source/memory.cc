/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "memory.h"

#include "settings.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gpus
{

namespace
{

/// cudaMalloc's addresses are multiples of at least 256 (CUDA C++ Programming Guide); pages here,
/// so that what is freed can be given back.
constexpr uint64_t kGranule = 4096;

uint64_t
Granules(uint64_t size)
{
    return (size + kGranule - 1) / kGranule * kGranule;
}

} // namespace

Heap::Heap(uint64_t size)
{
    m_free[0] = size / kGranule * kGranule;
}

uint64_t
Heap::Take(uint64_t size)
{
    for (auto range = m_free.begin(); range != m_free.end(); ++range)
    {
        const auto [offset, room] = *range;
        if (room >= size)
        {
            m_free.erase(range);
            if (room > size)
            {
                m_free[offset + size] = room - size;
            }
            m_used += size;
            return offset;
        }
    }
    return UINT64_MAX;
}

void
Heap::Give(uint64_t offset, uint64_t size)
{
    m_used -= size;
    auto range = m_free.emplace(offset, size).first;
    const auto next = std::next(range);
    if (next != m_free.end() && offset + size == next->first)
    {
        range->second += next->second;
        m_free.erase(next);
    }
    if (range != m_free.begin())
    {
        const auto before = std::prev(range);
        if (before->first + before->second == offset)
        {
            before->second += range->second;
            m_free.erase(range);
        }
    }
}

Memory::Memory()
{
    const Settings& settings = TheSettings();
    m_heaps.assign(static_cast<std::size_t>(settings.gpus), Heap(settings.bytes));
    m_begin = Map(getpid(), true);
}

char*
Memory::Map(int process, bool create)
{
    const Settings& settings = TheSettings();
    const std::string path = settings.memory + "/memory-" + std::to_string(process);
    const uint64_t size = settings.bytes * static_cast<uint64_t>(settings.gpus);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600);
    if (file < 0 || (create && ftruncate(file, static_cast<off_t>(size)) != 0))
    {
        Fail("no memory for the simulated GPUs: " + path + ": " + std::strerror(errno));
    }
    void* begin = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (begin == MAP_FAILED)
    {
        Fail("no addresses for the simulated GPUs' " + std::to_string(size) +
             " bytes of memory: " + std::strerror(errno));
    }
    if (create)
    {
        m_file = file;
    }
    else
    {
        close(file);
    }
    m_mapped[process] = static_cast<char*>(begin);
    return static_cast<char*>(begin);
}

void*
Memory::Allocate(int gpu, std::size_t size, bool managed)
{
    const Settings& settings = TheSettings();
    // (The largest sizes would be 0 granules.)
    const uint64_t offset = size > settings.bytes
                                ? UINT64_MAX
                                : m_heaps[static_cast<std::size_t>(gpu)].Take(Granules(size));
    if (offset == UINT64_MAX)
    {
        return nullptr;
    }
    char* begin = m_begin + static_cast<uint64_t>(gpu) * settings.bytes + offset;
    Allocation& made = m_allocations[begin];
    made.gpu = gpu;
    made.size = size;
    made.kept = managed || size <= settings.keep;
    made.written = managed; // the host may write it
    made.managed = managed;
    return begin;
}

void*
Memory::AllocateHost(std::size_t size)
{
    void* begin = nullptr;
    if (posix_memalign(&begin, kGranule, size) != 0)
    {
        return nullptr;
    }
    RegisterHost(begin, size);
    m_allocations[static_cast<char*>(begin)].registered = false;
    return begin;
}

void
Memory::RegisterHost(void* begin, std::size_t size)
{
    Allocation& made = m_allocations[static_cast<char*>(begin)];
    made.gpu = -1;
    made.size = size;
    made.registered = true;
}

bool
Memory::Free(void* begin, bool host)
{
    const auto found = m_allocations.find(static_cast<char*>(begin));
    if (found == m_allocations.end() || (found->second.gpu < 0) != host)
    {
        return false;
    }
    if (!host)
    {
        const Settings& settings = TheSettings();
        const uint64_t size = Granules(found->second.size);
        const uint64_t offset = OffsetOf(begin);
        m_heaps[static_cast<std::size_t>(found->second.gpu)].Give(offset % settings.bytes, size);
        if (found->second.written)
        {
            fallocate(m_file,
                      FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(offset),
                      static_cast<off_t>(size));
        }
    }
    m_allocations.erase(found);
    return true;
}

char*
Memory::BeginOf(const void* address)
{
    auto next = m_allocations.upper_bound(static_cast<const char*>(address));
    if (next == m_allocations.begin())
    {
        return nullptr;
    }
    --next;
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(address) - next->first);
    return offset < next->second.size ? const_cast<char*>(next->first) : nullptr;
}

Allocation*
Memory::Find(const void* address)
{
    const char* begin = BeginOf(address);
    return begin ? &m_allocations[begin] : nullptr;
}

uint64_t
Memory::Used(int gpu) const
{
    return m_heaps[static_cast<std::size_t>(gpu)].Used();
}

uint64_t
Memory::OffsetOf(const void* address) const
{
    return static_cast<uint64_t>(static_cast<const char*>(address) - m_begin);
}

char*
Memory::At(int process, uint64_t offset)
{
    const auto found = m_mapped.find(process);
    return (found == m_mapped.end() ? Map(process, false) : found->second) + offset;
}

} // namespace gpus
