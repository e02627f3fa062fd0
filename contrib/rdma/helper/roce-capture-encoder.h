/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ROCE_CAPTURE_ENCODER_H
#define ROCE_CAPTURE_ENCODER_H

#include "rdma-capture-encoder.h"

namespace ns3
{

class RdmaFabric;

/**
 * \ingroup rdma
 * RoCEv2, PFC frames and ordinary packets on Ethernet.
 */
class RdmaRoceCaptureEncoder : public RdmaCaptureEncoder
{
  public:
    /// \param fabric outlives this
    explicit RdmaRoceCaptureEncoder(const RdmaFabric& fabric);

    uint32_t GetLinkType() const override;
    std::string Check(const rdma::FrameSizes& sizes) const override;
    size_t Encode(const Seen& seen, uint32_t kept) override;

  private:
    size_t EncodeRoce(const RdmaFrame& frame, uint32_t kept);
    size_t EncodePause(const RdmaPort* from, const RdmaFrame& frame);
    size_t EncodePacket(const RdmaFrame& frame,
                        const rdma::MacAddress& source,
                        const rdma::MacAddress& to);
    uint16_t SourcePort(const RdmaFrame& frame) const;
    /// \return sizes of a class with such frames; none: those of class 0
    const rdma::FrameSizes& SizesOf(const RdmaFrame& frame) const;
    /// What the congestion control adds to a frame, into m_control: core/telemetry-wire.h; PINT:
    /// its byte; else of an ACK switches passed (1 B), nothing (3 B) and the time in the host (4 B,
    /// ns), of a packet when it left (8 B, ns), all assumed. Zeros of a law that adds other bytes.
    /// \return bytes
    uint32_t PutControl(const RdmaFrame& frame);

    const RdmaFabric& m_fabric;
    std::vector<uint8_t> m_control;
};

} // namespace ns3

#endif /* ROCE_CAPTURE_ENCODER_H */
