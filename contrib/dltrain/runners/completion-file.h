/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_COMPLETION_FILE_H
#define DLTRAIN_COMPLETION_FILE_H

#include "reports/base/line-log.h"
#include "scenarios/job/scenario.h"

#include "ns3/rdma-fabric-helper.h"

#include <cstdint>
#include <vector>

namespace dltrain
{

/// \return what a flow takes on an idle network, ps
int64_t IdealCompletionPs(const scenario::TrafficScenario& scenario,
                          ns3::RdmaFabric& fabric,
                          const scenario::Flow& flow);

/**
 * fct.txt, HPCC's own result file, for its analysis scripts, which look for the flow file's
 * destination port: only of flows that are read from a file.
 *
 *     sip dip sport dport size start fct standalone
 *
 * Lines are in the order in which flows are complete. To be compatible (--compat=hpcc) a flow's
 * source port is that code's: a host counts its flows from 10000.
 */
class CompletionFile
{
  public:
    /// Opens the file, if it is wanted. Both arguments outlive this.
    CompletionFile(const scenario::TrafficScenario& scenario, ns3::RdmaFabric& fabric);

    bool IsWanted() const
    {
        return m_wanted;
    }

    /// A flow is complete. \param sourcePort of the packets of the end that posted it, of a network
    /// that has packets
    void Write(uint32_t flow, uint16_t sourcePort, int64_t now);
    /// Collective with several Ranks: the first one writes the lines of all.
    void Close();

  private:
    /// With several ranks: until they are merged.
    struct Line
    {
        int64_t time;
        uint32_t endpoint; //!< where it is complete
        char text[160];
    };

    const scenario::TrafficScenario& m_scenario;
    ns3::RdmaFabric& m_fabric;
    bool m_wanted;
    reports::LineLog m_log;
    std::vector<uint16_t> m_portsThere; //!< by flow, to be compatible; else empty
    std::vector<Line> m_lines;
};

} // namespace dltrain

#endif // DLTRAIN_COMPLETION_FILE_H
