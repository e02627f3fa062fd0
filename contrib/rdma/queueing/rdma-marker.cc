/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-marker.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaMarker);

TypeId
RdmaMarker::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaMarker").SetParent<Object>().SetGroupName("Rdma");
    return tid;
}

RdmaMarker::~RdmaMarker() = default;

bool
RdmaMarker::OnEnqueue(const RdmaFrame&, uint64_t, int64_t)
{
    return false;
}

} // namespace ns3
