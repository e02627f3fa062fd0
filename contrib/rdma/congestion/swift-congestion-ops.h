/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SWIFT_CONGESTION_OPS_H
#define SWIFT_CONGESTION_OPS_H

#include "contrib/rdma/core/swift-window.h"
#include "rdma-congestion-ops.h"

#include "ns3/nstime.h"

namespace ns3
{

/**
 * \ingroup rdma
 * Swift (Kumar et al., SIGCOMM 2020): the law is rdma::SwiftWindow. Round-trip times are those of
 * packets by the NIC's clock. What a host adds is what its NIC's limits make packets wait
 * (RdmaNicLimits: the bus, contexts); without such limits it is nothing and the window is the
 * fabric's. ACKs carry it and the number of switches back.
 *
 * A window of at least a packet is not paced; whole packets go while fewer than cwnd are in flight.
 * A lesser one is a packet in flight at most and a rate of one every rtt / cwnd (shorter packets
 * take in proportion).
 */
class RdmaSwiftCongestionOps
    : public RdmaLawOps<RdmaSwiftCongestionOps,
                        rdma::kSwift,
                        rdma::SwiftWindow,
                        RdmaCongestionOps::ACK_PER_PACKET | RdmaCongestionOps::TIME_STAMP |
                            RdmaCongestionOps::BASE_RTT>
{
  public:
    static TypeId GetTypeId();

    RdmaHeaderBytes GetHeaderBytes() const override;
    void Init(RdmaCongestionState& state) override;
    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint now) override;
    void OnNack(RdmaCongestionState& state, rdma::TimePoint now) override;
    void OnTimeout(RdmaCongestionState& state, rdma::TimePoint now) override;

    /// \return the law of a connected queue pair
    const rdma::SwiftWindow& GetWindow() const
    {
        return *m_window;
    }

    /// \return the constants, preset and overrides applied
    rdma::SwiftParameters GetParameters(const RdmaCongestionState& state) const;

  private:
    void Publish(RdmaCongestionState& state) const;

    rdma::SwiftPreset m_preset;
    double m_ai;
    double m_beta;
    double m_maxMdf;
    Time m_baseTarget;
    Time m_perHop;
    Time m_fsRange;
    double m_fsMinCwnd;
    double m_fsMaxCwnd;
    Time m_endpointTarget;
    double m_endpointWeight;
    double m_initialCwnd;
    double m_minCwnd;
    double m_maxCwnd;
    uint32_t m_retxResetThreshold;

    RdmaOwnLaw<rdma::SwiftWindow> m_window;
    double m_perByte{0}; //!< packets
};

} // namespace ns3

#endif /* SWIFT_CONGESTION_OPS_H */
