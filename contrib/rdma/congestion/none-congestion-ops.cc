/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "none-congestion-ops.h"

#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaNoneCongestionOps);

TypeId
RdmaNoneCongestionOps::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::NoneCongestionOps")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaNoneCongestionOps>()
            .AddAttribute("Rate",
                          "Fixed sending rate on the wire (bit/s); 0: the line rate",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaNoneCongestionOps::m_rate),
                          MakeUintegerChecker<uint64_t>(0, MAX_BPS))
            .AddAttribute(
                "Window",
                "Unacknowledged payload at which no further packet starts (bytes); 0: unlimited",
                UintegerValue(0),
                MakeUintegerAccessor(&RdmaNoneCongestionOps::m_window),
                MakeUintegerChecker<uint64_t>(0, MAX_BYTES));
    return tid;
}

void
RdmaNoneCongestionOps::Init(RdmaCongestionState& state)
{
    state.rateBps = m_rate ? std::min(m_rate, state.line.bps) : state.line.bps;
    state.windowBytes =
        m_window ? std::max<uint64_t>(m_window, state.mtu) : RdmaCongestionState::UNLIMITED;
}

} // namespace ns3
