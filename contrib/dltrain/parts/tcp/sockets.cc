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
        if (protocol.IsTcp())
        {
            return std::make_unique<TcpTransport>(parts, *m_stack, protocol);
        }
        return std::make_unique<UdpTransport>(parts, *m_stack, protocol, repeats);
    }

  private:
    std::unique_ptr<ns3::OrdinaryStack> m_stack;
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
