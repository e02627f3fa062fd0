/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_SAMPLER_H
#define LINK_SAMPLER_H

#include "looks.h"
#include "port-watch.h"
#include "recalled-loads.h"
#include "reports/tables/link-table.h"

#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-grid-timer.h"

#include <functional>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * Looks at all links, for links.csv (reports::LinkTable).
 *
 * It has one event per interval for all links, on a grid of whole intervals, only while frames
 * move. A post or a retransmission arms it. It re-arms itself if a frame was sent since its last
 * look, a frame is on some link, or PFC holds a port. Otherwise it sleeps. Rows only for links that
 * sent something, were paused or hold a queue.
 *
 * With several ranks, each looks at its own ports, and MergeRanks makes one table for all.
 */
class LinkSampler
{
  public:
    /// \param path of links.csv; empty: no file \param portNames by end of RdmaFabric
    LinkSampler(ns3::RdmaFabric& fabric,
                const std::string& path,
                const std::vector<std::string>& portNames,
                int64_t intervalPs = 100000000,
                std::size_t rowLimit = 200000);

    /// Something will move: look again at the end of this interval.
    void Arm()
    {
        if (!m_last.empty())
        {
            m_timer.Arm();
        }
        if (m_watch)
        {
            m_watch->Arm();
        }
    }

    /// Somebody looks as long as this one does: it is armed too.
    void SetWatch(PortWatch* watch)
    {
        m_watch = watch;
    }

    /// Adds what was not sent, but recalled. \param loads outlives this
    void SetRecalled(RecalledLoads* loads)
    {
        m_recalled = loads;
    }

    /// \return whether frames move or will, as far as this process knows
    bool IsAwake() const
    {
        return m_timer.IsArmed();
    }

    /// \return the names of all directed links, by end
    static std::vector<reports::LinkTable::Link> LinksOf(const ns3::RdmaFabric& fabric,
                                                         const std::vector<std::string>& portNames);

    /// The result of one look, over all links.
    struct Sight
    {
        int64_t now{0};
        uint64_t frames{0}; //!< sent so far
        /// Data frames of RDMA and bytes of ordinary packets so far: another number, if anything
        /// that flows wait for has moved.
        uint64_t moved{0};
    };

    /// Called at every look.
    void SetObserver(std::function<void(const Sight&)> observer);

    /// Rows are kept from here on.
    void StartMeasuring(int64_t now);
    /// Are messages under way? Then it looks on for a while though nothing moves.
    void SetOutstanding(std::function<bool()> outstanding);
    /// The last, partial interval, and the file complete.
    void Finish(int64_t now);
    /// Collective, instead of Finish: the rows of all ranks into the first one's file. \param end
    /// of the simulation
    void MergeRanks(int64_t end);

    const reports::LinkTable& GetTable() const
    {
        return m_table;
    }

    uint64_t GetLooks() const
    {
        return m_count;
    }

  private:
    /// A port when it was last looked at.
    struct Last
    {
        uint64_t txWireBytes{0};
        int64_t residualPs{0}; //!< rest of the frame that was being sent
        int64_t busyPs{0};     //!< as Row::busyPs has it, from the beginning on
        uint64_t pausedPs{0};
        uint64_t ecnMarks{0};
    };

    void OnTimer(int64_t now);
    /// \return whether PFC holds a port
    bool Look(int64_t now);
    /// Frames sent by ports of this rank and not received by one, less those for other ranks.
    bool IsInFlight(uint64_t sent, uint64_t received) const;

    ns3::RdmaFabric& m_fabric;
    reports::LinkTable m_table;
    bool m_measuring{false};
    Looks m_looks;
    uint64_t m_lastFrames{0};
    bool m_inFlight{false}; //!< a frame is on some link
    std::function<bool()> m_outstanding;
    uint32_t m_patience{0}; //!< looks to go while nothing moves here but messages are under way
    uint64_t m_count{0};    //!< of looks
    std::vector<Last> m_last;
    std::function<void(const Sight&)> m_observer;
    PortWatch* m_watch{nullptr};        //!< null: nobody
    RecalledLoads* m_recalled{nullptr}; //!< null: everything is sent
    ns3::RdmaGridTimer m_timer;
};

} // namespace dltrain

#endif /* LINK_SAMPLER_H */
