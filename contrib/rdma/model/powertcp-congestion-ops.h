/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef POWERTCP_CONGESTION_OPS_H
#define POWERTCP_CONGESTION_OPS_H

#include "contrib/rdma/core/powertcp-ns3-rates.h"
#include "contrib/rdma/core/powertcp-window.h"
#include "rdma-congestion-ops.h"

#include <memory>

namespace ns3
{

/**
 * \ingroup rdma
 * PowerTCP (Addanki et al., NSDI 2022, algorithm 1): the law is rdma::PowertcpWindow,
 * or rdma::PowertcpNs3Rate. Switches
 * write telemetry into data packets, and ACKs, one for each packet, carry it back, in a header of
 * the size of HPCC's (42 B each).
 */
class PowertcpCongestionOps : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    enum Preset
    {
        NSDI22,
        NSDI22_NS3
    };

    PowertcpCongestionOps();
    PowertcpCongestionOps(const PowertcpCongestionOps& other);
    ~PowertcpCongestionOps() override;

    std::string GetName() const override;
    uint16_t GetNeeds() const override;
    RdmaHeaderBytes GetHeaderBytes() const override;
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
    double m_target;
    uint64_t m_additiveIncrease;
    uint64_t m_minimumRate;

    std::unique_ptr<rdma::PowertcpWindow> m_window; //!< nsdi22
    std::unique_ptr<rdma::PowertcpNs3Rate> m_rate;  //!< nsdi22-ns3
};

} // namespace ns3

#endif /* POWERTCP_CONGESTION_OPS_H */
