/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FRAME_TEXT_H
#define RDMA_FRAME_TEXT_H

#include "rdma-frame.h"

#include <ostream>

namespace ns3
{

/// \ingroup rdma
/// \return "WRITE_FIRST"
const char* GetOpcodeName(RdmaOpcode opcode);

/// \ingroup rdma
/// A frame for people, as sinks of trace sources see it: "WRITE_FIRST 0->1 qp 2 psn 7 payload 4096
/// wire 4194 priority 3 ECT". Endpoints, the queue pair it is for, sizes in bytes.
std::ostream& operator<<(std::ostream& out, const RdmaFrame& frame);

} // namespace ns3

#endif /* RDMA_FRAME_TEXT_H */
