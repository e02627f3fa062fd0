/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_ATTRIBUTION_COLLECTIVE_PATHS_H
#define REPORTS_ATTRIBUTION_COLLECTIVE_PATHS_H

#include "collectives/core/schedule.h"
#include "reports/attribution/message-parts.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace reports
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
std::string GetPathShareMeaning(std::size_t share);

/// A message of a path at a port.
struct PathHop
{
    uint32_t port{UINT32_MAX};   //!< end of a link in the fabric; UINT32_MAX: none
    uint32_t behind{UINT32_MAX}; //!< tag of the packets queued in front; UINT32_MAX: none
    int64_t time{0};             //!< ps
    int64_t waited{0};           //!< part of it that is not serialization, cable or pipeline
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
    //! Sender of the last message, or of the first message of a run inside a server
    coll::Rank from{0};
    uint32_t port{UINT32_MAX};   //!< where the last message spent most time; UINT32_MAX: inside
    uint32_t behind{UINT32_MAX}; //!< as PathHop
    PathRecord* before{nullptr}; //!< CollectivePaths::GetChain
    PathRecord* tail{nullptr};   //!< keeps the records before a boundary
    std::array<int64_t, PATH_SHARES> shares{}; //!< ps since `start`; together at - start
    int64_t at{0};                             //!< ps: arrival, or `start`
    uint32_t messages{0};                      //!< messages on the path
    coll::Rank to{0};                          //!< the rank that the path has reached
    std::atomic<uint32_t> heads{0};            //!< number of holders of the path that ends here
    //! Number of records that go on from here; plus one if there are heads
    std::atomic<uint32_t> links{0};
    uint16_t depth{0};                 //!< messages linked
    std::array<TimeShare, HOPS> why{}; //!< at each of `hops`: the cause of most of the wait
    bool inside{false};                //!< the last message was inside a server

    PathRecord() = default;
    /// Copies everything except the holders.
    PathRecord(const PathRecord& other);
    PathRecord& operator=(const PathRecord& other);
};

static_assert(sizeof(PathRecord) == 256);

/**
 * Critical paths inside collectives, noted forwards, as messages arrive:
 *
 *     rank 3 enters --post--> message --arrives at--> rank 0 --post--> message --arrives at--> ...
 *
 * A lane of a schedule (collectives/core/schedule.h) moves on an event: its rank enters, or an
 * awaited message arrives. That event is the cause of all posts that follow. So the path of a
 * message is that of the cause of its post, plus its own journey. A message that arrived before it
 * was waited for causes nothing. A rank leaves on the path of the last event that moved any of its
 * lanes. Paths therefore begin where some rank enters, have no gaps, and their shares add up to
 * their length, exactly.
 *
 * A path is a record with the sums of all earlier ones, linked to the record before. Records are
 * reference-counted and recycled (messages in a row inside a server share one). A record is free
 * when no message in flight, no rank in a collective and no listener holds it. The last `depth`
 * messages of a path stay linked; earlier ones live on in the sums only. So memory is a record (256
 * B) for each message in flight, and at most depth + 1 for each path held. With a depth of 0, a
 * path with a single holder takes its record along: nothing is copied or recycled.
 *
 * Paths share records, so a path that reaches `depth` cannot cut a link that others need. Every
 * record counts the messages linked to it, which follows from its path alone. Some records are
 * boundaries. The boundary itself does not hold the link across it; the end of each path that still
 * reaches back so far does:
 *
 *     a <- b <- c <- D <- e <- f        D is a boundary: it does not hold c, but f does, as its
 *               ^--------------'        `tail`, and D's link is good as long. What goes on from f
 *                                       and reaches back to D no more has no tail.
 *
 * An end gives its tail back when it has no holder left, whatever goes on from it.
 *
 * All threads share the records: any may hold, drop and go on from any path. A thread's changes to
 * a record become visible to others at the next window of the engine, not earlier.
 *
 * Messages with MessageId::WARMUP in their tag are not noted.
 */
class CollectivePaths
{
  public:
    using Record = PathRecord;
    /// Its end; held by whoever has it, until it drops it.
    using Path = PathRecord*;

    static constexpr Path NONE = nullptr;
    static constexpr std::size_t HOPS = Record::HOPS;

    /// \param depth messages to keep linked at most; 0: a path has its sums alone
    explicit CollectivePaths(uint16_t depth);

    /// All calls below take and return NONE where nothing is noted.

    /// A rank enters. \return a path, held
    Path Enter(coll::Rank rank, uint32_t tag, int64_t now);
    /// A message between servers arrives. \param cause cause of its post, held, which ends here
    /// \param divided the parts of its time; null: not known \return a path, held
    Path Arrive(Path cause,
                coll::Rank from,
                coll::Rank to,
                const MessageParts* divided,
                int64_t now);

    /// A message inside a server arrives. \param cause held, which ends here. \return a path, held
    Path ArriveInside(Path cause, coll::Rank from, coll::Rank to, int64_t posted, int64_t now)
    {
        return ArriveAlong(cause, from, to, posted, now, 1);
    }

    /// Messages in a row inside a server: each caused the next, posted at once by the receiver.
    /// \param cause cause of the first, held, which ends here
    /// \param from sender of the first
    /// \param to receiver of the last
    /// \param posted post of the first, ps
    /// \param now arrival of the last, ps
    /// \param messages at least 1
    /// \return a path, held
    Path ArriveAlong(Path cause,
                     coll::Rank from,
                     coll::Rank to,
                     int64_t posted,
                     int64_t now,
                     uint32_t messages);

    static void Hold(Path path);
    void Drop(Path path);

    /// Keeps a path until the message's sender hears of the arrival, in the order of arrival.
    /// \param path is held
    void Keep(uint64_t channel, Path path);
    /// The sender hears of it. \return the path that was kept, held
    Path TakeKept(uint64_t channel);
    /// No sender will hear of the kept paths. Call it between the nodes' events.
    void ForgetKept();

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
    /// \param cause held, which ends here
    /// \return a path that goes on with a message, held: the same record if it has no other holder
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

    const uint16_t m_depth;
    const uint16_t m_least;  //!< linked, of paths that had more than m_depth
    const uint16_t m_period; //!< messages from one boundary to the next
    std::atomic<std::size_t> m_used{0};
    std::atomic<std::size_t> m_most{0};
    std::mutex m_keeping;                                  //!< messages that are kept are few
    std::unordered_map<uint64_t, std::deque<Path>> m_kept; //!< by channel
};

} // namespace reports

#endif /* REPORTS_ATTRIBUTION_COLLECTIVE_PATHS_H */
