/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the tests of this module build on: small fabrics by a line of code, and a user that notes
 * what its NICs tell it.
 */
#ifndef RDMA_TEST_FABRIC_H
#define RDMA_TEST_FABRIC_H

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/dcqcn-congestion-ops.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/global-value.h"
#include "ns3/ib-link-layer.h"
#include "ns3/none-congestion-ops.h"
#include "ns3/rdma-completion-queue.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ns3
{
namespace rdmatest
{

constexpr uint64_t GBPS = 1000000000;
constexpr int64_t US = 1000000; //!< ps
constexpr int64_t NS = 1000;    //!< ps

/// Frame bytes (without preamble and gap) of a full MIDDLE packet of 4096 B: Ethernet 14, IPv4 20,
/// UDP 8, BTH 12, payload, ICRC 4, FCS 4.
constexpr uint32_t FULL_FRAME = 62 + 4096;
/// The same with preamble 8 and gap 12: what the line is occupied for.
constexpr uint32_t FULL_WIRE = FULL_FRAME + 20;
/// Wire bytes of an ACK: 62 + AETH 4 + 20.
constexpr uint32_t ACK_WIRE = 86;

/// Notes what NICs tell; hooks see it too.
class Notes : public RdmaNicUser
{
  public:
    struct Completion
    {
        RdmaQueuePair* qp;
        uint64_t id;
        RdmaStatus status;
        int64_t posted;
        int64_t at;
    };

    struct Message
    {
        RdmaQueuePair* qp;
        RdmaMessage message;
        int64_t at;
    };

    void OnCompletion(RdmaQueuePair* qp,
                      const RdmaWorkRequest& request,
                      RdmaStatus status,
                      int64_t now) override
    {
        completions.push_back({qp, request.id, status, request.posted, now});
        if (onCompletion)
        {
            onCompletion(completions.back());
        }
    }

    void OnMessage(RdmaQueuePair* qp, const RdmaMessage& message, int64_t now) override
    {
        messages.push_back({qp, message, now});
        if (onMessage)
        {
            onMessage(messages.back());
        }
    }

    std::vector<Completion> completions;
    std::vector<Message> messages;
    std::function<void(Completion)> onCompletion;
    std::function<void(Message)> onMessage;
};

inline Ptr<RdmaSwitch>
AsEthernet(Ptr<RdmaSwitchBase> device)
{
    return DynamicCast<RdmaSwitch>(device);
}

/// A fabric to be described, built and used; Simulator::Destroy comes with its end.
class Bed
{
  public:
    Bed() = default;

    /// A star: see Star.
    Bed(uint32_t hosts, uint64_t bps, int64_t delayPs = US, double ber = 0)
    {
        Star(hosts, bps, delayPs, ber);
    }

    ~Bed()
    {
        Destroy();
    }

    /// \return the node's number
    uint32_t Host(const std::string& name)
    {
        nodes.push_back({name, false});
        return static_cast<uint32_t>(nodes.size() - 1);
    }

    uint32_t Switch(const std::string& name)
    {
        nodes.push_back({name, true});
        return static_cast<uint32_t>(nodes.size() - 1);
    }

    /// Several at once: const auto [a, b] = bed.HostsNamed("a", "b");
    template <class... Names>
    std::array<uint32_t, sizeof...(Names)> HostsNamed(const Names&... names)
    {
        return {Host(names)...};
    }

    template <class... Names>
    std::array<uint32_t, sizeof...(Names)> SwitchesNamed(const Names&... names)
    {
        return {Switch(names)...};
    }

    void Link(uint32_t a, uint32_t b, uint64_t bps, int64_t delayPs = US, double ber = 0)
    {
        links.push_back({a, b, bps, delayPs, ber});
    }

    /// `hosts` hosts h0, h1, ... around one switch "s"; port i of the switch leads to host i, and
    /// so do ports 2 i (host's end) and 2 i + 1 (switch's) of the fabric.
    void Star(uint32_t hosts, uint64_t bps, int64_t delayPs = US, double ber = 0)
    {
        Star(std::vector<uint64_t>(hosts, bps), delayPs, ber);
    }

    /// The same with a rate for each host.
    void Star(const std::vector<uint64_t>& bps, int64_t delayPs = US, double ber = 0)
    {
        Hosts(bps.size());
        const uint32_t s = Switch("s");
        for (uint32_t i = 0; i < bps.size(); ++i)
        {
            Link(i, s, bps[i], delayPs, ber);
        }
    }

    /// Hosts at 100 Gb/s on a switch "left", others with a rate for each on "right", and a cable of
    /// 100 Gb/s between the two. Hosts are h0, h1, ...: those on the left first.
    void Dumbbell(uint32_t atLeft, const std::vector<uint64_t>& atRight, int64_t between = US)
    {
        Hosts(atLeft + atRight.size());
        const uint32_t left = Switch("left");
        const uint32_t right = Switch("right");
        for (uint32_t i = 0; i < atLeft; ++i)
        {
            Link(i, left, 100 * GBPS);
        }
        Link(left, right, 100 * GBPS, between);
        for (uint32_t i = 0; i < atRight.size(); ++i)
        {
            Link(atLeft + i, right, atRight[i]);
        }
    }

    /// h0 -- s0 -- s1 ... -- h1, with a rate for each link. Hosts are the nodes 0 and 1; ports 2 i
    /// and 2 i + 1 of the fabric are of link i.
    void Chain(const std::vector<uint64_t>& bps, int64_t delayPs = US)
    {
        Hosts(2);
        uint32_t last = 0;
        for (std::size_t i = 0; i < bps.size(); ++i)
        {
            const uint32_t next = i + 1 == bps.size() ? 1 : Switch("s" + std::to_string(i));
            Link(last, next, bps[i], delayPs);
            last = next;
        }
    }

    /// `n` switches s0, s1, ... in a ring, two hosts at each. Fabric ports 4 n + 2 i: s(i)->s(i +
    /// 1).
    void Ring(uint32_t n)
    {
        Hosts(2 * n);
        for (uint32_t i = 0; i < n; ++i)
        {
            Switch("s" + std::to_string(i));
        }
        for (uint32_t i = 0; i < 2 * n; ++i)
        {
            Link(i, 2 * n + i / 2, 100 * GBPS);
        }
        for (uint32_t i = 0; i < n; ++i)
        {
            Link(2 * n + i, 2 * n + (i + 1) % n, 100 * GBPS);
        }
    }

    void Build()
    {
        std::string error;
        fabric = helper.Build(nodes, links, error);
        NS_ABORT_MSG_IF(!fabric, error);
        for (uint32_t i = 0; i < fabric->GetNEndpoints(); ++i)
        {
            fabric->GetNic(i)->SetUser(&notes);
        }
    }

    /// \return the two ends of a new connection
    std::pair<RdmaQueuePair*, RdmaQueuePair*> Connect(uint32_t from,
                                                      uint32_t to,
                                                      uint8_t priority = 3)
    {
        RdmaQueuePair* a = fabric->GetNic(from)->CreateQueuePair(priority);
        RdmaQueuePair* b = fabric->GetNic(to)->CreateQueuePair(priority);
        RdmaNic::Connect(a, b);
        return {a, b};
    }

    /// \return an Ethernet switch
    Ptr<RdmaSwitch> Device(uint32_t index = 0) const
    {
        return AsEthernet(fabric->GetSwitches()[index]);
    }

    uint64_t Drops() const
    {
        uint64_t sum = 0;
        for (uint8_t reason = 0; reason < RdmaSwitchBase::DROP_REASONS; ++reason)
        {
            sum += fabric->GetDrops(static_cast<RdmaSwitchBase::DropReason>(reason));
        }
        return sum;
    }

    /// The end of the simulation; what was noted stays.
    void Destroy()
    {
        Simulator::Destroy();
        fabric.reset();
    }

    const RdmaNicCounters& Of(uint32_t host) const
    {
        return fabric->GetNic(host)->GetCounters();
    }

    std::vector<RdmaNodeSpec> nodes;
    std::vector<RdmaLinkSpec> links;
    RdmaFabricHelper helper;
    Notes notes;
    std::unique_ptr<RdmaFabric> fabric;

  private:
    /// h0, h1, ...
    void Hosts(size_t count)
    {
        for (size_t i = 0; i < count; ++i)
        {
            Host("h" + std::to_string(i));
        }
    }
};

/// A queue pair that was made on its own, up to where it sends: a datagram's, or one whose other
/// end `to` names.
inline void
MakeReady(RdmaQueuePair* qp, const RdmaQueuePairAttributes& to = {})
{
    using State = RdmaQueuePair::State;
    for (const State state : {State::INIT, State::READY_TO_RECEIVE, State::READY_TO_SEND})
    {
        const std::string error = qp->Modify(state, to);
        NS_ABORT_MSG_IF(!error.empty(), error);
    }
}

/// A SEND to a queue pair of datagrams.
inline RdmaSendRequest
Datagram(const RdmaQueuePair* to, uint64_t bytes, uint64_t id)
{
    RdmaSendRequest request(RdmaOperation::SEND, bytes, id);
    request.peerEndpoint = to->GetNic()->GetEndpoint();
    request.peerNumber = to->GetNumber();
    return request;
}

/// Two hosts on one switch, 100 Gb/s, 1 us, with a queue pair each that has completion queues.
struct VerbsBed : Bed
{
    /// \param capacity of the send queues; 0: no bound
    void CreateQueuePairs(RdmaQueuePairInit init, uint32_t capacity = 0)
    {
        for (uint32_t i = 0; i < 2; ++i)
        {
            sendQueue[i] = CreateObject<RdmaCompletionQueue>();
            sendQueue[i]->SetAttribute("Capacity", UintegerValue(capacity));
            receiveQueue[i] = CreateObject<RdmaCompletionQueue>();
            init.sendQueue = PeekPointer(sendQueue[i]);
            init.receiveQueue = PeekPointer(receiveQueue[i]);
            qp[i] = fabric->GetNic(i)->CreateQueuePair(init);
        }
    }

    Ptr<RdmaCompletionQueue> sendQueue[2];
    Ptr<RdmaCompletionQueue> receiveQueue[2];
    RdmaQueuePair* qp[2];
};

/// All completions that wait in a queue.
inline std::vector<RdmaWorkCompletion>
PollAll(Ptr<RdmaCompletionQueue> queue)
{
    std::vector<RdmaWorkCompletion> all;
    RdmaWorkCompletion one;
    while (queue->Poll(one))
    {
        all.push_back(one);
    }
    return all;
}

/// Stands in front of a NIC and loses the frames it is told to on their way in.
class Loser : public RdmaPortUser
{
  public:
    using Loses = std::function<bool(const RdmaFrame& frame, int64_t now)>;

    explicit Loser(Ptr<RdmaPort> port, Loses which = {})
        : loses(std::move(which)),
          m_inner(port->GetUser())
    {
        port->SetUser(this, port->GetPortIndex());
    }

    void OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now) override
    {
        if (loses && loses(*frame, now))
        {
            ++lost;
            RdmaFramePool::Get().Free(frame);
            return;
        }
        m_inner->OnFrame(port, frame, now);
    }

    void OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now) override
    {
        m_inner->OnDequeue(port, frame, queueBytes, now);
    }

    RdmaFrame* Pull(RdmaPort* port, uint8_t pausedMask, int64_t now) override
    {
        return m_inner->Pull(port, pausedMask, now);
    }

    Loses loses; //!< none: no frame
    uint32_t lost{0};

  private:
    RdmaPortUser* m_inner;
};

/// A trace sink made of a lambda.
template <typename... Args>
class Sink : public SimpleRefCount<Sink<Args...>>
{
  public:
    explicit Sink(std::function<void(Args...)> f)
        : m_f(std::move(f))
    {
    }

    void Call(Args... args)
    {
        m_f(args...);
    }

  private:
    std::function<void(Args...)> m_f;
};

/// Connect a lambda to a trace source: Watch<const RdmaPort*, ...>(object, "PhyTx", lambda).
template <typename... Args>
void
Watch(Ptr<Object> object,
      const std::string& source,
      std::common_type_t<std::function<void(Args...)>> f) // not deduced from
{
    Ptr<Sink<Args...>> sink(new Sink<Args...>(std::move(f)), false);
    const bool connected =
        object->TraceConnectWithoutContext(source, MakeCallback(&Sink<Args...>::Call, sink));
    NS_ABORT_MSG_IF(!connected, "no trace source " << source);
}

/// PhyTx, PhyRx or PhyRxDrop of a port.
inline void
WatchFrames(Ptr<RdmaPort> port,
            const std::string& source,
            std::function<void(const RdmaPort*, const RdmaFrame*, int64_t)> f)
{
    Watch<const RdmaPort*, const RdmaFrame*, int64_t>(port, source, std::move(f));
}

/// Two hosts on one switch, 100 Gb/s, links of 1,050 ns, and a queue pair of each; what the network
/// loses is chosen packet by packet, or random.
struct LossyPair : Bed
{
    using Told = std::vector<std::pair<uint64_t, int64_t>>; //!< (PSN, ps)

    /// \param exponent the local ACK time-out is 4.096 us x 2^exponent: 65.536 us \param set what
    /// else the helper is told
    explicit LossyPair(uint32_t exponent = 4,
                       uint32_t retries = 7,
                       uint32_t initialPsn = 0,
                       double ber = 0,
                       const std::function<void(RdmaFabricHelper&)>& set = {})
    {
        Star(2, 100 * GBPS, 1050 * NS, ber);
        helper.SetNicAttribute("TimeoutExponent", UintegerValue(exponent));
        helper.SetNicAttribute("RetryCount", UintegerValue(retries));
        helper.SetNicAttribute("InitialPsn", UintegerValue(initialPsn));
        if (set)
        {
            set(helper);
        }
        Build();
        std::tie(sender, receiver) = Connect(0, 1);
        NoteOfSender("GoBack", goBacks);
    }

    /// \param trace source of the sender's NIC: (queue pair, PSN, ps)
    void NoteOfSender(const std::string& trace, Told& list)
    {
        Watch<RdmaQueuePair*, uint64_t, int64_t>(
            fabric->GetNic(0),
            trace,
            [&list](RdmaQueuePair*, uint64_t psn, int64_t now) { list.emplace_back(psn, now); });
    }

    /// The NIC of the receiver (host 1), or the sender, does not see what `loses` picks.
    void LoseAt(uint32_t host, Loser::Loses loses)
    {
        losers.push_back(
            std::make_unique<Loser>(fabric->GetNic(host)->GetPort(), std::move(loses)));
    }

    void LoseAt(uint32_t host, const std::function<bool(const RdmaFrame&)>& loses)
    {
        LoseAt(host, [loses](const RdmaFrame& f, int64_t) { return loses(f); });
    }

    RdmaQueuePair* sender{nullptr};
    RdmaQueuePair* receiver{nullptr};
    Told goBacks;
    std::vector<std::unique_ptr<Loser>> losers;
};

/// Times on chains of switches at 100 Gb/s, ps: on the line a first full packet, any other and a
/// PFC frame; and the pipeline of a switch.
struct ChainTimes
{
    static constexpr int64_t T1 = 4194 * 80;
    static constexpr int64_t T = FULL_WIRE * 80;
    static constexpr int64_t E = 84 * 80;
    static constexpr int64_t P = 500 * NS;
};

} // namespace rdmatest
} // namespace ns3

#endif /* RDMA_TEST_FABRIC_H */
