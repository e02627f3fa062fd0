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
 *     arrival - base                   variable    arrival of the last bit, ps
 *     8 link + 4 has rank + 2 has tag + has telemetry  variable  link of the gateway
 *     src, dst                         variable
 *     route                            4 B
 *     destination queue pair, PSN      3 B each
 *     aux, DMA length, wire bytes, payload         variable
 *     opcode, priority, flags, class-enable        1 B each
 *
 * of a frame with a tag (RdmaFrameTag) port, told 2 B each, both congestions, kind and phase 1 B
 * each, epoch, sent and tail variable, of one with a rank (RdmaQueueDisc::RankOf) 4 B, and of a
 * frame with telemetry (RdmaTelemetry), some 7 B and
 * 18 for each hop:
 *
 *     hops, collects << 7; switches    1 B each
 *     arrival - sent, held             variable
 *     arrival - time, txBytes, queueBytes, rateBps  variable, for each hop
 *
 * An ns3::Packet and a journey in RdmaFrame::extra do not cross. RdmaFrame::inPort, its place in a
 * switch, has no meaning in the other process (its number on a link does, which RdmaGateway puts
 * behind the record). A field that
 * RdmaFrame or RdmaTelemetry gains must be added here: the test fills all of their bytes.
 */
class RdmaFrameRecord
{
  public:
    /// Most bytes of a number of 64 bits.
    static constexpr uint32_t MAX_NUMBER_BYTES = 10;
    /// Most bytes of a frame without telemetry.
    static constexpr uint32_t MAX_PLAIN_BYTES = 64;
    static constexpr uint32_t MAX_TAG_BYTES = 8 + 3 * MAX_NUMBER_BYTES;
    static constexpr uint32_t MAX_BYTES = MAX_PLAIN_BYTES + MAX_TAG_BYTES + 4 + 2 + 2 +
                                          2 * MAX_NUMBER_BYTES +
                                          RdmaTelemetry::MAX_HOPS * 4 * MAX_NUMBER_BYTES;

    /// \return the room that a frame may need
    static uint32_t GetMaxBytes(const RdmaFrame& frame)
    {
        return frame.extra ? MAX_BYTES : MAX_PLAIN_BYTES;
    }

    /// \param to room for GetMaxBytes \param link of the gateway \param at ps, not before `base`
    /// \return behind it
    static uint8_t* Write(uint8_t* to,
                          const RdmaFrame& frame,
                          uint32_t link,
                          int64_t at,
                          int64_t base);

    /// The inverse; aborts if the record goes beyond `end`. \param frame without an attachment; it
    /// gets one if it has telemetry \return behind it
    static const uint8_t* Read(const uint8_t* from,
                               const uint8_t* end,
                               RdmaFrame& frame,
                               uint32_t& link,
                               int64_t& at,
                               int64_t base);
};

} // namespace ns3

#endif /* RDMA_FRAME_RECORD_H */
