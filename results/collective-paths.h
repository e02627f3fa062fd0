/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_PATHS_H
#define COLLECTIVE_PATHS_H

#include "collectives/schedule.h"
#include "results/message-parts.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace results
{

/// Where the time of a path through a collective can have gone: as TimeShare, and:
enum class PathShare : uint8_t
{
    INSIDE_SERVERS = static_cast<uint8_t>(TimeShare::COUNT), //!< messages over scale-up links
    SOFTWARE, //!< between the cause of a send and its post (CollectiveOptions::stepLatency)
    UNKNOWN,  //!< messages between servers that noted nothing on their way
    COUNT
};

constexpr std::size_t PATH_SHARES = static_cast<std::size_t>(PathShare::COUNT);

/// \return "serialization", "inside_servers", ... as in the files
const char* GetPathShareName(std::size_t share);
/// \return as GetTimeShareWords
const char* GetPathShareWords(std::size_t share, const rdma::LinkWords& link);

/// A message of a path at a port.
struct PathHop
{
    uint32_t port{UINT32_MAX};   //!< end of the fabric; UINT32_MAX: none
    uint32_t behind{UINT32_MAX}; //!< tag of those it was queued behind; UINT32_MAX: nobody
    int64_t time{0};             //!< ps
    int64_t waited{0};           //!< of it not serialization, cable and pipeline
};

/**
 * Critical paths inside collectives, noted forwards, as messages arrive:
 *
 *     rank 3 enters --post--> message --arrives at--> rank 0 --post--> message --arrives at--> ...
 *
 * A lane of a schedule (collectives/schedule.h) moves when what it waits for happens: its rank
 * enters, or a message arrives. All it posts then, it posts because of that; so the path of a
 * message is that of the cause of its post, plus its own journey. What arrived before it was waited
 * for is no cause of anything. The path on which a rank leaves is the one of the last event that
 * moved any of its lanes. Paths therefore begin where some rank enters, have no gaps, and their
 * shares add up to their length, exactly.
 *
 * A path is a record with the sums of all before it, linked to the record before. Records are
 * counted references and recycled (messages inside a server that follow one another share one):
 * what no message under way, no rank in a collective and no listener holds is free. At most `depth`
 * messages of a path stay linked, the last ones; those before live on in the sums only. So memory
 * is a record (256 B) for each message under way, and at most depth + 1 for each path held.
 *
 * Nothing is noted of what carries MessageId::WARMUP in its tag.
 */
class CollectivePaths
{
  public:
    static constexpr uint32_t NONE = UINT32_MAX;
    static constexpr std::size_t HOPS = 3;

    /// In this order what a message inside a server changes, from shares[11] on, is one cache line:
    /// in large jobs most messages are such.
    struct alignas(64) Record
    {
        std::array<PathHop, HOPS> hops; //!< with most time, of different ports
        int64_t start{0};               //!< ps: rank `first` entered
        coll::Rank first{0};            //!< ranks here are those of the cluster
        coll::Rank from{0};    //!< of the last message, or of the first of a run inside a server
        uint32_t before{NONE}; //!< record, or the next free one
        uint32_t port{NONE};   //!< where the last message spent most time; NONE: inside a server
        uint32_t behind{NONE}; //!< as PathHop
        std::array<TimeShare, HOPS> why{};         //!< at each of hops, most of what it waited
        std::array<int64_t, PATH_SHARES> shares{}; //!< ps since `start`; together at - start
        int64_t at{0};                             //!< ps: arrival, or `start`
        uint32_t references{0};
        uint32_t messages{0}; //!< on the path
        coll::Rank to{0};     //!< who is moved
        uint16_t depth{0};    //!< messages linked, at most
        bool inside{false};   //!< the last message was inside a server
    };

    static_assert(sizeof(Record) == 256);

    /// \param partsOf where the time of the message went that Arrive is told of; null: not known
    /// \param depth messages to keep linked at most, at least 1
    CollectivePaths(std::function<const MessageParts*()> partsOf, uint16_t depth);

    /// All calls below take and return NONE where nothing is noted.

    /// A rank enters. \return a record, held
    uint32_t Enter(coll::Rank rank, uint32_t tag, int64_t now);
    /// A message between servers is posted. \param channel messages arrive in the order of posting
    void Post(uint64_t channel, uint32_t cause);
    /// It arrives: to be called while the network tells of it. \return a record, held
    uint32_t Arrive(uint64_t channel, coll::Rank from, coll::Rank to, int64_t now);
    /// For when its sender hears that it is there, in the order of arrival. \param record is held
    void Keep(uint64_t channel, uint32_t record);
    /// It hears. \return what was kept, held
    uint32_t TakeKept(uint64_t channel);
    /// A message inside a server arrives. \param cause held, which ends here. \return a record,
    /// held
    uint32_t ArriveInside(uint32_t cause,
                          coll::Rank from,
                          coll::Rank to,
                          int64_t posted,
                          int64_t now);

    void Hold(uint32_t record)
    {
        if (record != NONE)
        {
            ++At(record).references;
        }
    }

    void Drop(uint32_t record);

    /// The path of the rank that leaves now, for whoever hears of it.
    void SetLeaving(uint32_t record)
    {
        m_leaving = record;
    }

    uint32_t GetLeaving() const
    {
        return m_leaving;
    }

    const Record& Get(uint32_t record) const
    {
        return (*m_blocks[record / BLOCK])[record % BLOCK];
    }

    /// \return records in use
    std::size_t GetSize() const
    {
        return m_used;
    }

    /// \return the most there ever were
    std::size_t GetMostSize() const
    {
        return m_made;
    }

  private:
    /// Records, first in, first out.
    struct Queue
    {
        uint32_t head{NONE};
        uint32_t tail{NONE};
    };

    struct Channel
    {
        Queue underWay;  //!< what messages were posted after
        Queue delivered; //!< Keep
    };

    struct Entry
    {
        uint32_t record{NONE};
        uint32_t next{NONE};
    };

    static constexpr uint32_t BLOCK = 1024;

    Record& At(uint32_t record)
    {
        return (*m_blocks[record / BLOCK])[record % BLOCK];
    }

    void Append(Queue& queue, uint32_t record);
    uint32_t TakeFirst(Queue& queue);
    /// \param cause held, which ends here
    uint32_t ArriveAfter(uint32_t cause, coll::Rank from, coll::Rank to, int64_t now);
    /// \return a copy of a path that goes on with a message, held
    uint32_t Continue(uint32_t cause, coll::Rank from, coll::Rank to, bool inside, int64_t now);

    const std::function<const MessageParts*()> m_partsOf;
    const uint16_t m_depth;
    std::vector<std::unique_ptr<std::array<Record, BLOCK>>> m_blocks;
    uint32_t m_freeRecord{NONE};
    uint32_t m_made{0};
    std::size_t m_used{0};
    std::unordered_map<uint64_t, Channel> m_channels;
    std::vector<Entry> m_entries;
    uint32_t m_freeEntry{NONE};
    uint32_t m_leaving{NONE};
};

} // namespace results

#endif /* COLLECTIVE_PATHS_H */
