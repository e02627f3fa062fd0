/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef THETA_POWERTCP_CONGESTION_OPS_H
#define THETA_POWERTCP_CONGESTION_OPS_H

#include "contrib/rdma/core/powertcp-ns3-rates.h"
#include "contrib/rdma/core/powertcp-window.h"
#include "rdma-congestion-ops.h"

#include <memory>

namespace ns3
{

/**
 * \ingroup rdma
 * theta-PowerTCP (Addanki et al., NSDI 2022, algorithm 2), which needs nothing of switches: the law
 * is rdma::ThetaPowertcpWindow, or rdma::ThetaPowertcpNs3Rate. Round-trip times are those of
 * packets by the NIC's clock.
 */
class ThetaPowertcpCongestionOps : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    enum Preset
    {
        NSDI22,
        NSDI22_NS3
    };

    ThetaPowertcpCongestionOps();
    ThetaPowertcpCongestionOps(const ThetaPowertcpCongestionOps& other);
    ~ThetaPowertcpCongestionOps() override;

    std::string GetName() const override;
    uint16_t GetNeeds() const override;
    Ptr<RdmaCongestionOps> Fork() const override;
    std::string Check(const RdmaCongestionState& state) const override;
    void Init(RdmaCongestionState& state) override;
    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, int64_t now) override;

  private:
    void Publish(RdmaCongestionState& state) const;
    rdma::PowertcpParameters GetParameters(const RdmaCongestionState& state) const;
    rdma::PowertcpNs3Parameters GetNs3Parameters(const RdmaCongestionState& state) const;

    Preset m_preset;
    double m_gamma;
    uint32_t m_flows;
    uint64_t m_additiveIncrease;
    uint64_t m_minimumRate;

    std::unique_ptr<rdma::ThetaPowertcpWindow> m_window; //!< nsdi22
    std::unique_ptr<rdma::ThetaPowertcpNs3Rate> m_rate;  //!< nsdi22-ns3
};

} // namespace ns3

#endif /* THETA_POWERTCP_CONGESTION_OPS_H */
