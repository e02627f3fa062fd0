/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "caching-allocator.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace capture
{

namespace
{

// kMinBlockSize, kSmallSize, kSmallBuffer, kLargeBuffer, kMinLargeAlloc, kRoundLarge there.
constexpr uint64_t kSmallestBlock = 512;
constexpr uint64_t kLargestSmall = 1ULL << 20;
constexpr uint64_t kSmallSegment = 2ULL << 20;
constexpr uint64_t kLargeSegment = 20ULL << 20;
constexpr uint64_t kSegmentOfItsOwn = 10ULL << 20;
constexpr uint64_t kSegmentStep = 2ULL << 20;

uint64_t
RoundedUp(uint64_t bytes, uint64_t step)
{
    return (bytes + step - 1) / step * step;
}

uint64_t
SegmentFor(uint64_t size)
{
    if (size <= kLargestSmall)
    {
        return kSmallSegment;
    }
    return size < kSegmentOfItsOwn ? kLargeSegment : RoundedUp(size, kSegmentStep);
}

bool
WorthSplitting(const CachingAllocator::Block& block, uint64_t size)
{
    const uint64_t left = block.size - size;
    return block.small ? left >= kSmallestBlock : left > kLargestSmall;
}

} // namespace

void
Level::Add(int64_t amount)
{
    current += amount;
    peak = std::max(peak, current);
    added += std::max<int64_t>(amount, 0);
}

bool
CachingAllocator::Smaller::operator()(const Block* a, const Block* b) const
{
    return std::tie(a->stream, a->size, a->address) < std::tie(b->stream, b->size, b->address);
}

CachingAllocator::CachingAllocator(uint64_t capacity, int device, StreamOrder& order)
    : m_capacity(capacity),
      m_device(device),
      m_order(order)
{
}

CachingAllocator::~CachingAllocator()
{
    for (const Pool* pool : {&m_freeSmall, &m_freeLarge})
    {
        for (const Block* block : *pool)
        {
            delete block;
        }
    }
    for (const Block* block : m_used)
    {
        delete block;
    }
    for (const Held& held : m_held)
    {
        delete held.block;
    }
}

CachingAllocator::Block*
CachingAllocator::Allocate(uint64_t bytes, int64_t stream)
{
    if (bytes == 0)
    {
        return nullptr;
    }
    GiveBackHeld();
    const uint64_t size = RoundedUp(bytes, kSmallestBlock);
    const bool small = size <= kLargestSmall;
    Pool& pool = small ? m_freeSmall : m_freeLarge;
    Block wanted;
    wanted.stream = stream;
    wanted.size = size;
    Block* block = nullptr;
    if (const auto found = pool.lower_bound(&wanted);
        found != pool.end() && (*found)->stream == stream)
    {
        block = *found;
        pool.erase(found);
    }
    else
    {
        block = NewSegment(size, stream, small);
        if (block == nullptr)
        {
            ++retries;
            EmptyCache();
            block = NewSegment(size, stream, small);
        }
        if (block == nullptr)
        {
            ++failures;
            return nullptr;
        }
    }
    if (WorthSplitting(*block, size))
    {
        auto* rest = new Block(*block);
        rest->address += size;
        rest->size -= size;
        rest->before = block;
        if (rest->after != nullptr)
        {
            rest->after->before = rest;
        }
        block->after = rest;
        block->size = size;
        pool.insert(rest);
    }
    block->used = true;
    m_used.insert(block);
    for (Level* level : {&allocated, &active})
    {
        level->Add(static_cast<int64_t>(block->size));
    }
    for (Level* level : {&blocks, &activeBlocks})
    {
        level->Add(1);
    }
    return block;
}

void
CachingAllocator::RecordStream(Block* block, int64_t stream)
{
    if (stream != StreamKey(m_device, block->stream))
    {
        block->users.insert(stream);
    }
}

void
CachingAllocator::Free(Block* block)
{
    allocated.Add(-static_cast<int64_t>(block->size));
    blocks.Add(-1);
    m_used.erase(block);
    if (block->users.empty())
    {
        PutBack(block);
        return;
    }
    Held held{block, {}};
    for (const int64_t stream : block->users)
    {
        held.until.emplace_back(stream, m_order.Issue(stream));
    }
    block->users.clear();
    m_held.push_back(std::move(held));
}

void
CachingAllocator::GiveBackHeld()
{
    const auto passed = [this](const auto& one) {
        return m_order.HasPassed(one.first, one.second);
    };
    for (auto held = m_held.begin(); held != m_held.end();)
    {
        if (std::all_of(held->until.begin(), held->until.end(), passed))
        {
            PutBack(held->block);
            held = m_held.erase(held);
        }
        else
        {
            ++held;
        }
    }
}

void
CachingAllocator::PutBack(Block* block)
{
    active.Add(-static_cast<int64_t>(block->size));
    activeBlocks.Add(-1);
    block->used = false;
    Pool& pool = block->small ? m_freeSmall : m_freeLarge;
    Absorb(block, block->before, pool);
    Absorb(block, block->after, pool);
    pool.insert(block);
}

void
CachingAllocator::Absorb(Block* block, Block* neighbour, Pool& pool)
{
    if (neighbour == nullptr || neighbour->used)
    {
        return;
    }
    pool.erase(neighbour);
    if (neighbour == block->before)
    {
        block->address = neighbour->address;
        block->before = neighbour->before;
        if (block->before != nullptr)
        {
            block->before->after = block;
        }
    }
    else
    {
        block->after = neighbour->after;
        if (block->after != nullptr)
        {
            block->after->before = block;
        }
    }
    block->size += neighbour->size;
    delete neighbour;
}

CachingAllocator::Block*
CachingAllocator::NewSegment(uint64_t bytes, int64_t stream, bool small)
{
    const uint64_t size = SegmentFor(bytes);
    if (static_cast<uint64_t>(reserved.current) + size > m_allowed.value_or(m_capacity))
    {
        return nullptr;
    }
    auto* block = new Block;
    block->stream = stream;
    block->size = size;
    block->address = m_nextAddress;
    block->small = small;
    m_nextAddress += size;
    reserved.Add(static_cast<int64_t>(size));
    segments.Add(1);
    return block;
}

void
CachingAllocator::EmptyCache()
{
    for (const Held& held : m_held)
    {
        for (const auto& [stream, ticket] : held.until)
        {
            m_order.ProgramWaitsForStream(stream);
        }
    }
    GiveBackHeld();
    ReleaseFree(m_freeSmall);
    ReleaseFree(m_freeLarge);
}

void
CachingAllocator::ReleaseFree(Pool& pool)
{
    std::vector<Block*> whole;
    std::copy_if(pool.begin(), pool.end(), std::back_inserter(whole), [](const Block* block) {
        return block->before == nullptr && block->after == nullptr;
    });
    for (Block* block : whole)
    {
        pool.erase(block);
        reserved.Add(-static_cast<int64_t>(block->size));
        segments.Add(-1);
        delete block;
    }
}

void
CachingAllocator::ResetPeaks()
{
    for (Level* level : {&allocated, &reserved, &blocks, &active, &activeBlocks, &segments})
    {
        level->peak = level->current;
    }
}

} // namespace capture
