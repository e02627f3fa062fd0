/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is recalled at the same time shares ports of the network.
 *
 * A recalled collective or message ends as it did when it was alone. While several use a port, each
 * is slower: its share of the port is at most what it had alone, and ports that are full are shared
 * max-min fair, by progressive filling: all shares grow together until a port is full, and those of
 * the others go on. All that one does goes slower by the same factor. Queues, and what congestion
 * control makes of them, are not seen.
 */
#ifndef COLLECTIVES_RECALL_RECALL_FLOWS_H
#define COLLECTIVES_RECALL_RECALL_FLOWS_H

#include "collectives/recall/recall-doubt.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace coll
{

/// What a collective or a message has to send through a port.
struct RecallLoad
{
    uint32_t port;
    int64_t busy; ///< ps that it takes the port
    bool inner;   ///< between switches
};

/// \return ps that bytes take
inline int64_t
BusyOf(uint64_t bytes, uint64_t bps)
{
    return static_cast<int64_t>(8e12 * static_cast<double>(bytes) / static_cast<double>(bps));
}

/// Hears when parts of a flow end.
class RecallFlowUser
{
  public:
    virtual ~RecallFlowUser() = default;
    /// \param part its number in what RecallFlows::Begin was given \param at ps; what was said
    /// before no longer counts
    virtual void EndPart(uint64_t flow, uint32_t part, int64_t at) = 0;
};

class RecallFlows
{
  public:
    /// \param delay ps: what ends sooner than this from a change is left as it is
    /// \param doubt outlives this
    RecallFlows(int64_t delay, RecallDoubt& doubt)
        : m_delay(delay),
          m_doubt(doubt)
    {
    }

    /// Something is recalled. EndPart is called for each of its parts, and for those of others that
    /// end at another time now.
    /// \param owner group of ranks: how its flows slow each other is known already
    /// \param flow its number, of those that have begun and not ended, at this user
    /// \param loads outlives it \param parts ps behind `now`, if it is alone
    void Begin(RecallFlowUser& user,
               uint32_t owner,
               uint64_t flow,
               const std::vector<RecallLoad>& loads,
               int64_t now,
               const std::vector<int64_t>& parts);

    /// What uses ports, and is no recalled flow.
    enum class Use : uint8_t
    {
        SENT,       ///< in packets
        FOLLOWS,    ///< not sent: it ends as another one that is
        EARLY,      ///< in packets: what a rank sends before all others have launched
        HELD_EARLY, ///< the same, not sent
    };

    /// \param until ps: it is over then, even if EndPackets was not called
    /// \return its number, for EndPackets
    uint32_t BeginPackets(uint32_t owner,
                          const std::vector<RecallLoad>& loads,
                          int64_t now,
                          Use use = Use::SENT,
                          int64_t until = INT64_MAX);
    /// \return whether packets of other owners used its ports meanwhile
    bool EndPackets(uint32_t number);

    /// \return whether something of other owners uses one of the ports that is not in packets
    bool IsBesideRecalled(uint32_t owner, const std::vector<RecallLoad>& loads, int64_t now) const;
    /// \return whether packets of other owners use one of the ports now
    bool IsBesidePackets(uint32_t owner, const std::vector<RecallLoad>& loads, int64_t now) const;
    /// \return other owners that use one of the ports, in packets or not, all of whose ranks have
    /// launched
    std::set<uint32_t> FindUsers(uint32_t owner,
                                 const std::vector<RecallLoad>& loads,
                                 int64_t now) const;

    /// \return a number that nobody else has
    uint32_t AddOwner()
    {
        return m_owners++;
    }

  private:
    struct Part
    {
        uint32_t number;
        int64_t offset; ///< ps of work
        int64_t at;     ///< ps: what EndPart was told
    };

    struct Flow
    {
        RecallFlowUser* user;
        uint32_t owner;
        bool isTail;   ///< its owner has begun another: it slows nobody, and is not slowed
        uint64_t name; ///< the user's
        const std::vector<RecallLoad>* loads;
        std::vector<Part> parts; ///< that have not ended, by offset
        double duration;         ///< ps of work
        double done;             ///< ps of work, at `asOf`
        int64_t asOf;            ///< ps
        int64_t end;             ///< ps: of the last part
    };

    struct InPackets
    {
        uint32_t owner;
        const std::vector<RecallLoad>* loads;
        Use use;
        int64_t until; ///< ps
        bool isAlone;  ///< no packets of others used its ports so far
    };

    using Names = std::set<uint32_t>;

    static bool IsSent(const InPackets& its, int64_t now)
    {
        return its.use == Use::SENT || (its.use == Use::EARLY && its.until > now);
    }

    /// Those that share a port with a flow, directly or through others, and itself.
    Names ConnectedTo(uint32_t first) const;
    /// \return of a port, while it is alone
    static double ShareOf(const Flow& flow, const RecallLoad& load);
    /// Those among them that run, each with its speed: work a ps.
    std::map<uint32_t, double> SpeedsOf(const Names& names) const;
    /// Brings them to `until`, without changing what was told.
    void Advance(const Names& names, int64_t until);
    /// Tells all their ends from `now` on, and notes how much later they are than was thought.
    void Foresee(const Names& names, int64_t now);
    /// Advances those that share ports with a flow, and forgets what has ended. \return the others
    Names BringTo(uint32_t first, int64_t now);
    void ForgetEnded(int64_t now);

    int64_t m_delay;
    RecallDoubt& m_doubt;
    uint32_t m_next = 0;
    uint32_t m_owners = 0;
    std::map<uint32_t, Flow> m_flows;
    std::unordered_map<uint32_t, Names> m_flowsOfPort;
    std::map<uint32_t, InPackets> m_inPackets;
    std::unordered_map<uint32_t, Names> m_inPacketsOfPort;
    std::size_t m_most = 32; ///< from so many flows on, those that have ended are forgotten
};

} // namespace coll

#endif // COLLECTIVES_RECALL_RECALL_FLOWS_H
