/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-event.h"

#include "ns3/assert.h"

namespace ns3
{

int64_t RdmaClock::g_psPerTick = 1000;

void
RdmaClock::Update()
{
    switch (Time::GetResolution())
    {
    case Time::FS:
        g_psPerTick = -1000;
        break;
    case Time::PS:
        g_psPerTick = 1;
        break;
    case Time::NS:
        g_psPerTick = 1000;
        break;
    case Time::US:
        g_psPerTick = 1000000;
        break;
    case Time::MS:
        g_psPerTick = 1000000000;
        break;
    default:
        g_psPerTick = 1000000000000;
        break;
    }
}

} // namespace ns3
