/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FRAME_RECORD_H
#define RDMA_FRAME_RECORD_H

#include "rdma-frame.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * A frame as it crosses to another process: every field that matters on the other side, some 28 B
 * of them (most numbers are small, so they take as many bytes as they need: seven bits each, the
 * lowest first).
 *
 *     arrival - base, link, src, dst   variable    arrival of the last bit, ps; link of the gateway
 *     flow hash                        4 B
 *     destination queue pair, PSN      3 B each
 *     aux, DMA length, wire bytes, payload         variable
 *     opcode, priority, flags, class-enable        1 B each
 *
 * What a frame carries in RdmaFrame::extra cannot cross, and where it is in a switch
 * (RdmaFrame::inPort) has no meaning there. A field that RdmaFrame gains must be added here: the
 * test fills all 64 bytes.
 */
class RdmaFrameRecord
{
  public:
    static constexpr uint32_t MAX_BYTES = 64;

    /// \param to room for MAX_BYTES \param link of the gateway \param at ps, not before `base`
    /// \return behind it
    static uint8_t* Write(uint8_t* to,
                          const RdmaFrame& frame,
                          uint32_t link,
                          int64_t at,
                          int64_t base);

    /// The inverse; aborts if the record goes beyond `end`. \return behind it
    static const uint8_t* Read(const uint8_t* from,
                               const uint8_t* end,
                               RdmaFrame& frame,
                               uint32_t& link,
                               int64_t& at,
                               int64_t base);
};

} // namespace ns3

#endif /* RDMA_FRAME_RECORD_H */
