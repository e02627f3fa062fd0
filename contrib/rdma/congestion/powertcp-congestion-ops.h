/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef POWERTCP_CONGESTION_OPS_H
#define POWERTCP_CONGESTION_OPS_H

#include "contrib/rdma/core/powertcp-ns3-rates.h"
#include "contrib/rdma/core/powertcp-window.h"
#include "rdma-congestion-ops.h"

#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

/**
 * \ingroup rdma
 * What PowerTCP with telemetry and without have in common (Addanki et al., NSDI 2022): each is the
 * paper's law, `Window`, or that of the authors' ns-3 code, `Rate`.
 */
template <class Window, class Rate>
class RdmaPowertcpOpsBase : public RdmaCongestionOps
{
  public:
    std::string Check(const RdmaCongestionState& state) const override
    {
        return Explain(IsNs3() ? Rate::Error(GetNs3Parameters(state))
                               : Window::Error(GetParameters(state)));
    }

    void Init(RdmaCongestionState& state) override
    {
        AbortIfRefused(state);
        if (IsNs3())
        {
            m_rate = std::make_unique<Rate>(GetNs3Parameters(state), state.line);
        }
        else
        {
            m_window = std::make_unique<Window>(GetParameters(state), state.line);
        }
        Publish(state);
    }

  protected:
    /// The attributes of both. \param gamma of the ns-3 code
    static TypeId AddAttributes(TypeId tid,
                                const rdma::CongestionControl& control,
                                const char* gamma)
    {
        using Ops = RdmaPowertcpOpsBase;
        return tid
            .AddAttribute("Preset",
                          "What the paper leaves open as in the authors' kernel module, or the law "
                          "of their ns-3 code",
                          EnumValue(rdma::kPowertcpNsdi22),
                          MakeEnumMemberAccessor(&Ops::m_preset),
                          MakePresetChecker<rdma::PowertcpPreset>(control))
            .AddAttribute("Gamma",
                          "gamma, weight of the new window (0 to 1); 0: from the preset, 0.9, "
                          "nsdi22-ns3 " +
                              std::string(gamma),
                          DoubleValue(0),
                          MakeDoubleAccessor(&Ops::m_gamma),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("Flows",
                          "nsdi22: N, flows of a host that beta = line rate x base round-trip time "
                          "/ N is for",
                          UintegerValue(10),
                          MakeUintegerAccessor(&Ops::m_flows),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("AdditiveIncrease",
                          "nsdi22-ns3: added to the rate (bit/s)",
                          UintegerValue(150000000),
                          MakeUintegerAccessor(&Ops::m_additiveIncrease),
                          MakeUintegerChecker<uint64_t>(0, MAX_BPS))
            .AddAttribute("MinimumRate",
                          "nsdi22-ns3: the rate is never less (MIN_RATE, bit/s), but at most the "
                          "line's",
                          UintegerValue(100000000),
                          MakeUintegerAccessor(&Ops::m_minimumRate),
                          MakeUintegerChecker<uint64_t>(1, MAX_BPS));
    }

    /// An ACK, with what the laws take of it.
    template <class... Told>
    void Take(RdmaCongestionState& state, const Told&... told)
    {
        if (m_rate)
        {
            m_rate->OnAck(state.ackedPosition, state.sentPosition, told...);
        }
        else
        {
            m_window->OnAck(state.ackedPosition, state.sentPosition, told...);
        }
        Publish(state);
    }

    double m_target{0.95}; //!< of the ns-3 code; without telemetry it has none

  private:
    /// \return gamma of the ns-3 code
    virtual double GetNs3Gamma() const = 0;

    bool IsNs3() const
    {
        return m_preset == rdma::kPowertcpNsdi22Ns3;
    }

    rdma::PowertcpParameters GetParameters(const RdmaCongestionState& state) const
    {
        rdma::PowertcpParameters p;
        p.baseRtt = rdma::Duration(state.baseRtt);
        p.gamma = m_gamma > 0 ? m_gamma : p.gamma;
        p.flows = m_flows;
        return p;
    }

    rdma::PowertcpNs3Parameters GetNs3Parameters(const RdmaCongestionState& state) const
    {
        rdma::PowertcpNs3Parameters p;
        p.baseRtt = rdma::Duration(state.baseRtt);
        p.gamma = m_gamma > 0 ? m_gamma : GetNs3Gamma();
        p.target = m_target;
        p.additiveIncrease = rdma::BitRate(m_additiveIncrease);
        p.minimumRate = rdma::BitRate(m_minimumRate);
        return p;
    }

    void Publish(RdmaCongestionState& state) const
    {
        const double rate = m_rate ? m_rate->Rate() : m_window->Rate();
        const double window = m_rate ? m_rate->Window() : m_window->Window();
        state.rateBps = std::clamp<uint64_t>(static_cast<uint64_t>(rate + 0.5), 1, state.line.bps);
        state.windowBytes = std::max<uint64_t>(1, static_cast<uint64_t>(window));
    }

    rdma::PowertcpPreset m_preset;
    double m_gamma;
    uint32_t m_flows;
    uint64_t m_additiveIncrease;
    uint64_t m_minimumRate;

    RdmaOwnLaw<Window> m_window; //!< nsdi22
    RdmaOwnLaw<Rate> m_rate;     //!< nsdi22-ns3
};

/**
 * \ingroup rdma
 * PowerTCP (algorithm 1). Switches write telemetry into data packets, and ACKs, one for each
 * packet, carry it back, in a header of the size of HPCC's (42 B each).
 */
class RdmaPowertcpCongestionOps
    : public RdmaNamedOps<RdmaPowertcpCongestionOps,
                          rdma::kPowertcp,
                          RdmaCongestionOps::ACK_PER_PACKET | RdmaCongestionOps::TELEMETRY |
                              RdmaCongestionOps::BASE_RTT,
                          RdmaPowertcpOpsBase<rdma::PowertcpWindow, rdma::PowertcpNs3Rate>>
{
  public:
    static TypeId GetTypeId();

    RdmaHeaderBytes GetHeaderBytes() const override;
    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint now) override;

  private:
    double GetNs3Gamma() const override;
};

} // namespace ns3

#endif /* POWERTCP_CONGESTION_OPS_H */
