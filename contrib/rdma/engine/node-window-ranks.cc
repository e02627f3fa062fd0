/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-ranks.h"

#include "node-window-gateway.h"

#include "ns3/abort.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace ns3
{

namespace
{

constexpr int64_t NEVER = INT64_MAX;

/// How a message begins; words follow, each behind its length, then posts, then frames.
struct Head
{
    NodeWindowPlan plan;
    uint64_t words;
    uint64_t postBytes;
};

/// Ahead of a post.
struct PostHead
{
    uint32_t reader;
    uint32_t size;
};

template <class T>
void
Put(std::vector<uint8_t>& to, const T& value)
{
    const std::size_t size = to.size();
    to.resize(size + sizeof(value));
    std::memcpy(to.data() + size, &value, sizeof(value));
}

template <class T>
T
Take(const uint8_t*& at, const uint8_t* end)
{
    NS_ABORT_MSG_IF(static_cast<std::size_t>(end - at) < sizeof(T),
                    "a message from another process is cut off");
    T value;
    std::memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    return value;
}

} // namespace

bool
NodeWindowPlan::IsEmpty() const
{
    return std::min({begin[0], begin[1], before, grid, behind, waiting}) == NEVER;
}

NodeWindowRanks::NodeWindowRanks(uint32_t rank, uint32_t ranks, Transport transport)
    : m_rank(rank),
      m_transport(std::move(transport)),
      m_gateways(ranks),
      m_to(ranks),
      m_from(ranks),
      m_posts(ranks)
{
}

void
NodeWindowRanks::AddGateway(NodeWindowGateway& gateway)
{
    m_gateways.at(gateway.GetRank()) = &gateway;
    gateway.UseWindows();
}

void
NodeWindowRanks::Say(const std::string& word)
{
    m_words.push_back(word);
}

void
NodeWindowRanks::SetListener(Listener listener)
{
    m_listener = std::move(listener);
}

uint32_t
NodeWindowRanks::AddReader(Reader reader)
{
    m_readers.push_back(std::move(reader));
    return static_cast<uint32_t>(m_readers.size() - 1);
}

void
NodeWindowRanks::Post(uint32_t rank, uint32_t reader, const void* bytes, std::size_t size)
{
    Bytes& to = m_posts[rank];
    Put(to, PostHead{reader, static_cast<uint32_t>(size)});
    const auto* first = static_cast<const uint8_t*>(bytes);
    to.insert(to.end(), first, first + size);
}

void
NodeWindowRanks::SetAllRead(std::function<void()> callback)
{
    m_allRead = std::move(callback);
}

void
NodeWindowRanks::Read(uint32_t from, const uint8_t* at, const uint8_t* end) const
{
    while (at < end)
    {
        const auto head = Take<PostHead>(at, end);
        NS_ABORT_MSG_IF(end - at < head.size, "a message from another process is cut off");
        m_readers.at(head.reader)(from, at, at + head.size);
        at += head.size;
    }
}

NodeWindowPlan
NodeWindowRanks::Agree(const NodeWindowPlan& mine, int64_t lookAhead, uint32_t sides)
{
    // What is on its way from here is to be counted by all, not by who gets it alone.
    Head head{mine, m_words.size(), 0};
    for (uint32_t side = 0; side < sides; ++side)
    {
        int64_t sent = NEVER;
        for (const NodeWindowGateway* gateway : m_gateways)
        {
            sent = gateway ? std::min(sent, gateway->GetFirstArrival(side)) : sent;
        }
        if (sent != NEVER) // as NodeWindowShard::WindowOf has it
        {
            const int64_t begin = sent - (sent + side * lookAhead) % (sides * lookAhead);
            head.plan.begin[side] = std::min(mine.begin[side], begin);
        }
    }
    for (uint32_t rank = 0; rank < m_to.size(); ++rank)
    {
        if (rank == m_rank)
        {
            continue;
        }
        Bytes& to = m_to[rank];
        to.clear();
        head.postBytes = m_posts[rank].size();
        Put(to, head);
        for (const std::string& word : m_words)
        {
            Put(to, static_cast<uint32_t>(word.size()));
            to.insert(to.end(), word.begin(), word.end());
        }
        to.insert(to.end(), m_posts[rank].begin(), m_posts[rank].end());
        m_posts[rank].clear();
        if (m_gateways[rank])
        {
            m_gateways[rank]->TakeSent(to);
        }
    }
    m_own.swap(m_posts[m_rank]);
    m_posts[m_rank].clear();
    m_said = std::exchange(m_words, {});
    m_transport(m_to, m_from);
    NodeWindowPlan all = head.plan;
    for (uint32_t rank = 0; rank < m_from.size(); ++rank)
    {
        if (rank != m_rank)
        {
            const uint8_t* at = m_from[rank].data();
            const NodeWindowPlan theirs = Take<Head>(at, at + m_from[rank].size()).plan;
            for (uint32_t side = 0; side < all.begin.size(); ++side)
            {
                all.begin[side] = std::min(all.begin[side], theirs.begin[side]);
                all.done[side] = std::min(all.done[side], theirs.done[side]);
            }
            all.before = std::min(all.before, theirs.before);
            std::tie(all.grid, all.kind) = std::min(std::make_pair(all.grid, all.kind),
                                                    std::make_pair(theirs.grid, theirs.kind));
            all.behind = std::min(all.behind, theirs.behind);
            all.waiting = std::min(all.waiting, theirs.waiting);
            all.last = std::max(all.last, theirs.last);
            all.stop |= theirs.stop;
        }
    }
    return all;
}

bool
NodeWindowRanks::Deliver()
{
    bool any = !m_said.empty();
    const auto hear = [this](const std::string& word) {
        if (m_listener)
        {
            m_listener(word);
        }
    };
    for (uint32_t rank = 0; rank < m_from.size(); ++rank)
    {
        if (rank == m_rank)
        {
            const std::vector<std::string> said = std::exchange(m_said, {});
            std::for_each(said.begin(), said.end(), hear);
            Read(rank, m_own.data(), m_own.data() + m_own.size());
            continue;
        }
        const uint8_t* at = m_from[rank].data();
        const uint8_t* end = at + m_from[rank].size();
        const auto head = Take<Head>(at, end);
        any |= head.words > 0;
        for (uint64_t i = 0; i < head.words; ++i)
        {
            const auto size = Take<uint32_t>(at, end);
            NS_ABORT_MSG_IF(end - at < size, "a message from another process is cut off");
            hear(std::string(at, at + size));
            at += size;
        }
        NS_ABORT_MSG_IF(static_cast<uint64_t>(end - at) < head.postBytes,
                        "a message from another process is cut off");
        Read(rank, at, at + head.postBytes);
        at += head.postBytes;
        if (at != end)
        {
            NS_ABORT_MSG_UNLESS(m_gateways[rank], "frames from a process without links to it");
            m_gateways[rank]->TakeReceived(at, end);
        }
    }
    if (m_allRead)
    {
        m_allRead();
    }
    return any;
}

int64_t
NodeWindowRanks::Least(int64_t value)
{
    for (Bytes& to : m_to)
    {
        to.clear();
        Put(to, value);
    }
    m_transport(m_to, m_from);
    for (uint32_t rank = 0; rank < m_from.size(); ++rank)
    {
        if (rank != m_rank)
        {
            const uint8_t* at = m_from[rank].data();
            value = std::min(value, Take<int64_t>(at, at + m_from[rank].size()));
        }
    }
    return value;
}

} // namespace ns3
