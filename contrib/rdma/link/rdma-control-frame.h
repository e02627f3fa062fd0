/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CONTROL_FRAME_H
#define RDMA_CONTROL_FRAME_H

#include "rdma-frame.h"

#include <cstdint>

namespace ns3
{

/// A frame between the two ends of a link: a pause, an update of credits, an ACK. \param wireBytes
/// with preamble and gap
inline RdmaFrame*
MakeControlFrame(RdmaOpcode opcode, uint8_t priority, uint32_t wireBytes)
{
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    frame->wireBytes = wireBytes;
    frame->src = frame->dst = 0;
    frame->route = RdmaRoute::None();
    frame->destQp = frame->psn = frame->aux = frame->dmaLength = 0;
    frame->SetLabel(RdmaFrame::NO_LABEL);
    frame->payload = 0;
    frame->inPort = 0;
    frame->opcode = opcode;
    frame->priority = priority;
    frame->flags = 0;
    return frame;
}

} // namespace ns3

#endif /* RDMA_CONTROL_FRAME_H */
