/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/attribution/collective-paths.h"

#include "contrib/rdma/core/object-pool.h"
#include "reports/attribution/message-id.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace reports
{

const char*
GetPathShareName(std::size_t share)
{
    static const char* const others[] = {"inside_servers", "software", "collectives_undivided"};
    constexpr auto ours = static_cast<std::size_t>(PathShare::INSIDE_SERVERS);
    return share < ours ? GetTimeShareName(static_cast<TimeShare>(share)) : others[share - ours];
}

const char*
GetPathShareWords(std::size_t share, const rdma::LinkWords& link)
{
    switch (static_cast<PathShare>(share))
    {
    case PathShare::INSIDE_SERVERS:
        return "inside servers";
    case PathShare::SOFTWARE:
        return "in software latency";
    case PathShare::UNKNOWN:
        return "between servers, not divided further";
    default:
        return GetTimeShareWords(static_cast<TimeShare>(share), link);
    }
}

std::string
GetPathShareMeaning(std::size_t share)
{
    return WordsOfLinks(GetPathShareWords(share, rdma::kEthernetWords),
                        GetPathShareWords(share, rdma::kInfiniBandWords));
}

namespace
{

/// A record, or where the next free one is.
struct alignas(PathRecord) RecordMemory
{
    unsigned char bytes[sizeof(PathRecord) - sizeof(RecordMemory*)];
    RecordMemory* next; ///< in the cache line that whoever drops a record has looked at
};

static_assert(sizeof(RecordMemory) == sizeof(PathRecord));

using Pools = rdma::ThreadPools<RecordMemory>;

/// One holder less. \return whether it was the last one
bool
Release(std::atomic<uint32_t>& count)
{
    // Only a holder can make another holder.
    return count.load(std::memory_order_acquire) == 1 ||
           count.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

/// \param count the caller is one of the holders that it counts
void
Take(std::atomic<uint32_t>& count)
{
    if (count.load(std::memory_order_relaxed) == 1)
    {
        count.store(2, std::memory_order_relaxed); // there is no other holder
        return;
    }
    count.fetch_add(1, std::memory_order_relaxed);
}

/// A record goes on from this one. \param record somebody holds it, or goes on from it
void
Link(PathRecord& record)
{
    record.links.fetch_add(1, std::memory_order_relaxed);
}

} // namespace

PathRecord::PathRecord(const PathRecord& other)
{
    *this = other;
}

PathRecord&
PathRecord::operator=(const PathRecord& other)
{
    hops = other.hops;
    start = other.start;
    first = other.first;
    from = other.from;
    port = other.port;
    behind = other.behind;
    before = other.before;
    tail = other.tail;
    shares = other.shares;
    at = other.at;
    messages = other.messages;
    to = other.to;
    depth = other.depth;
    why = other.why;
    inside = other.inside;
    return *this;
}

CollectivePaths::CollectivePaths(uint16_t depth)
    : m_depth(depth),
      m_least(static_cast<uint16_t>((m_depth + 1) / 2)),
      m_period(static_cast<uint16_t>(m_depth + 1 - m_least))
{
}

void
CollectivePaths::Hold(Path path)
{
    if (path != NONE)
    {
        Take(path->heads);
    }
}

void
CollectivePaths::Drop(Path path)
{
    if (path == NONE || !Release(path->heads))
    {
        return;
    }
    path->heads.store(0, std::memory_order_relaxed);
    if (path->tail)
    {
        Unlink(std::exchange(path->tail, nullptr));
    }
    Unlink(path);
}

void
CollectivePaths::Unlink(Record* record)
{
    while (record && Release(record->links))
    {
        Record* before = IsBoundary(*record) ? nullptr : record->before;
        record->~Record();
        Pools::Get().Free(reinterpret_cast<RecordMemory*>(record));
        m_used.fetch_sub(1, std::memory_order_relaxed);
        record = before;
    }
}

CollectivePaths::Path
CollectivePaths::Enter(coll::Rank rank, uint32_t tag, int64_t now)
{
    if (MessageId::IsWarmup(tag))
    {
        return NONE;
    }
    const Path entry = Continue(NONE, rank, rank, false, now);
    entry->start = now;
    entry->first = rank;
    return entry;
}

CollectivePaths::Path
CollectivePaths::Continue(Path cause, coll::Rank from, coll::Rank to, bool inside, int64_t now)
{
    const std::size_t used = m_used.fetch_add(1, std::memory_order_relaxed) + 1;
    if (used > m_most.load(std::memory_order_relaxed))
    {
        m_most.store(used, std::memory_order_relaxed);
    }
    void* memory = Pools::Get().Allocate();
    if (cause == NONE)
    {
        return Begin(new (memory) Record(), from, to, inside, now);
    }
    // Counts first, the record then: a processor does not change a count that others may change,
    // too, before all that was written ahead of it has reached the cache.
    Record* before = cause;
    Record* tail = cause->tail; // the cause is held, and so its tail is there
    uint16_t depth = cause->depth;
    if (inside && cause->inside)
    {
        from = cause->from; // in its place
        before = cause->before;
    }
    else
    {
        if (++depth > m_depth)
        {
            depth = m_least;
        }
        if (depth == m_period)
        {
            tail = cause;
        }
        else if (depth < m_period)
        {
            tail = nullptr;
        }
        if (depth == 0) // m_depth is: none stays linked
        {
            before = nullptr;
        }
    }
    if (before && depth != m_period)
    {
        Link(*before);
    }
    if (tail)
    {
        Link(*tail);
    }
    Record* r = new (memory) Record(*cause);
    ++r->messages;
    r->before = before;
    r->tail = tail;
    r->depth = depth;
    return Begin(r, from, to, inside, now);
}

CollectivePaths::Path
CollectivePaths::GoOn(Path cause, coll::Rank from, coll::Rank to, bool inside, int64_t now)
{
    // One message more of a run inside a server is the same record, and where none stays linked,
    // any message is.
    const bool run = inside && cause->inside;
    if ((!run && m_depth > 0) || cause->heads.load(std::memory_order_acquire) != 1 ||
        cause->links.load(std::memory_order_acquire) != 1)
    {
        const Path path = Continue(cause, from, to, inside, now);
        Drop(cause);
        return path;
    }
    ++cause->messages; // no other path goes on from there
    cause->at = now;
    cause->to = to;
    if (!run)
    {
        cause->inside = inside;
        cause->from = from;
        cause->port = cause->behind = UINT32_MAX;
    }
    return cause;
}

CollectivePaths::Path
CollectivePaths::Begin(Path r, coll::Rank from, coll::Rank to, bool inside, int64_t now)
{
    r->inside = inside;
    r->heads.store(1, std::memory_order_relaxed);
    r->links.store(1, std::memory_order_relaxed);
    r->at = now;
    r->from = from;
    r->to = to;
    r->port = r->behind = UINT32_MAX;
    return r;
}

void
CollectivePaths::Keep(uint64_t channel, Path path)
{
    Hold(path);
    const std::lock_guard<std::mutex> lock(m_keeping);
    m_kept[channel].push_back(path);
}

CollectivePaths::Path
CollectivePaths::TakeKept(uint64_t channel)
{
    const std::lock_guard<std::mutex> lock(m_keeping);
    std::deque<Path>& kept = m_kept[channel];
    assert(!kept.empty());
    const Path path = kept.front();
    kept.pop_front();
    return path;
}

void
CollectivePaths::ForgetKept()
{
    for (const auto& [channel, kept] : std::exchange(m_kept, {}))
    {
        for (const Path path : kept)
        {
            Drop(path);
        }
    }
}

std::vector<const PathRecord*>
CollectivePaths::GetChain(const Record& path)
{
    std::vector<const Record*> chain{&path};
    for (uint16_t i = 0; i < path.depth; ++i)
    {
        chain.push_back(chain.back()->before);
    }
    return chain;
}

CollectivePaths::Path
CollectivePaths::Arrive(Path cause,
                        coll::Rank from,
                        coll::Rank to,
                        const MessageParts* divided,
                        int64_t now)
{
    if (cause == NONE)
    {
        return NONE;
    }
    const int64_t caused = cause->at;
    const Path path = GoOn(cause, from, to, false, now);
    Record& r = *path;
    if (!divided)
    {
        r.shares[static_cast<std::size_t>(PathShare::UNKNOWN)] += now - caused;
        return path;
    }
    int64_t before = now - caused; // time that the message's parts do not account for
    for (std::size_t i = 0; i < divided->parts.size(); ++i)
    {
        r.shares[i] += divided->parts[i];
        before -= divided->parts[i];
    }
    r.shares[static_cast<std::size_t>(PathShare::SOFTWARE)] += before;
    int64_t most = -1;
    for (const MessageParts::Hop& hop : divided->hops)
    {
        const uint32_t behind = hop.behind.known ? hop.behind.tag : UINT32_MAX;
        if (hop.time > most)
        {
            most = hop.time;
            r.port = hop.port;
            r.behind = behind;
        }
        // A path has one hop for each port: it replaces that port's hop, or the least one.
        PathHop* least = &r.hops[0];
        for (PathHop& other : r.hops)
        {
            if (other.port == hop.port)
            {
                least = &other;
                break;
            }
            least = other.time < least->time ? &other : least;
        }
        if (hop.time > least->time)
        {
            *least = {hop.port, behind, hop.time, hop.waited};
            r.why[static_cast<std::size_t>(least - r.hops.data())] = hop.why;
        }
    }
    return path;
}

CollectivePaths::Path
CollectivePaths::ArriveAlong(Path cause,
                             coll::Rank from,
                             coll::Rank to,
                             int64_t posted,
                             int64_t now,
                             uint32_t messages)
{
    if (cause == NONE)
    {
        return NONE;
    }
    const int64_t caused = cause->at;
    const Path path = GoOn(cause, from, to, true, now);
    Record& r = *path;
    r.messages += messages - 1;
    r.shares[static_cast<std::size_t>(PathShare::SOFTWARE)] += posted - caused;
    r.shares[static_cast<std::size_t>(PathShare::INSIDE_SERVERS)] += now - posted;
    return path;
}

} // namespace reports
