/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part "tcp".
 */
#include "contrib/dltrain/ranks/socket-part.h"
#include "tcp-transport.h"
#include "udp-transport.h"

#include "ns3/ordinary-stack.h"
#include "ns3/rdma-packet-helper.h"

#include <utility>
#include <vector>

namespace dltrain
{

namespace
{

class Ns3Sockets : public SocketStack
{
  public:
    explicit Ns3Sockets(std::unique_ptr<ns3::OrdinaryStack> stack)
        : m_stack(std::move(stack))
    {
    }

    uint64_t GetRefused() const override
    {
        return m_stack->GetRefused();
    }

    std::unique_ptr<Transport> MakeTransport(const scenario::ProtocolSpec& protocol,
                                             const NetworkParts& parts,
                                             bool repeats) override
    {
        const auto keep = [this](auto transport) -> std::unique_ptr<Transport> {
            m_transports.push_back(transport.get());
            return transport;
        };
        return protocol.IsTcp()
                   ? keep(std::make_unique<TcpTransport>(parts, *m_stack, protocol))
                   : keep(std::make_unique<UdpTransport>(parts, *m_stack, protocol, repeats));
    }

    reports::SegmentCounts GetSent() const override
    {
        reports::SegmentCounts sum;
        for (const LossCounts* transport : m_transports)
        {
            sum += transport->GetSent();
        }
        return sum;
    }

  private:
    std::unique_ptr<ns3::OrdinaryStack> m_stack;
    std::vector<const LossCounts*> m_transports;
};

class Ns3SocketPart : public SocketPart
{
  public:
    std::unique_ptr<SocketStack> Install(ns3::RdmaFabric& fabric,
                                         int64_t stream,
                                         std::string& error) override
    {
        auto stack = ns3::OrdinaryStack::Install(fabric, ns3::RdmaPacketHelper(), stream, error);
        return stack ? std::make_unique<Ns3Sockets>(std::move(stack)) : nullptr;
    }
};

const Part<SocketPart>::Registered<Ns3SocketPart> g_part;

} // namespace

} // namespace dltrain
