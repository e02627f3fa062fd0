/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_RANKS_H
#define NODE_WINDOW_RANKS_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

class NodeWindowGateway;

/// The next step of NodeWindows. Times are ticks; INT64_MAX: there is none.
struct NodeWindowPlan
{
    /// A time for each side of NodeWindowTeam.
    using Sides = std::array<int64_t, 2>;

    Sides begin;     //!< begin of the first window that some unit has something in
    Sides done;      //!< the nodes have run all before that
    int64_t before;  //!< the first event ahead of the nodes' of its time
    int64_t grid;    //!< the first grid timer that is due
    int64_t behind;  //!< the first event without a node
    int64_t waiting; //!< the first note that is not told yet
    int64_t last;    //!< time of the last event so far
    bool stop;       //!< nothing
    uint8_t kind;    //!< the least RdmaGridTimer::GetKind of those due at `grid`

    bool IsEmpty() const;

    /// \return the first tick at which a side may have something
    int64_t FirstOf(uint32_t side) const
    {
        return begin[side] == INT64_MAX ? begin[side] : std::max(begin[side], done[side]);
    }

    /// \return the same of both
    int64_t First() const
    {
        return std::min(FirstOf(0), FirstOf(1));
    }

    /// \return whose window comes first: the one that is behind; of equal ones that whose window
    /// began first
    uint32_t Side() const
    {
        return std::make_pair(FirstOf(1), begin[1]) < std::make_pair(FirstOf(0), begin[0]) ? 1 : 0;
    }

    /// \return the first tick behind something that is behind all that nodes do at its time
    static int64_t Behind(int64_t ts)
    {
        return ts == INT64_MAX ? ts : ts + 1;
    }

    /// \return the first tick that nodes must not run, as something else is due
    int64_t Until() const
    {
        return std::min({before, Behind(grid), Behind(behind)});
    }
};

/**
 * \ingroup rdma
 * The processes ("ranks") that run one simulation by node windows, seen from one of them. Each has
 * some of the nodes, and all run the same windows. Before each, every rank tells every other one in
 * a single message what it has to do next, and gives it the frames and words for it:
 *
 *     rank 0   | window k | <-> | window k+1 | <-> event without a node <-> | ...
 *     rank 1   | window k | <-> |  (nothing) | <->                      <-> | ...
 *
 * As no frame is at the other end of a link before the window in which it was sent is over, and an
 * event without a node runs when all nodes of all ranks have done what comes before, everything
 * happens as in one process.
 *
 * It knows nothing of MPI: somebody gives it a transport.
 */
class NodeWindowRanks
{
  public:
    using Bytes = std::vector<uint8_t>;

    /// Gives to[r] to rank r and fills from[r] with what that had for this one, of all but itself.
    /// Collective.
    using Transport = std::function<void(const std::vector<Bytes>& to, std::vector<Bytes>& from)>;
    using Listener = std::function<void(const std::string& word)>;
    /// \param from the rank that has posted this \param at its bytes, which stay until the ranks
    /// agree again \param end behind them
    using Reader = std::function<void(uint32_t from, const uint8_t* at, const uint8_t* end)>;

    NodeWindowRanks(uint32_t rank, uint32_t ranks, Transport transport);

    uint32_t GetRank() const
    {
        return m_rank;
    }

    /// The way to another rank. Before Run. \param gateway outlives the last Run
    void AddGateway(NodeWindowGateway& gateway);

    /// Nodes of these numbers are joined by a link of the whole network, of which no rank has all.
    /// Before Run, in the same order in all ranks.
    void AddLink(uint32_t one, uint32_t other)
    {
        m_links.emplace_back(one, other);
    }

    const std::vector<std::pair<uint32_t, uint32_t>>& GetLinks() const
    {
        return m_links;
    }

    /// Between windows, to all ranks, this one included: each hears it, in the order of ranks,
    /// before any of them does anything else.
    void Say(const std::string& word);
    void SetListener(Listener listener);

    /// Before Run, in the same order in all ranks. \return its number
    uint32_t AddReader(Reader reader);
    /**
     * Between windows, to one rank, this one included: its reader of this number gets these bytes
     * when they agree next, behind all words and before anything of the next window happens: a
     * rank's in the order of its posts, of several ranks in the order of ranks. Other than a word
     * it changes nothing of what comes next; whoever reads it may say something, if it knows that
     * they agree again.
     */
    void Post(uint32_t rank, uint32_t reader, const void* bytes, std::size_t size);
    /// Called when all is read that has come.
    void SetAllRead(std::function<void()> callback);

    /// \param mine what this rank has to do next \param lookAhead ticks: a frame counts for the
    /// window that it is there in \param sides of NodeWindowTeam \return what comes next of all.
    /// Deliver follows. Collective
    NodeWindowPlan Agree(const NodeWindowPlan& mine, int64_t lookAhead, uint32_t sides);
    /// Delivers what other ranks have sent. \return whether a rank has told all ranks something:
    /// they agree again then, as it may have changed the plan
    bool Deliver();

    /// \return the least of all. Collective
    int64_t Least(int64_t value);

  private:
    void Read(uint32_t from, const uint8_t* at, const uint8_t* end) const;

    uint32_t m_rank;
    Transport m_transport;
    std::vector<std::pair<uint32_t, uint32_t>> m_links;
    std::vector<NodeWindowGateway*> m_gateways; //!< by rank; null: none
    std::vector<Bytes> m_to;                    //!< by rank
    std::vector<Bytes> m_from;                  //!< by rank
    std::vector<std::string> m_words;
    std::vector<std::string> m_said; //!< by this one, when they agreed last
    Listener m_listener;
    std::vector<Bytes> m_posts; //!< by rank
    Bytes m_own;                //!< posted to itself, when they agreed last
    std::vector<Reader> m_readers;
    std::function<void()> m_allRead;
};

} // namespace ns3

#endif /* NODE_WINDOW_RANKS_H */
