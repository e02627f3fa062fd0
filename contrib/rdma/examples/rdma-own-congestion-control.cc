/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A congestion control of one's own, in one file, beside those that the module has.
 *
 *   ./ns3 run "rdma-own-congestion-control --senders=8 --bytes=4000000 --cc=none,dcqcn,aimd"
 *   ./ns3 run "rdma-own-congestion-control --cc=aimd --ns3::AimdCongestionOps::Increase=500000000"
 *
 * Hosts send to one, all at once, with each of the algorithms in turn. Without congestion control
 * PFC alone keeps the switch from losing frames: the link is full, but so is the buffer, and pauses
 * hit everybody behind it. AIMD gives up a little time and needs hardly a pause. The module's
 * documentation walks through this file ("A congestion control of one's own").
 */
#include "one-switch.h"

#include "ns3/core-module.h"
#include "ns3/rdma-fabric-helper.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace ns3
{

/// Additive increase, multiplicative decrease of the rate, by CNPs: cut it when one comes, and
/// raise it by a constant for each period without one.
class AimdCongestionOps : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::AimdCongestionOps")
                                .SetParent<RdmaCongestionOps>()
                                .AddConstructor<AimdCongestionOps>()
                                .AddAttribute("Decrease",
                                              "Rate after a CNP, of the rate before it",
                                              DoubleValue(0.5),
                                              MakeDoubleAccessor(&AimdCongestionOps::m_decrease),
                                              MakeDoubleChecker<double>(0, 1))
                                .AddAttribute("Increase",
                                              "Rate gained in each period (bit/s)",
                                              UintegerValue(1000000000),
                                              MakeUintegerAccessor(&AimdCongestionOps::m_increase),
                                              MakeUintegerChecker<uint64_t>(1))
                                .AddAttribute("Period",
                                              "Between increases, and between CNPs",
                                              TimeValue(MicroSeconds(20)),
                                              MakeTimeAccessor(&AimdCongestionOps::m_period),
                                              MakeTimeChecker(NanoSeconds(1)));
        return tid;
    }

    std::string GetName() const override
    {
        return "aimd"; // how users select it
    }

    Ptr<RdmaCongestionOps> Fork() const override // one object per queue pair
    {
        // Not CopyObject, which counts a reference to this one: NICs of several threads share it.
        return Ptr<AimdCongestionOps>(new AimdCongestionOps(*this), false);
    }

    // At the receiver: is a CNP due? Asked for packets that a switch has marked.
    // -------------------
    bool OnDataReceived(const RdmaFrame&, rdma::TimePoint now) override
    {
        if (now.ps < m_nextCnp)
        {
            return false;
        }
        m_nextCnp = now.ps + m_period.GetPicoSeconds();
        return true;
    }

    // At the sender ------------------------------------------------------------------------------
    void OnCnp(RdmaCongestionState& state, rdma::TimePoint now) override
    {
        const double rate = m_decrease * static_cast<double>(state.rateBps);
        state.rateBps = std::max<uint64_t>(100000000, static_cast<uint64_t>(rate));
        state.nextUpdate = now.ps + m_period.GetPicoSeconds();
    }

    void OnUpdate(RdmaCongestionState& state, rdma::TimePoint now) override // nextUpdate has come
    {
        // Only asked when there is something to send: several periods may have gone by.
        for (; state.nextUpdate <= now.ps; state.nextUpdate += m_period.GetPicoSeconds())
        {
            state.rateBps = std::min(state.line.bps, state.rateBps + m_increase);
        }
        if (state.rateBps == state.line.bps)
        {
            state.nextUpdate = RdmaCongestionState::NEVER; // nothing to do until the next CNP
        }
    }

  private:
    double m_decrease;
    uint64_t m_increase;
    Time m_period;
    int64_t m_nextCnp{0};
};

NS_OBJECT_ENSURE_REGISTERED(AimdCongestionOps); // from here on its name is known

} // namespace ns3

using namespace ns3;

int
main(int argc, char* argv[])
{
    uint32_t senders = 8;
    uint64_t bytes = 4000000;
    std::string names = "none,dcqcn,aimd";
    CommandLine cmd(__FILE__);
    cmd.AddValue("senders", "hosts that send to one", senders);
    cmd.AddValue("bytes", "how much each sends (bytes)", bytes);
    cmd.AddValue("cc", "congestion controls to compare, separated by commas", names);
    cmd.Parse(argc, argv);
    Time::SetResolution(Time::PS);

    std::printf("%-8s %12s %10s %10s %8s %16s\n",
                "cc",
                "all done",
                "goodput",
                "pauses",
                "CNPs",
                "longest queue");
    std::istringstream list(names);
    for (std::string name; std::getline(list, name, ',');)
    {
        bool known = false;
        ObjectFactory ops;
        ops.SetTypeId(RdmaCongestionOps::LookupByName(name, known));
        NS_ABORT_MSG_UNLESS(known, "no congestion control is called " << name);
        // Host h0, the senders, and a switch.
        const OneSwitch network(senders + 1);
        RdmaFabricHelper helper;
        helper.SetCongestionOps(ops.Create<RdmaCongestionOps>());
        std::string error;
        const auto fabric = helper.Build(network.nodes, network.links, error);
        NS_ABORT_MSG_UNLESS(fabric, error);
        int64_t done = 0;
        fabric->GetNic(0)->TraceConnectWithoutContext(
            "Message",
            Callback<void, RdmaQueuePair*, const RdmaMessage&, int64_t>(
                [&done](RdmaQueuePair*, const RdmaMessage&, int64_t now) { done = now; }));
        for (uint32_t i = 1; i <= senders; ++i)
        {
            RdmaQueuePair* qp = fabric->GetNic(i)->CreateQueuePair(3);
            RdmaNic::Connect(qp, fabric->GetNic(0)->CreateQueuePair(3));
            qp->PostWrite(bytes, i);
        }
        Simulator::Run();
        const RdmaPortCounters ports = fabric->GetPortTotals();
        std::printf("%-8s %9.1f us %5.1f Gb/s %10llu %8llu %13.1f kB\n",
                    name.c_str(),
                    static_cast<double>(done) / 1e6,
                    static_cast<double>(senders * bytes) * 8e3 / static_cast<double>(done),
                    static_cast<unsigned long long>(ports.pausesSent),
                    static_cast<unsigned long long>(fabric->GetNicTotals().cnpsSent),
                    static_cast<double>(ports.maxQueueBytes) / 1e3);
        Simulator::Destroy();
    }
}
