/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_PATHS_H
#define COLLECTIVE_PATHS_H

#include "collectives/schedule.h"
#include "results/message-parts.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
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
 * Where a path was at some time: a message that has arrived, or the entry of a rank. In this
 * order what a message inside a server changes,
 * from shares[10] on, is one cache line: in large jobs most messages are such.
 */
struct alignas(64) PathRecord
{
    static constexpr std::size_t HOPS = 3;

    std::array<PathHop, HOPS> hops; //!< with most time, of different ports
    int64_t start{0};               //!< ps: rank `first` entered
    coll::Rank first{0};            //!< ranks here are those of the cluster
    coll::Rank from{0};          //!< of the last message, or of the first of a run inside a server
    uint32_t port{UINT32_MAX};   //!< where the last message spent most time; UINT32_MAX: inside
    uint32_t behind{UINT32_MAX}; //!< as PathHop
    PathRecord* before{nullptr}; //!< CollectivePaths::GetChain
    PathRecord* tail{nullptr};   //!< keeps what is before a boundary
    std::array<int64_t, PATH_SHARES> shares{}; //!< ps since `start`; together at - start
    int64_t at{0};                             //!< ps: arrival, or `start`
    uint32_t messages{0};                      //!< on the path
    coll::Rank to{0};                          //!< who is moved
    std::atomic<uint32_t> heads{0};            //!< of those who hold the path that ends here
    std::atomic<uint32_t> links{0};    //!< of records that go on from here; one more if heads
    uint16_t depth{0};                 //!< messages linked
    std::array<TimeShare, HOPS> why{}; //!< at each of hops, most of what it waited
    bool inside{false};                //!< the last message was inside a server

    PathRecord() = default;
    /// All but who holds it.
    PathRecord(const PathRecord& other);
    PathRecord& operator=(const PathRecord& other);
};

static_assert(sizeof(PathRecord) == 256);

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
 * is a record (256 B) for each message under way, and at most depth + 1 for each path held. With a
 * depth of 0 a path that nobody else holds takes its record along: nothing is copied or recycled.
 *
 * Paths meet in the records they have in common, so how many messages stay linked cannot be seen to
 * by whoever comes first to `depth`. Every record counts the messages linked to it, which follows
 * from its path alone; some records are boundaries, and the link across a boundary is kept by the
 * end of each path that still reaches back so far, and not by the boundary:
 *
 *     a <- b <- c <- D <- e <- f        D is a boundary: it does not hold c, but f does, as its
 *               ^--------------'        `tail`, and D's link is good as long. What goes on from f
 *                                       and reaches back to D no more has no tail.
 *
 * An end gives its tail back when nobody holds the path there, whatever goes on from it.
 *
 * Records are those of all threads: any may hold, drop and go on from any path. What one thread has
 * done with a record another sees at the next window of the engine, and not before.
 *
 * Nothing is noted of what carries MessageId::WARMUP in its tag.
 */
class CollectivePaths
{
  public:
    using Record = PathRecord;
    /// Its end; held by whoever has it, until it drops it.
    using Path = PathRecord*;

    static constexpr Path NONE = nullptr;
    static constexpr std::size_t HOPS = Record::HOPS;

    /// \param partsOf where the time of the message went that Arrive is told of, of this thread;
    /// null: not known
    /// \param depth messages to keep linked at most; 0: of a path there are the sums alone
    CollectivePaths(std::function<const MessageParts*()> partsOf, uint16_t depth);

    /// All calls below take and return NONE where nothing is noted.

    /// A rank enters. \return a path, held
    Path Enter(coll::Rank rank, uint32_t tag, int64_t now);
    /// A message between servers arrives: to be called while the network tells of it. \param cause
    /// of its post, held, which ends here. \return a path, held
    Path Arrive(Path cause, coll::Rank from, coll::Rank to, int64_t now);

    /// A message inside a server arrives. \param cause held, which ends here. \return a path, held
    Path ArriveInside(Path cause, coll::Rank from, coll::Rank to, int64_t posted, int64_t now)
    {
        return ArriveAlong(cause, from, to, posted, now, 1);
    }

    /// Messages inside a server of which each caused the next, posted at once by who got it.
    /// \param cause of the first, held, which ends here \param from whom the first was
    /// \param to whom the last was \param posted when the first was, ps \param now when the last
    /// arrived \param messages at least 1 \return a path, held
    Path ArriveAlong(Path cause,
                     coll::Rank from,
                     coll::Rank to,
                     int64_t posted,
                     int64_t now,
                     uint32_t messages);

    static void Hold(Path path);
    void Drop(Path path);

    /// For when its sender hears that it is there, in the order of arrival. \param path is held
    void Keep(uint64_t channel, Path path);
    /// It hears. \return what was kept, held
    Path TakeKept(uint64_t channel);
    /// No sender will hear of what was kept so far. Between the nodes' events.
    void ForgetKept();

    /// The path of the rank that leaves now, for whoever hears of it in this thread.
    static void SetLeaving(Path path);
    static Path GetLeaving();

    /// \return the record of a path and those linked to it, the last one first: one more than
    /// messages are linked
    static std::vector<const Record*> GetChain(const Record& path);

    /// \return records in use
    std::size_t GetSize() const
    {
        return m_used.load(std::memory_order_relaxed);
    }

    /// \return the most there ever were
    std::size_t GetMostSize() const
    {
        return m_most.load(std::memory_order_relaxed);
    }

  private:
    /// \param cause held, which ends here \return a path that goes on with a message, held: the
    /// same record where nobody else needs it as it is
    Path GoOn(Path cause, coll::Rank from, coll::Rank to, bool inside, int64_t now);
    /// \return a copy of a path that goes on with a message, held
    Path Continue(Path cause, coll::Rank from, coll::Rank to, bool inside, int64_t now);
    /// \return a new record, of the arrival of a message now, held
    static Path Begin(Path r, coll::Rank from, coll::Rank to, bool inside, int64_t now);
    /// A record goes on from this one no more.
    void Unlink(Path record);

    /// \return whether a record is one: of so many messages linked
    bool IsBoundary(const Record& record) const
    {
        return record.depth == m_period;
    }

    const std::function<const MessageParts*()> m_partsOf;
    const uint16_t m_depth;
    const uint16_t m_least;  //!< linked, of paths that had more than m_depth
    const uint16_t m_period; //!< messages from one boundary to the next
    std::atomic<std::size_t> m_used{0};
    std::atomic<std::size_t> m_most{0};
    std::mutex m_keeping;                                  //!< messages that are kept are few
    std::unordered_map<uint64_t, std::deque<Path>> m_kept; //!< by channel
};

} // namespace results

#endif /* COLLECTIVE_PATHS_H */
