/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PORT_WATCH_H
#define PORT_WATCH_H

#include "looks.h"
#include "reports/tables/watch-table.h"

#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-grid-timer.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * Looks at chosen ports at multiples of an interval, for watch.csv (reports::WatchTable), while
 * frames move: as long as LinkSampler looks, which knows.
 *
 * With several ranks each looks at its own ports, and MergeRanks makes one table for all.
 */
class PortWatch
{
  public:
    /// \param path of watch.csv; empty: no file \param ends of RdmaFabric, ascending \param awake
    /// whether frames move or will
    PortWatch(ns3::RdmaFabric& fabric,
              const std::string& path,
              const std::vector<uint32_t>& ends,
              std::vector<reports::LinkTable::Link> links,
              int64_t intervalPs,
              std::function<bool()> awake);

    /// Something will move.
    void Arm()
    {
        m_timer.Arm();
    }

    /// Rows are kept from here on.
    void StartMeasuring(int64_t now);
    /// The last, partial interval. \param now end of the simulation
    void Finish(int64_t now);
    /// Collective, instead of Finish.
    void MergeRanks(int64_t now);

    const reports::WatchTable& GetTable() const
    {
        return m_table;
    }

  private:
    /// A port when it was last looked at.
    struct Watched
    {
        const ns3::RdmaPort* port;
        uint32_t end;
        int64_t busyPs{0}; //!< from the beginning on
        int64_t pausedPs{0};
        uint64_t marks{0};
        bool quiet{true}; //!< its last row was all zeros, or there was none
    };

    void OnTimer(int64_t now);
    void Look(int64_t now);

    ns3::RdmaFabric& m_fabric;
    reports::WatchTable m_table;
    std::vector<Watched> m_ports; //!< of this process
    std::function<bool()> m_awake;
    Looks m_looks;
    bool m_measuring{false};
    ns3::RdmaGridTimer m_timer;
};

} // namespace dltrain

#endif /* PORT_WATCH_H */
