/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_FABRIC_BASELINE_H
#define DLTRAIN_FABRIC_BASELINE_H

#include "ns3/rdma-fabric-helper.h"

#include <cstdint>
#include <vector>

namespace dltrain
{

/// A fabric's counters at some time: when measuring started.
struct FabricBaseline
{
    FabricBaseline() = default;
    FabricBaseline(const ns3::RdmaFabric& fabric, int64_t now);

    int64_t time{0}; //!< ps
    ns3::RdmaNicCounters nics;
    ns3::RdmaPortCounters ports;
    std::vector<uint64_t> drops;         //!< by reason
    std::vector<uint64_t> txWireBytes;   //!< by port of RdmaFabric::GetPorts
    std::vector<uint64_t> pausedPs;      //!< the same
    std::vector<uint64_t> ordinaryBytes; //!< the same
    std::vector<uint64_t> recalledBytes; //!< the same: RecalledLoads; empty: there are none
    uint64_t recalledMessages{0};        //!< RecalledLoads::GetMessageBytes
    std::vector<uint64_t> carried;       //!< TraceCollector::GetCarried
    uint64_t rerouted{0};
    ns3::RdmaTrimCounters trims;
};

} // namespace dltrain

#endif // DLTRAIN_FABRIC_BASELINE_H
