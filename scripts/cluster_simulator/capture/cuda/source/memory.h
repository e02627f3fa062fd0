/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Memory of the GPUs that a process sees: a range of addresses in a file without blocks, which
 * takes no memory until it is written, and which other processes of the job can map.
 *
 *     GPU 0                   GPU 1                     ...
 *     | bytes of a GPU        | bytes of a GPU          |
 *
 * Allocations up to Settings::keep have contents. Larger ones are reserved and nothing else: copies
 * to them, fills and collectives on them leave no trace.
 */
#ifndef CUDA_MEMORY_H
#define CUDA_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace gpus
{

struct Allocation
{
    int gpu = 0; ///< of the server; -1: memory of the host
    std::size_t size = 0;
    bool kept = true;
    bool written = false; ///< something was copied to it
    bool managed = false;
    bool registered = false; ///< host memory that the program allocated itself
};

/// Of one GPU: first fit.
class Heap
{
  public:
    explicit Heap(uint64_t size);

    /// Offset of a free range, in whole granules; UINT64_MAX: there is none.
    uint64_t Take(uint64_t size);
    void Give(uint64_t offset, uint64_t size);

    uint64_t Used() const
    {
        return m_used;
    }

  private:
    std::map<uint64_t, uint64_t> m_free; ///< offset: size
    uint64_t m_used = 0;
};

class Memory
{
  public:
    Memory();

    /// Null: the GPU's memory is full.
    void* Allocate(int gpu, std::size_t size, bool managed);
    /// Pinned memory of the host; null: this machine has none left.
    void* AllocateHost(std::size_t size);
    void RegisterHost(void* begin, std::size_t size);
    /// Whether there was such an allocation, of that kind.
    bool Free(void* begin, bool host);

    /// The allocation that an address lies in; null: the program's own memory.
    Allocation* Find(const void* address);
    /// Where the allocation begins that an address lies in.
    char* BeginOf(const void* address);
    uint64_t Used(int gpu) const;

    /// "FILE OFFSET" by which other processes find an address; the file is this process's number.
    uint64_t OffsetOf(const void* address) const;
    /// An address in the memory of another process, or this one's.
    char* At(int process, uint64_t offset);

  private:
    char* Map(int process, bool create);

    std::vector<Heap> m_heaps;
    std::map<const char*, Allocation> m_allocations;
    std::unordered_map<int, char*> m_mapped;
    char* m_begin = nullptr;
    int m_file = -1;
};

} // namespace gpus

#endif // CUDA_MEMORY_H
