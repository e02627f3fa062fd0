/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows as fluids over the directed links of a network, with max-min fair rates from end to end.
 *
 * **The law.** All flows of the highest priority grow at one speed. A flow stops growing when a
 * link of its path is full, or at its own limit (progressive filling: Bertsekas and Gallager, Data
 * Networks, 2nd ed. 1992, 6.5.2). The rate that remains goes to the next priority. So every flow
 * that is below its limit has a bottleneck: a full link where no other flow of its priority is
 * faster. Rates are whole bits a second; a link may have less than a bit/s a flow left over, or a
 * part in 2^30 of a flow's rate.
 *
 *     100 Gb/s     a: over x and y; b: over x; c, d: over y
 *     60 Gb/s      y is full first: a, c and d have 20 each. b has what a leaves of x: 80
 *
 * **Changes.** Flows that begin and end in one instant change the rates once, in Settle(). It
 * begins with the flows that began, and those that a changed link held up, and fills again beside
 * the rates of all others. Then it adds each flow of a touched link that no longer has a
 * bottleneck, or is faster than the link allows, until there is none: then all flows have one.
 * Links whose flows cannot fill them even together are left out. After some turns it adds all that
 * can be reached, but for flows slower than all that change, which filling comes to first. A flow
 * that begins when the same flow has just ended takes its rate; nothing is solved.
 *
 * **Patience.** Each change of a component of thousands of flows may change thousands of rates a
 * little. If more than kExact rates were set last time, Settle() gathers changes for a part of a
 * flow's own time: for n rates n / 2^20 of it, at most 1/256. A flow that has ended leaves its rate
 * unused for so long; a new one waits.
 *
 * **Use.** Begin() and Ended() in any order at one time, then Settle(). The next call is at
 * NextEnd() or before. Times never decrease.
 */
#ifndef TOPOLOGIES_SCALE_UP_FAIR_NETWORK_H
#define TOPOLOGIES_SCALE_UP_FAIR_NETWORK_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace topo
{

class FairNetwork
{
  public:
    static constexpr rdma::TimePoint kNever{std::numeric_limits<int64_t>::max()};
    static constexpr uint32_t kNone = UINT32_MAX;
    /// Components up to this number of flows have no patience (assumed: a solve takes 20 us).
    static constexpr uint32_t kExact = 256;

    explicit FairNetwork(std::vector<rdma::BitRate> links = {});

    /// \param path links by number, each once; at least one
    /// \param most its own limit; the slowest link of the path is one, too. At least 1 bit/s (not
    /// checked)
    /// \param priority the highest goes first
    /// \param cookie returned by Ended()
    /// \return number of an idle flow
    uint32_t Open(const std::vector<uint32_t>& path,
                  rdma::BitRate most,
                  uint8_t priority,
                  uint64_t cookie);

    /// \pre it is idle. Its number may be used again after the next Settle()
    void Close(uint32_t flow);

    /// \pre it is idle \param alone time at its limit; at least 1 ps
    void Begin(uint32_t flow, rdma::Duration alone, rdma::TimePoint now);

    struct End
    {
        uint64_t cookie = 0;
        uint32_t link = kNone; ///< its last bottleneck; kNone: its own limit
    };

    /// The next flow that has ended by now, which is idle.
    /// \return whether there was one; call until there is none
    bool Ended(rdma::TimePoint now, End& end);

    /// The end of an instant with changes: sets the rates from now on.
    void Settle(rdma::TimePoint now);

    /// \return whether Settle() has something to do
    bool IsChanged(rdma::TimePoint now) const
    {
        return !m_touched.empty() || m_due <= now.ps;
    }

    /// When to call Ended(), and Settle() if IsChanged(); kNever: nothing moves.
    rdma::TimePoint NextEnd();

    /// \return of a flow since the last Settle(), bit/s
    uint64_t RateOf(uint32_t flow) const
    {
        return m_flows[flow].busy ? m_flows[flow].rate : 0;
    }

    /// Flows that Settle() has looked at so far, and how often it did: for tests and measurements.
    std::pair<uint64_t, uint64_t> GetWork() const
    {
        return {m_looked, m_solves};
    }

  private:
    using Work = unsigned __int128; ///< bit/s times ps

    struct Flow
    {
        uint32_t first = 0; ///< of its legs, in m_legs
        uint32_t legs = 0;
        uint64_t cap = 0;   ///< bit/s
        uint64_t rate = 0;  ///< bit/s
        uint64_t given = 0; ///< solving: its next rate, bit/s
        uint64_t cookie = 0;
        Work left = 0;      ///< at `asOf`
        int64_t begun = 0;  ///< ps
        int64_t asOf = 0;   ///< ps
        int64_t end = 0;    ///< ps, at this rate
        uint32_t home = 0;  ///< the link that knows of its end; kNone: m_free does
        uint32_t known = 0; ///< grows with each change of what m_free knows
        uint32_t limit = 0; ///< the link that holds it up; kNone: its own limit
        uint8_t priority = 0;
        bool busy = false;
        bool isOn = false; ///< it is in the lists of its links
        bool touched = false;
        bool closed = false;
    };

    /// A flow at a link.
    struct Leg
    {
        uint32_t link;
        uint32_t place; ///< in the link's list
    };

    struct Entry
    {
        uint32_t flow;
        uint32_t leg; ///< in m_legs
    };

    struct Link
    {
        uint64_t rate = 0;        ///< bit/s
        uint64_t caps = 0;        ///< limits of its flows together, bit/s
        uint64_t carried = 0;     ///< rates of its flows together, bit/s
        uint64_t room = 0;        ///< solving: what the region's flows may have, bit/s
        uint64_t left = 0;        ///< solving: not given yet, bit/s
        uint64_t level = 0;       ///< solving: rate of the flows it holds up, bit/s
        uint64_t top = 0;         ///< solving: the fastest of the region's flows, bit/s
        uint64_t fair = 0;        ///< what a new flow could have had at the last solve, bit/s
        int64_t next = kNever.ps; ///< first end of the flows whose home it is
        uint32_t homes = 0;       ///< flows whose home it is
        uint32_t mine = 0;        ///< solving: of these the region's
        uint32_t waiting = 0;     ///< solving: flows without a rate
        uint32_t seen = 0;        ///< solving
        uint32_t reach = 0;       ///< flows of its component at the last solve
        uint32_t place = kNone;   ///< in m_ends
        bool tight = false;       ///< as of the last solve
        bool dirty = false;
        std::vector<Entry> flows;
    };

    struct FreeEnd
    {
        int64_t end;
        uint32_t flow;
        uint32_t known;

        bool operator<(const FreeEnd& other) const // for a heap with the earliest first
        {
            return end != other.end ? end > other.end : flow > other.flow;
        }
    };

    struct Share
    {
        uint64_t share; ///< bit/s, or less than the link has for each by now
        uint32_t link;

        bool operator<(const Share& other) const // for a heap with the least first
        {
            return share != other.share ? share > other.share : link > other.link;
        }
    };

    void Touch(uint32_t flow);
    void PutOn(uint32_t flow, int64_t now);
    void TakeOff(uint32_t flow, int64_t now);
    void Release(uint32_t flow);
    void Spoil(uint32_t link, int64_t due);
    /// \return ps that a change waits in such a component
    static int64_t Patience(uint32_t reach, int64_t duration);
    void Solve(int64_t now);
    /// Fills m_region with the flows that changes concern at once, and m_near with their links.
    void BeginRegion();
    /// Adds flows whose rates cannot stay as they are beside the region's new ones.
    /// \param all adds those of at least this rate that are reached, bit/s; UINT64_MAX: none
    /// \return whether there were any
    bool GrowRegion(uint64_t all);
    void FillAll();
    void AddToRegion(uint32_t flow);
    void AddToNear(uint32_t link);
    /// \return bit/s: slower flows are as they were
    uint64_t LeastChanged() const;
    /// Gives rates to the flows of a priority in m_region.
    void Fill(uint8_t priority);
    /// The root of the heap m_shares is replaced.
    void PutFirst(const Share& share);
    void Freeze(uint32_t flow, uint64_t rate, uint32_t limit);
    void Apply(uint32_t flow, int64_t now);
    void SetEnd(Flow& flow, int64_t now);
    /// Its end has changed: its home, or m_free, hears of it.
    void NoteEnd(uint32_t flow);
    /// A link's `next` has changed.
    void Sift(uint32_t link);
    bool IsBefore(uint32_t link, uint32_t other) const;

    std::vector<Link> m_links;
    std::vector<Flow> m_flows;
    std::vector<uint32_t> m_seen; ///< by flow: m_round, of the region; m_round + 1: it has a rate
    std::vector<Leg> m_legs;
    std::vector<uint32_t> m_idle;                ///< numbers of flows to be used again
    std::vector<std::vector<uint32_t>> m_unused; ///< by length: parts of m_legs
    std::vector<uint32_t> m_touched;             ///< flows that have begun or ended
    std::vector<uint32_t> m_fresh;               ///< flows that have no rate yet
    std::vector<uint32_t> m_dirty;               ///< links
    uint64_t m_leaves = UINT64_MAX;              ///< least rate of flows that have ended, bit/s
    int64_t m_due = kNever.ps;                   ///< when rates are to be set for these
    std::vector<uint32_t> m_ends;                ///< links with ends, a heap by `next`
    std::vector<FreeEnd> m_free;                 ///< ends of flows without tight links
    std::vector<End> m_ended;
    std::size_t m_told = 0; ///< of m_ended
    uint32_t m_round = 0;
    uint8_t m_priority = 0;      ///< of the first flow
    bool m_isOnePriority = true; ///< no flow has another one
    uint64_t m_looked = 0;
    uint64_t m_solves = 0;

    // solving
    std::vector<uint32_t> m_region; ///< flows
    std::vector<uint32_t> m_near;   ///< links
    std::vector<uint32_t> m_byCap;  ///< flows of a priority
    std::vector<Share> m_shares;
};

} // namespace topo

#endif // TOPOLOGIES_SCALE_UP_FAIR_NETWORK_H
