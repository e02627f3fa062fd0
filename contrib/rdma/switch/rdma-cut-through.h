/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CUT_THROUGH_H
#define RDMA_CUT_THROUGH_H

#include "contrib/rdma/core/roce-sizes.h"

#include "ns3/rdma-event.h"
#include "ns3/rdma-port.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace ns3
{

class RdmaSwitch;

/**
 * \ingroup rdma
 * Stands between the ports and an Ethernet switch that cuts through (attribute
 * RdmaSwitch::CutThrough): a frame comes when the switch has its headers, and is passed on at once,
 * or waits here until it is whole.
 *
 *     first bit   headers (preamble, 64 B) + latency: the way is chosen
 *         |            |- egress idle, not paused, not faster: the frame starts to be sent
 *         v            '- else: the frame waits for   last bit + latency, and joins its queue
 *
 * Frames of a port stay in order: one that waits is whole before the headers of the next one are
 * there. A frame that has several ways at once, or none, waits. So does one of a faster egress,
 * which would run dry. These are the conditions that Extreme Networks documents (ExtremeXOS 22.6
 * User Guide, "Default Switching Mode"): slow to fast, several egress ports and a congested egress
 * are stored, and frames with errors are passed on, to be discarded downstream. That 64 B are
 * enough to choose the way is assumed.
 *
 * A frame with bit errors that is passed on is marked (RdmaFrame::BAD), and dropped where it is
 * stored next, or by a host.
 */
class RdmaCutThrough : public RdmaPortUser
{
  public:
    /// Takes the place of the switch at its ports. \param latency of the pipeline, ps
    RdmaCutThrough(RdmaSwitch& device, const std::vector<Ptr<RdmaPort>>& ports, int64_t latency);

    /// Nothing goes on any more.
    void Clear();

    /// \return bytes on the line until the way of a frame is known. \param lineOverhead as
    /// RdmaPort::GetLineOverhead
    static uint32_t GetHeaderBytes(uint32_t lineOverhead)
    {
        return std::min(lineOverhead, rdma::kPreambleBytes) + rdma::kMinimumFrameBytes;
    }

    // RdmaPortUser
    void OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now) override;
    void OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now) override;
    RdmaFrame* Pull(RdmaPort* port, uint8_t pausedMask, int64_t now) override;
    void OnLinkDown(RdmaPort* port, RdmaFrameList frames, int64_t now) override;
    uint8_t GetPausing(const RdmaPort* port) const override;
    RdmaPortUser* GetDevice() override;
    void Prefetch(const NodeWindowBin& arrivals, uint32_t depth) const override;
    uint32_t GetDepths() const override;

  private:
    /// What comes in by a port.
    struct Input
    {
        RdmaFrame* held{nullptr}; //!< waits until it is whole
        int64_t whole{0};         //!< when that is, ps
        uint16_t way{0};          //!< its egress port, or RdmaSwitchBase::NO_PORT
        int64_t headers{0};       //!< time of GetHeaderBytes on the line, ps
    };

    /// The frame that waits at a port goes on.
    void Store(uint16_t in, int64_t now);
    void OnWhole();

    RdmaSwitch& m_device;
    std::vector<Input> m_inputs;
    std::vector<std::pair<int64_t, uint16_t>> m_due; //!< min-heap: (Input::whole, port)
    uint32_t m_context{0};
    RdmaTimer<RdmaCutThrough, &RdmaCutThrough::OnWhole> m_timer;
};

} // namespace ns3

#endif /* RDMA_CUT_THROUGH_H */
