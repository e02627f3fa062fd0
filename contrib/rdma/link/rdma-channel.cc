/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-channel.h"

#include "rdma-fixed-attribute.h"
#include "rdma-port.h"

#include "ns3/double.h"
#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaChannel");

NS_OBJECT_ENSURE_REGISTERED(RdmaChannel);

TypeId
RdmaChannel::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaChannel")
            .SetParent<Channel>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaChannel>()
            .AddAttribute("Delay",
                          "Propagation delay, one way",
                          TimeValue(MicroSeconds(1)),
                          RdmaFixed<RdmaChannel>(MakeTimeAccessor(&RdmaChannel::m_delay)),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("BitErrorRate",
                          "Probability that a bit is flipped, independent, each direction (0 to 1)",
                          DoubleValue(0),
                          RdmaFixed<RdmaChannel>(MakeDoubleAccessor(&RdmaChannel::m_bitErrorRate)),
                          MakeDoubleChecker<double>(0, 1));
    return tid;
}

void
RdmaChannel::SetDelayPs(int64_t ps)
{
    NS_LOG_FUNCTION(this << ps);
    m_delayPs = ps;
    m_delay = PicoSeconds(ps); // what the simulator's look-ahead sees
}

void
RdmaChannel::Attach(Ptr<RdmaPort> a, Ptr<RdmaPort> b)
{
    NS_LOG_FUNCTION(this << a << b);
    m_ports = {a, b};
    a->AttachTo(Ptr<RdmaChannel>(this), b);
    b->AttachTo(Ptr<RdmaChannel>(this), a);
}

std::size_t
RdmaChannel::GetNDevices() const
{
    return m_ports[0] ? 2 : 0;
}

Ptr<NetDevice>
RdmaChannel::GetDevice(std::size_t i) const
{
    return m_ports.at(i);
}

void
RdmaChannel::DoDispose()
{
    m_ports = {};
    Channel::DoDispose();
}

} // namespace ns3
