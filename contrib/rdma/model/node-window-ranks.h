/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_RANKS_H
#define NODE_WINDOW_RANKS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ns3
{

class RdmaGateway;

/// What NodeWindows does next: ticks, INT64_MAX if there is none.
struct NodeWindowPlan
{
    int64_t begin;   //!< of the window that is run, or of the first that some unit has something in
    int64_t before;  //!< the first event ahead of the nodes' of its time
    int64_t grid;    //!< the first grid timer that is due
    int64_t behind;  //!< the first event without a node
    int64_t done;    //!< the nodes have run all before that
    int64_t last;    //!< of all events so far
    bool stop;       //!< nothing
    uint8_t kind;    //!< the least RdmaGridTimer::GetKind of those due at `grid`
    uint8_t side{0}; //!< whose window it is

    bool IsEmpty() const;
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
    void AddGateway(RdmaGateway& gateway);

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

    /// \param mine what this rank has to do next \param window ticks; a frame counts for when it is
    /// there \return what comes next of all. Deliver follows. Collective
    NodeWindowPlan Agree(const NodeWindowPlan& mine, int64_t window);
    /// What was sent here has come. \return whether anything was said to all ranks: they agree
    /// again then, as that may have changed what comes next
    bool Deliver();

    /// \return the least of all. Collective
    int64_t Least(int64_t value);

  private:
    void Read(uint32_t from, const uint8_t* at, const uint8_t* end) const;

    uint32_t m_rank;
    Transport m_transport;
    std::vector<RdmaGateway*> m_gateways; //!< by rank; null: none
    std::vector<Bytes> m_to;              //!< by rank
    std::vector<Bytes> m_from;            //!< the same
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
