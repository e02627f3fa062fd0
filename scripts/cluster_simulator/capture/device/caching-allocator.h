/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GPU memory as PyTorch's caching allocator hands it out (c10/cuda/CUDACachingAllocator.cpp of
 * PyTorch 1.13, whose constants these are), without any memory behind it:
 *
 *   - sizes are rounded up to 512 B;
 *   - up to 1 MiB: from segments of 2 MiB, a block is split where 512 B or more would be left;
 *   - above: from segments of 20 MiB if less than 10 MiB, else of the size rounded up to 2 MiB; a
 *     block is split where more than 1 MiB would be left;
 *   - of the free blocks of the same stream and pool the smallest that fits, then the lowest;
 *   - a freed block is joined with free neighbours and kept;
 *   - a block that other streams use as well (record_stream) is no one's when it is freed, until
 *     these have passed what they were given before (cudaEventQuery of events that are recorded
 *     then; here stream-order.h): allocated is less at once, active and reserved are not;
 *   - when the GPU is full, the program waits for such blocks, whole free segments are given back,
 *     and it is tried once more. So does empty_cache().
 *
 *      segment of 20 MiB
 *     +--------+------------------------------+
 *     | 4 MiB  | 16 MiB, free, kept for others |     reserved 20 MiB, allocated 4 MiB
 *     +--------+------------------------------+
 */
#ifndef CAPTURE_CACHING_ALLOCATOR_H
#define CAPTURE_CACHING_ALLOCATOR_H

#include "stream-order.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace capture
{

/// What torch.cuda.memory_stats tells of one quantity.
struct Level
{
    int64_t current = 0;
    int64_t peak = 0;
    int64_t added = 0; ///< in all, since the program began

    void Add(int64_t amount);
};

/// Of one GPU. Not for several threads at once.
class CachingAllocator
{
  public:
    struct Block
    {
        int64_t stream = 0;
        uint64_t size = 0;
        uint64_t address = 0; ///< within the GPU's addresses
        bool small = false;
        bool used = false;
        Block* before = nullptr; ///< neighbours in the segment
        Block* after = nullptr;
        std::set<int64_t> users; ///< other streams that use it: StreamKey()
    };

    /// `capacity`: bytes that segments may take.
    CachingAllocator(uint64_t capacity, int device, StreamOrder& order);
    ~CachingAllocator();
    CachingAllocator(const CachingAllocator&) = delete;
    CachingAllocator& operator=(const CachingAllocator&) = delete;

    /// nullptr: there is not so much left. 0 bytes take none and are no block.
    Block* Allocate(uint64_t bytes, int64_t stream);
    void Free(Block* block);
    /// The stream (StreamKey()) uses it as well as its own.
    void RecordStream(Block* block, int64_t stream);

    /// Gives back the segments of which nothing is used.
    void EmptyCache();
    void ResetPeaks();

    uint64_t Capacity() const
    {
        return m_capacity;
    }

    /// Segments take no more from now on (set_per_process_memory_fraction).
    void Allow(uint64_t bytes)
    {
        m_allowed = bytes;
    }

    /// Nothing: all of the capacity.
    const std::optional<uint64_t>& Allowed() const
    {
        return m_allowed;
    }

    Level allocated; ///< bytes of blocks in use
    Level reserved;  ///< bytes of segments
    Level blocks;    ///< blocks in use
    Level active;    ///< bytes in use, or freed and used by another stream still
    Level activeBlocks;
    Level segments;
    int64_t retries = 0; ///< how often segments had to be given back
    int64_t failures = 0;

  private:
    struct Smaller
    {
        bool operator()(const Block* a, const Block* b) const;
    };

    using Pool = std::set<Block*, Smaller>;

    /// Freed, and used by other streams until there.
    struct Held
    {
        Block* block;
        std::vector<std::pair<int64_t, uint64_t>> until; ///< streams, tickets
    };

    void GiveBackHeld();
    void PutBack(Block* block);

    Block* NewSegment(uint64_t bytes, int64_t stream, bool small);
    void ReleaseFree(Pool& pool);
    void Absorb(Block* block, Block* neighbour, Pool& pool);

    uint64_t m_capacity;
    std::optional<uint64_t> m_allowed;
    int m_device;
    StreamOrder& m_order;
    std::deque<Held> m_held;
    uint64_t m_nextAddress = 512; ///< never 0: that is no address
    Pool m_freeSmall;
    Pool m_freeLarge;
    std::set<Block*> m_used;
};

} // namespace capture

#endif // CAPTURE_CACHING_ALLOCATOR_H
