/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IB_CAPTURE_ENCODER_H
#define IB_CAPTURE_ENCODER_H

#include "rdma-capture-encoder.h"

namespace ns3
{

/**
 * \ingroup rdma
 * InfiniBand packets and flow-control packets in records of the extensible record format.
 */
class IbCaptureEncoder : public RdmaCaptureEncoder
{
  public:
    uint32_t GetLinkType() const override;
    uint32_t GetHeaderBytes() const override;
    std::string Check(const rdma::FrameSizes& sizes) const override;
    size_t Encode(const Seen& seen, uint32_t kept) override;

  private:
    size_t EncodeIb(const RdmaFrame& frame, uint32_t kept);
    size_t EncodeRaw(const RdmaFrame& frame);
};

} // namespace ns3

#endif /* IB_CAPTURE_ENCODER_H */
