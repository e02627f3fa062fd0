/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-port-faults.h"

namespace ns3
{

void
RdmaPortFaults::Start(double rate)
{
    m_bitErrorRate = rate;
    if (rate > 0)
    {
        m_errors = CreateObject<ExponentialRandomVariable>();
        m_bitsToError = UNKNOWN;
    }
}

void
RdmaPortFaults::Allow(int64_t stream)
{
    if (!m_errors)
    {
        m_errors = CreateObject<ExponentialRandomVariable>();
        m_errors->SetStream(stream);
    }
    if (!m_drops)
    {
        m_drops = CreateObject<UniformRandomVariable>();
        m_drops->SetStream(stream + 1);
    }
}

int64_t
RdmaPortFaults::AssignStreams(int64_t stream)
{
    if (!m_errors)
    {
        return 0;
    }
    m_errors->SetStream(stream);
    return 1;
}

bool
RdmaPortFaults::IsCorrupted(uint32_t bytes)
{
    if (m_bitErrorRate <= 0) // a link that may fail
    {
        return false;
    }
    if (m_bitsToError < 0)
    {
        m_bitsToError = m_errors->GetValue(1 / m_bitErrorRate, 0);
    }
    m_bitsToError -= 8.0 * bytes;
    if (m_bitsToError > 0)
    {
        return false;
    }
    // Errors are memoryless: how many there are in this frame does not matter, the next distance
    // starts behind it.
    m_bitsToError = m_errors->GetValue(1 / m_bitErrorRate, 0);
    return true;
}

bool
RdmaPortFaults::IsDropped()
{
    return m_drops->GetValue() < m_silentDrops;
}

} // namespace ns3
