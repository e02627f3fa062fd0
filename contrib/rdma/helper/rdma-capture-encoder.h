/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CAPTURE_ENCODER_H
#define RDMA_CAPTURE_ENCODER_H

#include "contrib/rdma/core/frame-sizes.h"
#include "contrib/rdma/core/roce-wire.h"

#include "ns3/rdma-port.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * Frames as the bytes that a capture has of them, one at a time: one class a link type.
 */
class RdmaCaptureEncoder
{
  public:
    virtual ~RdmaCaptureEncoder() = default;

    /// \return a LINK_TYPE of RdmaCaptureFile
    virtual uint32_t GetLinkType() const = 0;

    /// \return bytes of a record before the frame itself, which no limit of its length cuts off
    virtual uint32_t GetHeaderBytes() const
    {
        return 0;
    }

    /// \return why frames of these sizes cannot be captured, or nothing
    virtual std::string Check(const rdma::FrameSizes& sizes) const = 0;

    /// A frame as a capture sees it.
    struct Seen
    {
        const RdmaPort* from; //!< the port that sends it
        const RdmaFrame& frame;
        int64_t now; //!< ps
    };

    /// \param kept bytes of the record that are needed \return length of the record, of which the
    /// first `kept` bytes at least are in GetBytes(); 0: it is no frame
    virtual size_t Encode(const Seen& seen, uint32_t kept) = 0;

    const uint8_t* GetBytes() const
    {
        return m_buffer.data();
    }

  protected:
    /// \return what Check says
    static std::string NoReader(const char* whose, const char* more);

    /// All but the payload.
    static void SetTransport(rdma::TransportFields& f, const RdmaFrame& frame);
    /// As much payload and padding from `at` on as is kept of a frame.
    void PutPayload(size_t at, uint32_t payload, uint32_t kept);
    static void Put16(uint8_t* at, size_t value);

    /// The largest MTU of a port, and headers.
    std::vector<uint8_t> m_buffer = std::vector<uint8_t>(66000);
};

} // namespace ns3

#endif /* RDMA_CAPTURE_ENCODER_H */
